package httpapi_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/httpapi"
)

// TestAPathHasOneHost is what a listener of some hosts rests on.
func TestAPathHasOneHost(t *testing.T) {
	hosts := map[string]api.Host{}
	for _, r := range api.Routes() {
		if h, ok := hosts[r.Path]; ok && h != r.Host {
			t.Errorf("%s is of %s and of %s", r.Path, h, r.Host)
		}
		hosts[r.Path] = r.Host
	}
}

func TestAListenerOfSomeHosts(t *testing.T) {
	w := newWorld(t, nil)
	// Not by way of the document, which knows no prefix and all hosts.
	ask := func(path, key, prefix string, hosts ...api.Host) *httptest.ResponseRecorder {
		q := httptest.NewRequest(http.MethodGet, path, nil)
		if key != "" {
			q.Header.Set("X-Api-Key", w.keys[key])
		}
		r := httptest.NewRecorder()
		httpapi.View(w.handler, prefix, hosts...).ServeHTTP(r, q)
		return r
	}
	period := api.PathDataPeriod + "?site_id=" + ownSite
	for _, c := range []struct {
		hosts  []api.Host
		prefix string
		path   string
		want   int
	}{
		{nil, "", period, 200},
		{nil, "/", period, 200},
		{[]api.Host{api.HostTelemetry}, "", period, 200},
		{[]api.Host{api.HostMain, api.HostTelemetry}, "", period, 200},
		{[]api.Host{api.HostAlerts}, "", period, 404},
		{[]api.Host{api.HostAlerts}, "", api.PathUploads, 404},
		{[]api.Host{api.HostAlerts}, "", api.PathSetup, 404},
		{[]api.Host{api.HostAuth}, "", api.PathSetup, 200},
		{[]api.Host{api.HostAlerts}, "", api.PathHealth, 200},
		{[]api.Host{api.HostAlerts}, "", api.PathReady, 200},
		{[]api.Host{api.HostAlerts}, "", "/nowhere", 404},
		{nil, "/sunloop", "/sunloop" + period, 200},
		{nil, "/sunloop/", "/sunloop" + period, 200},
		{nil, "/a/b", "/a/b" + period, 200},
		{nil, "/sunloop", period, 404},
		{nil, "/sunloop", "/sunloops" + period, 404},
		{nil, "/sunloop", "/sunloop", 404},
		{nil, "/sunloop", "/sunloop/", 404},
		{nil, "/sunloop", "/sunloop/sites/Second%20Site/kpis?from=2025-10-01&to=2025-10-02", 200},
		{[]api.Host{api.HostTelemetry}, "/sunloop", "/sunloop" + period, 200},
		{[]api.Host{api.HostAlerts}, "/sunloop", "/sunloop" + period, 404},
		{[]api.Host{api.HostAlerts}, "/sunloop", "/sunloop" + api.PathHealth, 200},
	} {
		r := ask(c.path, "admin", c.prefix, c.hosts...)
		if r.Code != c.want || r.Header().Get("Content-Type") != "application/json" {
			t.Errorf("%v under %q: %s answers %d %s", c.hosts, c.prefix, c.path, r.Code, r.Header().Get("Content-Type"))
		}
		if c.want == 404 && !strings.Contains(r.Body.String(), `"error":"Not found"`) {
			t.Errorf("%s: %s", c.path, r.Body)
		}
	}
	// Of what is not there, a listener says no more than of any unknown path.
	for _, path := range []string{api.PathSetup, api.PathInverter, "/nowhere"} {
		if r := ask(path, "", "", api.HostAlerts); r.Code != 401 {
			t.Errorf("%s without a credential: %d", path, r.Code)
		}
	}
	if r := ask("/sunloop"+api.PathOpenAPI, "", "/sunloop"); !strings.Contains(r.Body.String(), `"servers":[{"url":"/sunloop"`) {
		t.Errorf("the document does not name the prefix: %.300s", r.Body)
	}
}

