package httpapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"strings"
	"time"

	"app.sunloop/backend/admission"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/limit"
	"app.sunloop/backend/store"
	"github.com/klauspost/compress/gzhttp"
)

// Deps are what the handler is made of. All but those marked optional are
// required.
type Deps struct {
	Auth           *auth.Service
	Sites          Sites
	SiteChanges    SiteChanges
	Assets         Assets
	Uploads        Uploads
	Forecasts      Forecasts
	Findings       Findings
	Activities     Activities
	Detector       Detector
	Diagnoser      Diagnoser
	Issues         Issues
	Alerts         Alerts
	Schedules      Schedules
	BOMs           BOMs
	Orders         Orders
	Tracking       Tracking
	Subscriptions  Subscriptions
	Notifications  Notifications
	Models         Models
	Runs           Runs
	Interpolations Interpolations
	Summaries      Summaries
	KPIs           KPIs
	Availability   Availability
	Shifts         Shifts
	Nowcasts       Nowcasts
	Snapshots      Snapshots
	Freemium       Freemium
	Telemetry      store.Telemetry
	Streams        Streams
	Collectors     Collectors
	Sources        func() Sources // optional: what reads devices in this process; nil: nothing does
	Audit          Audit
	Journal        Journal       // optional: nil has nothing
	Records        store.Records // of Idempotency-Key
	Now            func() time.Time

	Limiter Limiter // optional: nil counts in this process
	// Shared says that other processes serve requests over the same records.
	Shared bool
	// Closed is why nothing can be served yet, nil once it can; optional. Until
	// then the health paths alone answer, and what they do not need may be nil.
	Closed func() error

	Disk *store.Disk // optional: what is known of the data folder's disk
	// Ready returns what the service can do now, or why it cannot do what is asked
	// for; see [api.Readiness]. Optional: nil is ready.
	Ready func(ctx context.Context, capability string) (api.Readiness, error)
	// Uploadable returns why no file can be taken now, so that an upload is
	// refused before it is read; nil if one can. Optional.
	Uploadable  func() error
	Log         *slog.Logger // optional: nil is silent
	Observe     Observe      // optional
	SpoolDir    string       // of running uploads; empty: the system's
	CORSOrigins []string     // exact origins, or * ; none: no CORS
	// TrustedProxies are the networks of proxies whose X-Forwarded-For and
	// X-Forwarded-Proto are believed; empty: of no proxy.
	TrustedProxies []netip.Prefix
	// Wait is how long a request may wait for database and bucket in all, and how
	// much longer to record its failure; 0 means [DefaultWait]. See
	// [store.WithBudget].
	Wait time.Duration
	// BodyMemory and PublicBodyMemory are how many bytes the bodies of requests and
	// the values decoded from them may take at a time, of routes that need a
	// credential and of those that need none; 0: 64 MiB and 16 MiB.
	BodyMemory, PublicBodyMemory int64
	// UnauthenticatedBody is how long the body of a request may take whose caller has
	// not shown a valid credential; 0: 30 s.
	UnauthenticatedBody time.Duration
	// Heartbeat is the interval at which a stream sends something and its credential is
	// checked; 0: 15 s.
	Heartbeat time.Duration
	KeyRate   int // accepted requests a minute, key and API; 0: the contract's
	UserRate  int // the same of a person; 0: the contract's
}

// server is the handler behind [New].
type server struct {
	Deps
	answers      limit.Budget // bytes of answers in flight, see answersBytes
	bodies       memory       // of requests with a credential
	publicBodies memory       // of requests of routes without one
	lookups      lookupCache
	idempotency  idempotency
	streams      openStreams
	endpoints    map[*api.Route]*endpoint
	methods      map[string]map[string]*endpoint // path → method → endpoint
	mux          *http.ServeMux
}

