package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// endpoint is a route with the handlers of its operations.
type endpoint struct {
	*api.Route
	handlers map[string]*handler // by action
	form     func(*input) (*operation, error)
}

// handler is the code of one operation.
type handler struct {
	op         *api.Operation
	newRequest func() any
	check      func(request any) error
	run        func(ctx context.Context, c *caller, request any) (any, error)
}

// operation is a request whose parameters are valid.
type operation struct {
	op          *api.Operation
	target      target
	fingerprint []byte // of the body, for Idempotency-Key
	run         func(ctx context.Context, c *caller) (any, error)
}

// target names the records that a request is about, for the check of its scope.
type target struct {
	customerID string
	siteID     *string // in the request; permit replaces it by the site's key; nil or empty: no site
	asset      *api.AssetRef
	newSite    bool // the site may not exist yet
	cached     bool // the records of site and asset may be some seconds old
}

// caller is who sent a request, with what the checks found.
type caller struct {
	auth.Principal
	scope      api.Scope
	credential string
	site       api.Site  // of target.siteID
	asset      api.Asset // of target.asset
	audit      *auditEntry
	request    *input
	points     int // of telemetry that the request wrote
}

// handle registers the code of an operation. checks are those that need more than
// the declaration, such as the format of a cursor.
func handle[Req, Resp any](s *server, e api.Endpoint[Req, Resp], do func(ctx context.Context, c *caller, r *Req) (Resp, error), checks ...func(*Req) error) {
	s.register(e.Operation, &handler{
		op:         e.Operation,
		newRequest: func() any { return new(Req) },
		check: func(request any) error {
			for _, check := range checks {
				if err := check(request.(*Req)); err != nil {
					return err
				}
			}
			return nil
		},
		run: func(ctx context.Context, c *caller, request any) (any, error) { return do(ctx, c, request.(*Req)) },
	})
}

// handleStream is handle for a response that is written as bytes: do returns a
// streamed body, which must be what a Resp encodes to, or a Resp.
func handleStream[Req, Resp any](s *server, e api.Endpoint[Req, Resp], do func(ctx context.Context, c *caller, r *Req) (any, error), checks ...func(*Req) error) {
	handle(s, api.Endpoint[Req, any](e), do, checks...)
}

// handleForm registers the code of an operation whose request is a multipart
// form with a file. decode checks the fields.
func handleForm[Req, Resp any](s *server, e api.Endpoint[Req, Resp], decode func(*form) (*Req, error), do func(ctx context.Context, c *caller, f *form, r *Req) (Resp, error)) {
	s.endpoint(e.Route).form = func(in *input) (*operation, error) {
		f, err := in.form()
		if err != nil {
			return nil, err
		}
		if f.spool == nil {
			return nil, api.ErrCSVRequired
		}
		request, err := decode(f)
		if err != nil {
			return nil, err
		}
		t := targetOf(e.Operation, request)
		t.newSite = t.newSite && t.customerID != "" // a site without its customer must exist
		return &operation{op: e.Operation, target: t, fingerprint: f.fingerprint(), run: func(ctx context.Context, c *caller) (any, error) {
			return do(ctx, c, f, request)
		}}, nil
	}
	if e.Route.FormOnly {
		s.register(e.Operation, &handler{op: e.Operation})
	}
}

// endpoint returns that of the route, which it creates for the first operation.
func (s *server) endpoint(r *api.Route) *endpoint {
	if s.endpoints[r] == nil {
		s.endpoints[r] = &endpoint{Route: r, handlers: map[string]*handler{}}
	}
	return s.endpoints[r]
}

func (s *server) register(o *api.Operation, h *handler) {
	e := s.endpoint(o.Route)
	if e.handlers[o.Action] != nil {
		panic(fmt.Sprintf("httpapi: two handlers of %s", o.Name()))
	}
	e.handlers[o.Action] = h
	if o.DefaultAction {
		e.handlers[""] = h
	}
}

