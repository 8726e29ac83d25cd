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

func (s *server) ready(in *input) (*call, error) {
	capability := in.URL.Query().Get("capability")
	return &call{run: func(ctx context.Context, _ granted) (any, error) {
		r := api.Readiness{Success: true, Capabilities: map[string]api.Capability{}}
		if s.Ready != nil {
			var err error
			if r, err = s.Ready(ctx, capability); err != nil {
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
		return r, nil
	}}, nil
}