// New makes the handler of all routes of [api.Routes]. It panics if an operation
// has no handler: such a program is wrong.
func New(d Deps) http.Handler {
	s := &server{Deps: d, answers: limit.Budget{Max: answersBytes, Each: answersBytes / answersShare, Free: smallBytes}, endpoints: map[*api.Route]*endpoint{}, methods: map[string]map[string]*endpoint{}, mux: http.NewServeMux()}
	if s.Log == nil {
		s.Log = slog.New(slog.DiscardHandler)
	}
	if s.Limiter == nil {
		s.Limiter = &rates{now: s.Now}
	}
	if s.Wait == 0 {
		s.Wait = DefaultWait
	}
	s.bodies.most, s.publicBodies.most = cmp.Or(s.BodyMemory, bodyMemory), cmp.Or(s.PublicBodyMemory, publicBodyMemory)
	if s.UnauthenticatedBody == 0 {
		s.UnauthenticatedBody = unauthenticatedBody
	}
	s.Heartbeat = cmp.Or(s.Heartbeat, heartbeat)
	if s.KeyRate == 0 {
		s.KeyRate = api.RequestsPerMinute
	}
	if s.UserRate == 0 {
		s.UserRate = api.UserRequestsPerMinute
	}
	s.registerAll()
	for _, r := range api.Routes() {
		e := s.endpoint(r)
		if o := e.missingHandler(); o != nil {
			panic(fmt.Sprintf("httpapi: %s has no handler", o.Name()))
		}
		if s.methods[r.Path] == nil {
			s.methods[r.Path] = map[string]*endpoint{}
			s.mux.HandleFunc(r.Path, func(w http.ResponseWriter, q *http.Request) { s.dispatch(w, q, s.methods[r.Path]) })
		}
		s.methods[r.Path][r.Method] = e
	}
	s.mux.HandleFunc(api.PathAcknowledge+"/{token}", s.acknowledge)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, q *http.Request) { s.dispatch(w, q, nil) })

	compress, err := gzhttp.NewWrapper(gzhttp.SuffixETag("-gzip"), gzhttp.MinSize(1024))
	if err != nil {
		panic(err) // the options are constants
	}
	return s.outermost(s.limitBodyTime(drainBody(compress(http.HandlerFunc(s.guarded)))))
}