// decode reads and checks the parameters of a request in the contract's order:
// the body, its action, and the fields of the operation.
func (e *endpoint) decode(in *input) (*operation, error) {
	in.parseQuery()
	if in.malformed != nil {
		return nil, in.malformed
	}
	if err := e.Operations[0].CheckQuery(in.query); err != nil {
		return nil, err
	}
	if e.form != nil && !in.isForm() && !in.mayBeJSON() {
		return nil, errUnsupportedType
	}
	if e.form != nil && (e.FormOnly || in.isForm()) {
		if !in.isForm() {
			return nil, api.ErrCSVRequired
		}
		return e.form(in)
	}
	h := e.handlers[e.Operations[0].Action]
	request := h.newRequest()
	if e.Body.JSON > 0 {
		if err := in.json(request); err != nil {
			return nil, err
		}
		h = e.handlers[h.op.ActionOf(request)]
		if h == nil {
			if err := in.checkUnknown(nil); err != nil {
				return nil, err // it may be the action under another name
			}
			return nil, api.ErrInvalidAction
		}
		if err := in.checkUnknown(h.op); err != nil {
			return nil, err
		}
		h.op.SetPath(request, in.PathValue)
		if err := h.op.Check(request, in.has); err != nil {
			return nil, err
		}
	} else if err := h.op.DecodeQuery(request, in.parameter, in.PathValue); err != nil {
		return nil, err
	}
	if err := h.check(request); err != nil {
		return nil, err
	}
	o := &operation{op: h.op, target: targetOf(h.op, request), run: func(ctx context.Context, c *caller) (any, error) { return h.run(ctx, c, request) }}
	if h.op.Idempotent {
		o.fingerprint = in.digest()
	}
	return o, nil
}

// targetOf returns the target of a request by the declaration of its operation.
func targetOf(o *api.Operation, request any) target {
	ids := o.IDsOf(request)
	t := target{siteID: ids.Site, newSite: o.Target.NewSite, cached: o.Target.Cached}
	if ids.Customer != nil {
		t.customerID = *ids.Customer
	}
	if ids.Asset != nil && *ids.Asset != "" {
		t.asset = &api.AssetRef{AssetID: *ids.Asset, CustomerID: t.customerID}
		if ids.Site != nil {
			t.asset.SiteID = *ids.Site
		}
	}
	return t
}

// has reports whether the JSON body has a field.
func (in *input) has(name string) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(in.body, &fields) == nil && fields[name] != nil
}

// given reports whether the request has a field or a parameter.
func (in *input) given(name string) bool { return in.query.Has(name) || in.has(name) }

// deprecated adds the headers of what the request uses and will be removed.
func (in *input) deprecated(o *api.Operation) {
	d := o.DeprecationOf(in.given)
	if d == nil {
		return
	}
	h := in.w.Header()
	h.Set(api.HeaderDeprecation, fmt.Sprintf("@%d", d.Since.Unix()))
	if !d.Sunset.IsZero() {
		h.Set(api.HeaderSunset, d.Sunset.UTC().Format(http.TimeFormat))
	}
	h.Add("Link", `<`+viewOf(in.Request.Context()).prefix+api.PathDocs+`>; rel="deprecation"; type="text/html"`)
}

// missingHandler returns an operation without a handler, nil if all have one.
func (e *endpoint) missingHandler() *api.Operation {
	for _, o := range e.Operations {
		if e.handlers[o.Action] == nil {
			return o
		}
	}
	return nil
}

// registerAll registers the handlers of all resources.
func (s *server) registerAll() {
	s.signInHandlers()
	s.freemiumHandlers()
	s.uploadHandlers()
	s.forecastHandlers()
	s.telemetryHandlers()
	s.collectHandlers()
	s.alertHandlers()
	s.siteHandlers()
	s.findingHandlers()
	s.modelHandlers()
	s.runHandlers()
	s.issueHandlers()
	s.scheduleHandlers()
	s.partHandlers()
	s.orderHandlers()
	s.trackHandlers()
	s.bulkHandlers()
	s.subscriptionHandlers()
	s.notificationHandlers()
	s.userHandlers()
	s.logHandlers()
	s.kpiHandlers()
	s.availabilityHandlers()
	s.shiftHandlers()
	s.snapshotHandlers()
	s.streamHandlers()
	s.metaHandlers()
}

// allowed returns the methods of a path, for the header Allow.
func allowed(endpoints map[string]*endpoint) string {
	list := ""
	for _, m := range []string{http.MethodGet, http.MethodPost} {
		if endpoints[m] == nil {
			continue
		}
		if list != "" {
			list += ", "
		}
		if list += m; m == http.MethodGet {
			list += ", " + http.MethodHead
		}
	}
	return list
}

// nonNil returns a list that JSON writes as [] when it is empty.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
