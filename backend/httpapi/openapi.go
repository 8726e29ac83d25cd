package httpapi

import (
	"context"

	"app.sunloop/backend/openapi"
)

// openAPI answers the document of the service.
func (s *server) openAPI(*input) (*call, error) {
	return &call{run: func(context.Context, granted) (any, error) {
		return streamed(func(b *body) error {
			b.buf = append(b.buf, openapi.JSON()...)
			return nil
		}), nil
	}}, nil
}

// docs answers the document as a page. Its policy lets in nothing but the
// page's own style.
func (s *server) docs(*input) (*call, error) {
	return &call{run: func(context.Context, granted) (any, error) {
		page := openapi.Page()
		return streamed(func(b *body) error {
			h := b.w.Header()
			h.Set("Content-Type", "text/html; charset=utf-8")
			h.Set("Content-Security-Policy", page.Policy)
			h.Set("Referrer-Policy", "no-referrer")
			b.buf = append(b.buf, page.HTML...)
			return nil
		}), nil
	}}, nil
}
