package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
)

// Provider is an issuer of OpenID Connect whose tokens people sign in with.
type Provider struct {
	Name          string // by which callers name it
	Issuer        string // URL, exactly as its tokens have it
	ClientID      string // that its tokens must be for
	UsernameClaim string // default preferred_username

	// KeepApart denies sign-in to an existing user who has not signed in by
	// this provider before. Without it the username claim creates the link
	// once, so users must not be able to choose their claim freely.
	KeepApart bool
	Provision *Provision // nil: only users who are here already
}

// Provision describes how people whom a provider knows and Sunloop does not
// become users. It applies once; later changes are made in Sunloop.
type Provision struct {
	Role           string   // empty: RoleClaim must name one
	RoleClaim      string   // a role's id or a list with one; the most powerful counts
	Customers      []string // ids, or api.Every
	CustomersClaim string   // an id or a list of ids; in addition to Customers
}

// ErrProvider is that a provider does not answer, or not as it should.
var ErrProvider = errors.New("the identity provider does not answer as it should")

// Bounds of what a provider is asked for.
const (
	fetchTimeout  = 5 * time.Second // of one request
	askTimeout    = 8 * time.Second // of all requests together
	maxFetchBytes = 1 << 20
	refetchAfter  = time.Minute // at the earliest, whatever tokens ask for
	refetchAtAge  = time.Hour   // so that a key that was withdrawn is not honoured for ever
	maxExternal   = 16 << 10    // bytes of a token
)

// signatures are the algorithms of providers' tokens: those with a public key.
var signatures = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA}

// issuer is a provider with its keys.
type issuer struct {
	Provider
	client *http.Client
	now    func() time.Time

	fetching sync.Mutex
	mu       sync.RWMutex // over what follows
	keyURL   string
	keys     []jose.JSONWebKey
	read     time.Time // when keys were
	tried    time.Time // when they were asked for last
	failure  error     // of that
}

func newIssuer(p Provider, now func() time.Time) (*issuer, error) {
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("identity provider %q: %w", p.Name, err)
	}
	if p.UsernameClaim == "" {
		p.UsernameClaim = "preferred_username"
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true // one request a minute at most
	return &issuer{Provider: p, now: now, client: &http.Client{
		Timeout:       fetchTimeout,
		Transport:     bounded{transport},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("it redirects elsewhere") },
	}}, nil
}

func (p Provider) check() error {
	switch {
	case p.Name == "":
		return errors.New("it has no name")
	case p.ClientID == "":
		return errors.New("it has no client id")
	case p.Provision == nil:
		return checkURL(p.Issuer)
	case p.Provision.Role != "" && !slices.Contains(UserRoles(), p.Provision.Role):
		return fmt.Errorf("%s is no role of users; it is one of %s", p.Provision.Role, strings.Join(UserRoles(), ", "))
	case p.Provision.Role == "" && p.Provision.RoleClaim == "":
		return errors.New("new users have no role: say which, or the claim that does")
	case len(p.Provision.Customers) == 0 && p.Provision.CustomersClaim == "":
		return errors.New("new users see no customer: say which, or the claim that does")
	}
	return checkURL(p.Issuer)
}

// checkURL requires TLS, except for a provider on this machine.
func checkURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "":
		return fmt.Errorf("%q is no URL such as https://login.example.com/realm", text)
	case u.Scheme == "https", u.Scheme == "http" && loopback(u.Hostname()):
		return nil
	}
	return fmt.Errorf("%q does not begin with https://", text)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// bounded breaks off an answer that is too large.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(q *http.Request) (*http.Response, error) {
	r, err := b.RoundTripper.RoundTrip(q)
	if err == nil {
		r.Body = http.MaxBytesReader(nil, r.Body, maxFetchBytes)
	}
	return r, err
}

// identity is a person as described by a provider.
type identity struct {
	issuer, subject string
	username        string
	claims          map[string]any
}

// identify checks a token of the provider. What is wrong with the token is a
// refusal; [ErrProvider] when it cannot be checked.
func (i *issuer) identify(ctx context.Context, token string) (identity, error) {
	if len(token) > maxExternal {
		return identity{}, api.ErrInvalidToken
	}
	signed, err := jose.ParseSignedCompact(token, signatures)
	if err != nil {
		return identity{}, api.ErrInvalidToken
	}
	header := signed.Signatures[0].Header
	keys, err := i.keysOf(ctx, header.KeyID, header.Algorithm)
	if err != nil {
		return identity{}, err
	}
	algorithms := make([]string, len(signatures))
	for n, a := range signatures {
		algorithms[n] = string(a)
	}
	config := &oidc.Config{ClientID: i.ClientID, SupportedSigningAlgs: algorithms, Now: i.now}
	checked, err := oidc.NewVerifier(i.Issuer, keys, config).Verify(ctx, token)
	if err != nil && strings.Contains(err.Error(), wrongSignature) && i.fetch(ctx) == nil {
		// The provider may have another key under the same id by now.
		if keys, err = i.keysOf(ctx, header.KeyID, header.Algorithm); err != nil {
			return identity{}, err
		}
		checked, err = oidc.NewVerifier(i.Issuer, keys, config).Verify(ctx, token)
	}
	var expired *oidc.TokenExpiredError
	switch {
	case errors.As(err, &expired):
		return identity{}, api.ErrTokenExpired
	case err != nil || checked.Subject == "":
		return identity{}, api.ErrInvalidToken
	}
	who := identity{issuer: i.Issuer, subject: checked.Subject}
	if err := checked.Claims(&who.claims); err != nil {
		return identity{}, api.ErrInvalidToken
	}
	who.username, _ = who.claims[i.UsernameClaim].(string)
	if i.UsernameClaim == "email" && !verified(who.claims["email_verified"]) {
		return who, denied("the provider has not verified the address")
	}
	if who.username, err = cleanUsername(who.username, nil); err != nil {
		return who, denied("the claim " + i.UsernameClaim + " holds no username")
	}
	return who, nil
}

