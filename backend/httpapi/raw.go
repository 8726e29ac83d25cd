package httpapi

import (
	"compress/gzip"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"

	"app.sunloop/backend/api"
	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
)

// errUnsupportedPoints refuses a media type of points.
var errUnsupportedPoints = (&api.Error{Status: http.StatusUnsupportedMediaType, Message: "Unsupported content type"}).
	With("reason", "send application/json, text/plain with line protocol, or application/x-protobuf with Prometheus remote write 1.0")

// takesEncoded reports whether the path of a request takes bodies that are packed.
func (s *server) takesEncoded(q *http.Request) bool {
	e := s.methods[q.URL.Path][q.Method]
	return e != nil && e.Raw != nil
}

// mediaType is that of a body of a route with raw ones: the first that the route has if
// the request names none.
func (in *input) mediaType(rt *api.Route) (string, error) {
	header := in.Header.Get("Content-Type")
	if header == "" {
		return rt.Raw[0].Type, nil
	}
	kind, parameters, err := mime.ParseMediaType(header)
	if err != nil {
		return "", errUnsupportedPoints
	}
	if proto := parameters["proto"]; proto != "" && proto != "prometheus.WriteRequest" {
		return "", errUnsupportedPoints
	}
	for _, r := range rt.Raw {
		if r.Type == kind {
			return kind, nil
		}
	}
	return "", errUnsupportedPoints
}

// errUnpack refuses a body that is not packed as the request says.
func errUnpack(encoding string) error {
	e := &api.Error{Status: http.StatusBadRequest, Message: "The request body cannot be unpacked"}
	return e.With("reason", "it is not "+encoding)
}

// rawBody reads and unpacks the body of a route with raw ones. The bytes are accounted
// for as they come, and no more than the route's limit are unpacked.
func (in *input) rawBody(kind string) ([]byte, error) {
	most := in.most.Raw
	if in.ContentLength > most {
		return nil, api.BodyTooLarge(most)
	}
	encoding := strings.ToLower(in.Header.Get("Content-Encoding"))
	if encoding == "" && kind == api.MediaRemoteWrite {
		encoding = "snappy"
	}
	switch {
	case encoding == "" || encoding == "identity":
		return in.readMost(in.Body, most)
	case encoding == "gzip":
		z, err := gzip.NewReader(in.Body)
		if err != nil {
			return nil, in.unpackFailure(err, encoding)
		}
		b, err := in.readMost(z, most)
		return b, in.unpackFailure(err, encoding)
	case encoding == "zstd":
		z, err := zstd.NewReader(in.Body, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(api.MaxWriteBytes))
		if err != nil {
			return nil, in.unpackFailure(err, encoding)
		}
		defer z.Close()
		b, err := in.readMost(z, most)
		return b, in.unpackFailure(err, encoding)
	case encoding == "snappy" && kind == api.MediaRemoteWrite:
		packed, err := in.readMost(in.Body, most)
		if err != nil {
			return nil, err
		}
		n, err := snappy.DecodedLen(packed)
		switch {
		case err != nil:
			return nil, errUnpack(encoding)
		case int64(n) > most:
			return nil, api.BodyTooLarge(most)
		}
		if err := in.claim.grow(int64(n)); err != nil {
			return nil, err
		}
		b, err := snappy.Decode(nil, packed)
		if err != nil {
			return nil, errUnpack(encoding)
		}
		return b, nil
	}
	return nil, errEncoded
}

// unpackFailure is the error of a reader that unpacks: of the body itself, or of what it
// holds.
func (in *input) unpackFailure(err error, encoding string) error {
	var refusal *api.Error
	if err == nil || errors.As(err, &refusal) {
		return err
	}
	return errUnpack(encoding)
}

// readMost reads all bytes, up to most. Room is taken from the account as they come.
func (in *input) readMost(r io.Reader, most int64) ([]byte, error) {
	var b []byte
	for {
		if len(b) == cap(b) {
			room := min(max(firstRead, 2*int64(cap(b))), most+1)
			if err := in.claim.grow(room - int64(cap(b))); err != nil {
				return nil, err
			}
			b = append(make([]byte, 0, room), b...)
		}
		n, err := r.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		switch {
		case int64(len(b)) > most:
			return nil, api.BodyTooLarge(most)
		case errors.Is(err, io.EOF):
			return b, nil
		case err != nil && r == io.Reader(in.Body):
			return nil, readFailure(err)
		case err != nil:
			return nil, err
		}
	}
}
