package httpapi

import (
	"context"
	"errors"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

func (s *server) health(*input) (*call, error) {
	return &call{run: func(context.Context, granted) (any, error) { return api.Done{Success: true}, nil }}, nil
}

func (s *server) ready(*input) (*call, error) {
	return &call{run: func(ctx context.Context, _ granted) (any, error) {
		if s.Ready != nil {
			if err := s.Ready(ctx); err != nil {
				var named *api.Error
				if errors.As(err, &named) {
					return nil, named
				}
				s.Log.Warn("not ready", "error", err.Error())
				if errors.Is(err, store.ErrDiskFailed) || store.NoRoom(err) {
					return nil, diskRefusal(err)
				}
				return nil, api.ErrUnavailable
			}
		}
		return api.Done{Success: true}, nil
	}}, nil
}
