package httpapi

import "context"

// keySet publishes the keys that check users' tokens.
func (s *server) keySet(*input) (*call, error) {
	return &call{run: func(ctx context.Context, _ granted) (any, error) { return s.Auth.KeySet(ctx) }}, nil
}