func TestClientAddress(t *testing.T) {
	const client, proxy, inner = "203.0.113.9", "10.0.0.1", "10.0.0.2"
	for name, c := range map[string]struct {
		trusted []string
		peer    string
		headers []string
		want    string
	}{
		"no proxy is trusted":       {nil, proxy + ":1", []string{client}, proxy},
		"not from the proxy":        {[]string{"10.0.0.0/8"}, "198.51.100.7:1", []string{client}, "198.51.100.7"},
		"one proxy":                 {[]string{"10.0.0.0/8"}, proxy + ":1", []string{client}, client},
		"two, in two headers":       {[]string{"10.0.0.0/8"}, proxy + ":1", []string{client, inner}, client},
		"what the client claims":    {[]string{"10.0.0.0/8"}, proxy + ":1", []string{"192.0.2.1, " + client + ", " + inner}, client},
		"a port":                    {[]string{"10.0.0.0/8"}, proxy + ":1", []string{client + ":4711"}, client},
		"IPv6 with a port":          {[]string{"fd00::/8"}, "[fd00::1]:1", []string{"[2001:db8::9]:4711"}, "2001:db8::9"},
		"IPv6 in brackets":          {[]string{"fd00::/8"}, "[fd00::1]:1", []string{"[2001:db8::9]"}, "2001:db8::9"},
		"IPv4 as IPv6":              {[]string{"10.0.0.0/8"}, "[::ffff:10.0.0.1]:1", []string{client}, client},
		"all are trusted":           {[]string{"10.0.0.0/8"}, proxy + ":1", []string{"10.0.0.3, " + inner}, "10.0.0.3"},
		"the proxy says nothing":    {[]string{"10.0.0.0/8"}, proxy + ":1", nil, proxy},
		"a word in place of a hop":  {[]string{"10.0.0.0/8"}, proxy + ":1", []string{client + ", unknown"}, proxy},
		"a word before a good hop":  {[]string{"10.0.0.0/8"}, proxy + ":1", []string{"unknown, " + client}, client},
		"a word behind another hop": {[]string{"10.0.0.0/8"}, proxy + ":1", []string{"unknown, " + inner}, inner},
	} {
		seen := &asker{}
		w := newWorld(t, func(d *httpapi.Deps) {
			d.Freemium = seen
			for _, network := range c.trusted {
				d.TrustedProxies = append(d.TrustedProxies, netip.MustParsePrefix(network))
			}
		})
		q := httptest.NewRequest(http.MethodPost, api.PathFreemiumVerify, strings.NewReader(`{"email":"ana@example.org"}`))
		q.RemoteAddr = c.peer
		q.Header["X-Forwarded-For"] = c.headers
		w.handler.ServeHTTP(httptest.NewRecorder(), q)
		if seen.remote != c.want {
			t.Errorf("%s: from %q, not %q", name, seen.remote, c.want)
		}
	}
}

// asker remembers where the last request for a code came from.
type asker struct {
	httpapi.Freemium
	remote string
}

func (a *asker) SendCode(_ context.Context, _, remote string) error {
	a.remote = remote
	return nil
}

// TestOneAddressBehindAProxyIsSlowedAlone guesses a password through a proxy:
// the guesser waits, another address of the same proxy does not.
func TestOneAddressBehindAProxyIsSlowedAlone(t *testing.T) {
	w := newWorld(t, func(d *httpapi.Deps) { d.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} })
	w.user("ana", api.RoleOperator, ownCustomer)
	login := func(pass, from string) int {
		// httptest's requests come from 192.0.2.1, the proxy.
		return w.ask(http.MethodPost, api.PathLogin, `{"username":"ana","password":"`+pass+`"}`, "X-Forwarded-For", from).Code
	}
	slowed := false
	for range 30 {
		slowed = slowed || login("wrong", "203.0.113.9") == 429
	}
	if !slowed {
		t.Error("30 guesses are not slowed")
	}
	if code := login(password, "203.0.113.9"); code != 429 {
		t.Errorf("the guesser's next try: %d", code)
	}
	if code := login(password, "198.51.100.7"); code != 200 {
		t.Errorf("another address of the proxy: %d", code)
	}
}

func TestStrictTransportSecurityOnlyOverTLS(t *testing.T) {
	trusted := []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
	for name, c := range map[string]struct {
		trusted []netip.Prefix
		proto   string
		tls     bool
		want    string
	}{
		"plain":                          {nil, "", false, ""},
		"TLS":                            {nil, "", true, "max-age=31536000"},
		"an untrusted client claims it":  {nil, "https", false, ""},
		"a trusted proxy has it":         {trusted, "https", false, "max-age=31536000"},
		"a trusted proxy has it not":     {trusted, "http", false, ""},
		"a trusted proxy says nothing":   {trusted, "", false, ""},
		"TLS, to a proxy that is silent": {trusted, "", true, "max-age=31536000"},
	} {
		w := newWorld(t, func(d *httpapi.Deps) { d.TrustedProxies = c.trusted })
		q := httptest.NewRequest(http.MethodGet, api.PathHealth, nil)
		if c.proto != "" {
			q.Header.Set("X-Forwarded-Proto", c.proto)
		}
		if c.tls {
			q.TLS = &tls.ConnectionState{}
		}
		r := httptest.NewRecorder()
		w.handler.ServeHTTP(r, q)
		if got := r.Header().Get("Strict-Transport-Security"); got != c.want {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
}
