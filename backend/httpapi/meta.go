package httpapi

import (
	"bytes"
	"context"
	"errors"
	"strconv"

	"app.sunloop/backend/api"
	"app.sunloop/backend/openapi"
	"app.sunloop/backend/store"
)

func (s *server) metaHandlers() {
	handle(s, api.GetHealth, func(context.Context, *caller, *api.None) (api.Done, error) { return api.Done{Success: true}, nil })
	handle(s, api.GetReady, s.ready)
	handleStream(s, api.GetOpenAPI, func(ctx context.Context, _ *caller, _ *api.None) (any, error) { return raw(documentFor(ctx)), nil })
	handleStream(s, api.GetDocs, func(context.Context, *caller, *api.None) (any, error) { return docsPage, nil })
}

func (s *server) ready(ctx context.Context, _ *caller, q *api.ReadyQuery) (api.Readiness, error) {
	if s.Ready == nil {
		return api.Readiness{Success: true, Capabilities: map[string]api.Capability{}}, nil
	}
	r, err := s.Ready(ctx, q.Capability)
	var named *api.Error
	switch {
	case err == nil:
		return r, nil
	case errors.As(err, &named):
		return r, named
	}
	s.Log.Warn("not ready", "error", err.Error())
	if errors.Is(err, store.ErrDiskFailed) || store.IsNoSpace(err) {
		return r, diskRefusal(err)
	}
	return r, api.ErrUnavailable
}

// documentFor returns the OpenAPI document, which names the listener's prefix as
// the server of all paths.
func documentFor(ctx context.Context) []byte {
	document := openapi.JSON()
	if v := viewOf(ctx); v.prefix != "" {
		document = bytes.Replace(document, []byte(`"url":"/"`), []byte(`"url":`+strconv.Quote(v.prefix)), 1)
	}
	return document
}

// docsPage returns the document as a page. Its policy allows only the page's own
// style.
var docsPage = streamed(func(b *body) error {
	page := openapi.Page()
	h := b.w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", page.Policy)
	h.Set("Referrer-Policy", "no-referrer")
	b.buf = append(b.buf, page.HTML...)
	return nil
})

// Tables returns the tables that this package keeps in records, for a check of the
// data.
func Tables() []store.Checked {
	return []store.Checked{rememberedAnswers}
}