// wrongSignature is in the verifier's error of a signature by another key; it
// has no type.
const wrongSignature = "verify signature"

// verified reads email_verified, which some providers write as a string.
func verified(claim any) bool { return claim == true || claim == "true" }

// denied returns the error for a person whom the provider has authenticated but
// who may not sign in.
func denied(why string) error { return api.ErrForbidden.With("reason", why) }

// keysOf returns the keys that may have signed a token with the header. They
// are fetched again for an unknown key id, and when they are old, but not more
// often than once a minute.
func (i *issuer) keysOf(ctx context.Context, keyID, algorithm string) (oidc.KeySet, error) {
	found, fresh := i.known(keyID, algorithm)
	if !fresh || len(found) == 0 {
		if err := i.fetch(ctx); err != nil {
			return nil, err
		}
		found, _ = i.known(keyID, algorithm)
	}
	set := &oidc.StaticKeySet{}
	for _, k := range found {
		set.PublicKeys = append(set.PublicKeys, k.Key)
	}
	return set, nil
}

func (i *issuer) known(keyID, algorithm string) (found []jose.JSONWebKey, fresh bool) {
	i.mu.RLock()
	defer i.mu.RUnlock()
	for _, k := range i.keys {
		if (keyID == "" || k.KeyID == keyID) && (k.Algorithm == "" || k.Algorithm == algorithm) {
			found = append(found, k)
		}
	}
	return found, i.now().Sub(i.read) < refetchAtAge
}

// fetch fetches the keys, unless that was done within the last minute. Old keys
// stay in use while the provider does not respond.
func (i *issuer) fetch(ctx context.Context) error {
	i.fetching.Lock()
	defer i.fetching.Unlock()
	i.mu.RLock()
	tried, failure, have := i.tried, i.failure, len(i.keys) > 0
	i.mu.RUnlock()
	now := i.now()
	if tried.IsZero() || now.Sub(tried) >= refetchAfter {
		// Later callers need the keys too, although this one may leave.
		var keys []jose.JSONWebKey
		asking, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTimeout)
		keys, failure = i.ask(asking)
		cancel()
		i.mu.Lock()
		i.tried, i.failure = now, failure
		if failure == nil {
			i.keys, i.read = keys, now
		}
		i.mu.Unlock()
	}
	if failure != nil && !have {
		return fmt.Errorf("%w: %s: %w", ErrProvider, i.Name, failure)
	}
	return nil
}

// ask reads the keys. It discovers their URL the first time, and again if they
// are no longer there.
func (i *issuer) ask(ctx context.Context) ([]jose.JSONWebKey, error) {
	known := i.keyURL != ""
	keys, err := i.askOnce(ctx)
	if err != nil && known && ctx.Err() == nil {
		i.keyURL = ""
		return i.askOnce(ctx)
	}
	return keys, err
}

func (i *issuer) askOnce(ctx context.Context) ([]jose.JSONWebKey, error) {
	if i.keyURL == "" {
		found, err := oidc.NewProvider(oidc.ClientContext(ctx, i.client), i.Issuer)
		if err != nil {
			return nil, err
		}
		var document struct {
			KeyURL string `json:"jwks_uri"`
		}
		if err := found.Claims(&document); err != nil {
			return nil, err
		}
		if err := checkURL(document.KeyURL); err != nil {
			return nil, fmt.Errorf("its jwks_uri: %w", err)
		}
		i.keyURL = document.KeyURL
	}
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, i.keyURL, nil)
	if err != nil {
		return nil, err
	}
	r, err := i.client.Do(q)
	if err != nil {
		return nil, err
	}
	defer r.Body.Close()
	if r.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", i.keyURL, r.Status)
	}
	b, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", i.keyURL, err)
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(b, &set); err != nil {
		return nil, fmt.Errorf("read %s: %w", i.keyURL, err)
	}
	var keys []jose.JSONWebKey
	for _, text := range set.Keys {
		var k jose.JSONWebKey
		// Keys of an unknown type are skipped.
		if err := json.Unmarshal(text, &k); err == nil && k.IsPublic() && k.Valid() && (k.Use == "" || k.Use == "sig") {
			keys = append(keys, k)
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s holds no key to check signatures with", i.keyURL)
	}
	return keys, nil
}
