package httpapi

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"app.sunloop/backend/api"
)

// view is what a listener shows of the service.
type view struct {
	prefix string     // before every path
	hosts  []api.Host // none: all
}

type viewKey struct{}

// viewOf is that of a request; without one, everything is shown.
func viewOf(ctx context.Context) view {
	v, _ := ctx.Value(viewKey{}).(view)
	return v
}

// View serves h, a handler that [New] made, under a prefix such as /sunloop
// (empty: none) and the paths of some hosts alone (none: all). What is outside
// is an unknown path. The health paths belong to every host.
func View(h http.Handler, prefix string, hosts ...api.Host) http.Handler {
	v := view{strings.TrimSuffix(prefix, "/"), hosts}
	if v.prefix == "" && len(v.hosts) == 0 {
		return h
	}
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		h.ServeHTTP(w, q.WithContext(context.WithValue(q.Context(), viewKey{}, v)))
	})
}

// within is the request without the listener's prefix; ok is false for a path
// that does not have it.
func within(q *http.Request) (inner *http.Request, ok bool) {
	v := viewOf(q.Context())
	if v.prefix == "" {
		return q, true
	}
	path, ok := strings.CutPrefix(q.URL.Path, v.prefix)
	if !ok || path == "" || path[0] != '/' {
		return q, false
	}
	inner = new(http.Request)
	*inner = *q
	inner.URL = new(url.URL)
	*inner.URL = *q.URL
	inner.URL.Path = path
	inner.URL.RawPath = strings.TrimPrefix(q.URL.RawPath, v.prefix)
	return inner, true
}

// isVisible reports whether the listener that took the request shows a path's routes,
// which are all of one host.
func isVisible(q *http.Request, methods map[string]*endpoint) bool {
	v := viewOf(q.Context())
	if len(v.hosts) == 0 {
		return true
	}
	for _, r := range methods {
		return slices.Contains(v.hosts, r.Host) || r.Path == api.PathHealth || r.Path == api.PathReady
	}
	return false
}
