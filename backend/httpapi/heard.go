package httpapi

import (
	"io"
	"net/http"
)

// heard reads what next leaves unread of a body, up to maxFormBytes in all.
// Closed while the client still sends, its connection would be reset and the
// answer lost on the way. A body that says it is longer is not waited for, nor
// one that its client holds back until it is asked to go on. HTTP/2 ends a
// request without that.
func heard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.Body == nil || q.Body == http.NoBody || q.ContentLength > maxFormBytes || q.ProtoMajor > 1 {
			next.ServeHTTP(w, q)
			return
		}
		b := &countedBody{q.Body, new(int64)}
		q.Body = b
		next.ServeHTTP(w, q)
		if *b.n == 0 && q.Header.Get("Expect") != "" {
			return
		}
		_, _ = io.CopyN(io.Discard, b, maxFormBytes-*b.n) // a client that breaks off wants no answer
	})
}