// dispatch runs the checks in the contract's order: credential present, route,
// parameters, credential valid, scope, rate, work. Where parameters come in a
// body, the credential is checked before it is read.
func (s *server) dispatch(w http.ResponseWriter, q *http.Request, methods map[string]*endpoint) {
	q = q.WithContext(store.WithBudget(q.Context(), s.Wait, s.Wait/waitReserve))
	method := q.Method
	if method == http.MethodHead {
		method = http.MethodGet
	}
	rt, found := methods[method]
	if !isVisible(q, methods) {
		found, methods = false, nil
	}
	credential := credentialOf(q)
	if credential == "" && !public(rt, found, methods) {
		s.refuse(w, q, api.ErrUnauthorized)
		return
	}
	if !found {
		if methods == nil {
			s.refuse(w, q, api.ErrNotFound)
			return
		}
		w.Header().Set("Allow", allowed(methods))
		s.refuse(w, q, api.ErrMethodNotAllowed)
		return
	}
	ctx, share := limit.WithShare(q.Context(), &s.answers)
	defer share.Release()
	q = q.WithContext(ctx)
	annotateExchange(ctx, func(x *Exchange) { x.Route = rt.Name })
	if s.Closed != nil && rt.Route != api.GetHealth.Route && rt.Route != api.GetReady.Route {
		if err := s.Closed(); err != nil {
			s.refuse(w, q, err)
			return
		}
	}
	g := &caller{credential: credential}
	var invalid error
	if rt.Credential != api.CredentialNone {
		g.Principal, invalid = s.Auth.Authenticate(ctx, credential)
		if invalid == nil && rt.Credential == api.CredentialUser && g.Kind != auth.KindUser {
			invalid = api.ErrInvalidToken
		}
		g.scope = g.Scope()
		share.SetCaller(g.ID)
		if invalid != nil && method == http.MethodPost {
			s.refuse(w, q, failed(rt.Route, s.refused(w, q, rt.Route, credential, invalid)))
			return
		}
	}
	n := s.newAuditEntry(w, q, rt.Route, g)
	if g.audit = n; rt.Credential != api.CredentialNone && invalid == nil {
		n.caller = *g
		admission.Authenticated(ctx)
		annotateExchange(ctx, func(x *Exchange) { x.PrincipalID = g.ID })
		liftBodyTime(w, q)
	}
	if invalid == nil && g.Kind == auth.KindKey {
		defer func() {
			b, ok := w.(*begunWriter)
			s.Auth.CountKey(g.ID, ok && b.refusal != nil, g.points)
		}()
	}
	if invalid == nil && s.Uploadable != nil && rt.Files {
		if err := s.Uploadable(); err != nil {
			s.refuse(w, q, failed(rt.Route, err))
			return
		}
	}
	in := &input{Request: q, w: w, route: rt.Route, most: rt.Body, tooLarge: rt.TooLarge, claim: s.claimOf(q, rt.Route, g), spoolDir: s.SpoolDir}
	defer in.close()
	g.request = in
	c, err := rt.decode(in)
	n.operation = c
	if err == nil {
		err = invalid
	}
	if err != nil {
		s.refuse(w, q, failed(rt.Route, err))
		return
	}
	run := c.run
	c.run = func(ctx context.Context, g *caller) (any, error) {
		ctx, changes := store.WithChanges(ctx)
		result, err := run(ctx, g)
		if err = hideUnknownID(g.scope, err); err != nil {
			result = nil // it may be another customer's record
		}
		n.result, n.err = result, err
		if err != nil && changes.Possible() {
			err = uncertain{err}
		}
		if a, signIn := result.(api.LoginResponse); signIn && err == nil {
			if a.Token != "" {
				admission.Authenticated(ctx)
			}
			annotateExchange(ctx, func(x *Exchange) { x.Challenge = a.Token == "" })
		}
		return result, failed(rt.Route, err)
	}
	op := c.op
	in.deprecated(op)
	var absent error
	if rt.Credential != api.CredentialNone {
		g.scope.Writes = op.Writes() && !op.Target.AnyState
		absent, err = s.permit(ctx, g, op, c.target)
		if rt.Method == http.MethodGet && (errors.Is(err, api.ErrAmbiguousSite) || errors.Is(err, api.ErrAmbiguousAsset)) {
			err = api.MissingParameter("customer_id").With("reason", "several customers have a site or a unit of this id: name the customer")
		}
		if err != nil {
			s.refuse(w, q, err)
			return
		}
		n.caller = *g
		if err := s.rate(ctx, w, g.Principal, rt.Host); err != nil {
			s.refuse(w, q, err)
			return
		}
	}
	if absent != nil {
		s.refuse(w, q, absent)
		return
	}
	if key := q.Header.Get(api.HeaderIdempotencyKey); key != "" && op.Idempotent {
		n.idempotent = true
		s.once(w, q, rt, c, g, key)
		return
	}
	result, err := c.run(ctx, g)
	if err != nil {
		s.refuse(w, q, err)
		return
	}
	if run, ok := result.(following); ok {
		run(w, q)
		return
	}
	s.answer(w, q, op, result)
}

// refused is why a request with an invalid credential is refused, before its body
// is read.
func (s *server) refused(w http.ResponseWriter, q *http.Request, rt *api.Route, credential string, invalid error) error {
	if rt != api.Refresh.Route {
		return invalid
	}
	// A token that was renewed before ends its session.
	switch userID, err := s.Auth.EndReused(q.Context(), credential); {
	case err != nil:
		return err
	case userID != "":
		s.Log.Warn("session ended: renewed token used again", "user_id", userID, "address", s.remote(q), "request_id", requestID(w))
	}
	return invalid
}

// public says that a request needs no credential: its route needs none, or it
// misses the method of a path that needs none.
func public(rt *endpoint, found bool, methods map[string]*endpoint) bool {
	if found {
		return rt.Credential == api.CredentialNone
	}
	for _, other := range methods {
		if other.Credential != api.CredentialNone {
			return false
		}
	}
	return len(methods) > 0
}

// maxCredential is more than any key or token of ours.
const maxCredential = 4096

