package httpapi

import (
	"context"

	"app.sunloop/backend/api"
)

func (s *server) health(*input) (*call, error) {
	return &call{run: func(context.Context, granted) (any, error) { return api.Done{Success: true}, nil }}, nil
}

func (s *server) ready(*input) (*call, error) {
	return &call{run: func(ctx context.Context, _ granted) (any, error) {
		if s.Ready != nil {
			if err := s.Ready(ctx); err != nil {
				s.Log.Warn("not ready", "error", err.Error())
				return nil, api.ErrUnavailable
			}
		}
		return api.Done{Success: true}, nil
	}}, nil
}
