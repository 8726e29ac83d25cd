package httpapi

import (
	"bytes"
	"context"
	"strconv"

	"app.sunloop/backend/openapi"
)

// openAPI answers the document of the service, which names the listener's
// prefix as the place of all paths.
func (s *server) openAPI(*input) (*call, error) {
	return &call{run: func(ctx context.Context, _ granted) (any, error) {
		document := openapi.JSON()
		if v := viewOf(ctx); v.prefix != "" {
			document = bytes.Replace(document, []byte(`"url":"/"`), []byte(`"url":`+strconv.Quote(v.prefix)), 1)
		}
		return streamed(func(b *body) error {
			b.buf = append(b.buf, document...)
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