// credentialOf is what either header carries, Authorization first.
func credentialOf(q *http.Request) string {
	credential := ""
	if scheme, rest, ok := strings.Cut(q.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		credential = strings.TrimSpace(rest)
	}
	if credential == "" {
		credential = strings.TrimSpace(q.Header.Get(api.HeaderAPIKey))
	}
	if len(credential) > maxCredential {
		credential = credential[:maxCredential]
	}
	return credential
}

// hideUnknownID is err as a caller of the scope may know it: unless the scope is
// unlimited, an id that names no record gets the answer of an id outside the
// scope, so that no caller learns which ids other customers have.
func hideUnknownID(scope api.Scope, err error) error {
	if !scope.Unlimited() && api.IsUnknownID(err) {
		return api.ErrForbidden
	}
	return err
}

// permitSite looks the target's site up by its id within the scope, and
// replaces the id by the site's key.
func (s *server) permitSite(ctx context.Context, g *caller, t target) (absent, refused error) {
	site, err := s.siteOf(ctx, g.scope, t)
	switch outside := errors.Is(err, api.ErrForbidden); {
	case err == nil:
		g.site, *t.siteID = site, site.SiteID
		if t.asset != nil && t.asset.SiteID != "" {
			t.asset.SiteID = site.SiteID
		}
		return nil, nil
	case t.newSite && *t.siteID != api.PublicSiteID(*t.siteID):
		// A caller that wrote keys could take the one of another customer.
		return nil, api.InvalidField("site_id", "without control characters")
	case t.newSite && (outside || errors.Is(err, api.ErrSiteNotFound)):
		// Another customer's site of the id is none of the caller's.
		owner := t.customerID
		if customers := g.scope.Customers; owner == "" && len(customers) == 1 && customers[0] != api.Every {
			owner = customers[0]
		}
		key := *t.siteID
		if owner != "" {
			if key, err = s.Sites.NewSiteKey(ctx, owner, key); err != nil {
				return nil, err
			}
		}
		if !g.CanSite(key) {
			return nil, api.ErrForbidden
		}
		*t.siteID = key
		return nil, nil
	case errors.Is(err, api.ErrSiteNotFound):
		return err, nil
	}
	return nil, err
}

// permit checks permission and scope. Unknown paths are distinguished, as
// they count as requests and are answered after the rate.
func (s *server) permit(ctx context.Context, g *caller, op *api.Operation, t target) (absent, refused error) {
	if !g.May(op.Permission) {
		if op.Own == api.PermissionNone || !g.May(op.Own) {
			return nil, api.ErrForbidden
		}
		g.scope.OwnUploads, t.newSite = true, false
	}
	if t.customerID != "" && !g.CanCustomer(t.customerID) {
		return nil, api.ErrForbidden
	}
	defer func() {
		// An id that is unknown to a limited caller is refused like another
		// customer's: before the rate is counted.
		if err := hideUnknownID(g.scope, absent); errors.Is(err, api.ErrForbidden) {
			absent, refused = nil, err
		}
	}()
	if t.siteID != nil && *t.siteID != "" {
		if absent, refused = s.permitSite(ctx, g, t); absent != nil || refused != nil {
			return absent, refused
		}
		if g.site.SiteID != "" && !op.Target.AnyState {
			if err := g.site.CheckState(g.scope.Writes); errors.Is(err, api.ErrSiteNotFound) {
				return err, nil
			} else if err != nil {
				return nil, err
			}
		}
	}
	if t.asset != nil {
		var err error
		g.asset, err = s.assetOf(ctx, g.scope, t)
		switch {
		case err == nil && !g.scope.Allows(g.asset.CustomerID, g.asset.SiteID):
			return nil, api.ErrForbidden
		case errors.Is(err, api.ErrAssetNotFound):
			return err, nil
		case err != nil:
			return nil, err
		}
		if g.site.SiteID == "" && g.scope.Writes && g.asset.SiteID != "" {
			site, err := s.Sites.Site(ctx, g.scope, g.asset.SiteID)
			if err == nil {
				err = site.CheckState(true)
			}
			if err != nil {
				return nil, err
			}
		}
	}
	return nil, nil
}
