package channel_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"app.sunloop/backend/mail"
	"app.sunloop/backend/notify"
	"app.sunloop/backend/notify/channel"
	"app.sunloop/backend/webhook"
)

var update = flag.Bool("update", false, "write the golden files")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The secrets of the tests: none may be part of an error.
const (
	password = "secretpassword"
	userName = "privateuser"
	pathPart = "privatepath"
	signing  = "whsec_c2VjcmV0LWtleS1vZi10aGUtdGVzdC0wMTIzNDU2Nzg="
)

var now = time.Date(2026, 6, 21, 11, 42, 7, 0, time.UTC)

func number(v float64) *float64 { return &v }

// raised is the first message of an incident; update and allClear follow it.
func raised() notify.Message {
	return notify.Message{
		ID: "ntf_01J0", Kind: notify.KindRaised, Thread: "inc_7F", At: now, AlertIDs: []string{"alt_1", "alt_2"}, CustomerID: "acme", SiteID: "south", SiteName: "Süd <1> & Nord",
		AssetID: "INV-3", Family: "inverter_outage", Priority: "critical", LostKW: number(41.256), MoneyAtRisk: &notify.Money{Amount: 18.4, Currency: "EUR"},
		Title:   "Critical: 2 inverters of Süd <1> & Nord stopped",
		Lines:   []string{"INV-3 and INV-4 have produced nothing since 13:12.", "Power at risk: 41.3 kW. Energy lost so far: unknown.", "*Likely cause*: [grid] fault_a & <b>."},
		Links:   []notify.Link{{Label: "Open the alarm", URL: "https://sunloop.example/a/alt_1?x=1&y=2"}},
		Actions: []notify.Link{{Label: "Acknowledge", URL: "https://sunloop.example/ack/abc.def"}},
	}
}

func follows(m notify.Message, kind notify.Kind, id, priority, title, reference string) notify.Message {
	m.ID, m.Kind, m.Priority, m.Title, m.Reference, m.At = id, kind, priority, title, reference, now.Add(20*time.Minute)
	m.Lines, m.Actions = []string{"The grid is back."}, nil
	return m
}

// receiver records requests and answers as the services do.
type receiver struct {
	mu       sync.Mutex
	requests []string
	answer   func(w http.ResponseWriter, r *http.Request, body []byte)
}

func (rc *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", r.Method, r.URL.RequestURI())
	var names []string
	for name := range r.Header {
		if !slices.Contains([]string{"Accept-Encoding", "Content-Length"}, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s: %s\n", name, r.Header.Get(name))
	}
	var pretty bytes.Buffer
	if json.Indent(&pretty, body, "", "  ") == nil {
		body = pretty.Bytes()
	}
	fmt.Fprintf(&b, "\n%s\n", body)
	rc.mu.Lock()
	rc.requests = append(rc.requests, b.String())
	rc.mu.Unlock()
	if rc.answer != nil {
		rc.answer(w, r, body)
		return
	}
	switch {
	case strings.HasSuffix(r.URL.Path, "/chat.postMessage"):
		fmt.Fprint(w, `{"ok":true,"channel":"C1","ts":"1718970127.000100"}`)
	case strings.HasSuffix(r.URL.Path, "/sendMessage"):
		fmt.Fprint(w, `{"ok":true,"result":{"message_id":815}}`)
	case strings.Contains(r.URL.Path, "/_matrix/"):
		fmt.Fprint(w, `{"event_id":"$first:matrix.example"}`)
	case strings.HasSuffix(r.URL.Path, "/v2/enqueue"):
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, `{"status":"success","dedup_key":"inc_7F"}`)
	case strings.HasSuffix(r.URL.Path, "/messages.json"):
		fmt.Fprint(w, `{"status":1,"request":"647d2300"}`)
	case strings.HasPrefix(r.URL.Path, "/v2/alerts"):
		w.WriteHeader(http.StatusAccepted)
		fmt.Fprint(w, `{"result":"Request will be processed","requestId":"43a29c5c"}`)
	case strings.HasSuffix(r.URL.Path, "/message"):
		fmt.Fprint(w, `{"id":25,"appid":5}`)
	default:
		fmt.Fprint(w, `{"id":"Ab3"}`)
	}
}

// start returns a receiver, its host, and channels that may call it.
func start(t *testing.T, rc *receiver) (host string, c *channel.Channels) {
	t.Helper()
	s := httptest.NewServer(rc)
	t.Cleanup(s.Close)
	host = strings.TrimPrefix(s.URL, "http://")
	guard, err := webhook.NewGuard(host)
	if err != nil {
		t.Fatal(err)
	}
	c = channel.New(channel.Config{Guard: guard, Now: func() time.Time { return now }})
	t.Cleanup(c.Close)
	return host, c
}

// targets are the channels over HTTP of the tests.
var targets = []struct {
	name string
	to   notify.Target
}{
	{"webhook", notify.Target{Kind: notify.ChannelWebhook, URL: "http://HOST/hooks/" + pathPart + "?key=" + password, Secret: signing}},
	{"alertmanager", notify.Target{Kind: notify.ChannelAlertmanager, URL: "http://" + userName + ":" + password + "@HOST/prefix/"}},
	{"ntfy", notify.Target{Kind: notify.ChannelNtfy, URL: "http://:" + password + "@HOST/" + pathPart}},
	{"ntfy-address", notify.Target{Kind: notify.ChannelNtfy, URL: "http://" + userName + ":" + password + "@HOST", Address: "alerts"}},
	{"slack-webhook", notify.Target{Kind: notify.ChannelSlack, URL: "http://HOST/services/" + pathPart}},
	{"slack-bot", notify.Target{Kind: notify.ChannelSlack, URL: "http://:" + password + "@HOST", Address: "C1"}},
	{"teams", notify.Target{Kind: notify.ChannelTeams, URL: "http://HOST/workflows/" + pathPart + "/triggers/manual/paths/invoke?api-version=2016-06-01&sig=" + password}},
	{"telegram", notify.Target{Kind: notify.ChannelTelegram, URL: "http://:" + password + "@HOST", Address: "-100123"}},
	{"matrix", notify.Target{Kind: notify.ChannelMatrix, URL: "http://:" + password + "@HOST", Address: "!room:matrix.example"}},
	{"pagerduty", notify.Target{Kind: notify.ChannelPagerDuty, URL: "http://:" + password + "@HOST"}},
	{"opsgenie", notify.Target{Kind: notify.ChannelOpsgenie, URL: "http://:" + password + "@HOST", Address: "team:Solar"}},
	{"gotify", notify.Target{Kind: notify.ChannelGotify, URL: "http://:" + password + "@HOST/push"}},
	{"pushover", notify.Target{Kind: notify.ChannelPushover, URL: "http://:" + password + "@HOST", Address: "userkey"}},
	{"sms-form", notify.Target{Kind: notify.ChannelSMS, URL: "http://" + userName + ":" + password + "@HOST/2010-04-01/Accounts/AC1/Messages.json?From=%2B1555&To={to}&Body={text}", Address: "+491701"}},
	{"sms-json", notify.Target{Kind: notify.ChannelSMS, URL: "http://:" + password + "@HOST/v1?text={priority}:+{text}&to={to}&site={site}#json", Address: "+491701"}},
	{"sms-get", notify.Target{Kind: notify.ChannelSMS, URL: "http://HOST/send?apikey=" + password + "&to={to}&text={title}#get", Address: "+491701"}},
}

func at(to notify.Target, host string) notify.Target {
	to.URL = strings.Replace(to.URL, "HOST", host, 1)
	return to
}

// TestRequests compares the requests of each channel, for an incident that is raised,
// worsens and ends, and for a report and a test, with golden files.
func TestRequests(t *testing.T) {
	kinds := map[string]bool{notify.ChannelEmail: true}
	for _, target := range targets {
		kinds[target.to.Kind] = true
		t.Run(target.name, func(t *testing.T) {
			rc := &receiver{}
			host, c := start(t, rc)
			to := at(target.to, host)
			if err := c.Check(t.Context(), to); err != nil {
				t.Fatal(err)
			}
			first := raised()
			receipt, err := c.Send(t.Context(), to, first)
			if err != nil {
				t.Fatal(err)
			}
			if !receipt.At.Equal(now) || receipt.Detail == "" {
				t.Errorf("receipt %+v", receipt)
			}
			moderate := first
			moderate.Priority = "moderate"
			report := notify.Message{ID: "ntf_04", Kind: notify.KindReport, At: now, Title: "Yesterday: 412 kWh of 430 kWh forecast", Lines: []string{"No open work."}}
			for _, m := range []notify.Message{
				follows(first, notify.KindUpdate, "ntf_02", "major", "Major: 3 inverters stopped", receipt.Reference),
				follows(first, notify.KindAllClear, "ntf_03", "critical", "All clear: Süd <1> & Nord", receipt.Reference),
				report,
			} {
				if _, err := c.Send(t.Context(), to, m); err != nil {
					t.Errorf("%s: %v", m.Kind, err)
				}
			}
			if _, err := c.Test(t.Context(), to, "ntf_05"); err != nil {
				t.Errorf("test message: %v", err)
			}
			got := fmt.Sprintf("reference: %s\ndetail: %s\n", receipt.Reference, receipt.Detail)
			for _, r := range rc.requests {
				got += "\n-- request --\n" + strings.ReplaceAll(r, host, "HOST")
			}
			golden(t, target.name+".txt", got)
		})
	}
	for _, kind := range notify.ChannelKinds() {
		if !kinds[kind] {
			t.Errorf("no test of channel %s", kind)
		}
	}
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got); d != "" {
		t.Errorf("%s (-want +got):\n%s", file, d)
	}
}

// TestFailures: the status of a response decides whether an error is permanent, and no
// error contains a credential, though the receiver repeats the whole request.
func TestFailures(t *testing.T) {
	type outcome struct {
		permanent bool
		delay     time.Duration
	}
	tests := map[int]outcome{
		301: {permanent: true}, 400: {permanent: true}, 401: {permanent: true}, 403: {permanent: true}, 404: {permanent: true}, 410: {permanent: true}, 422: {permanent: true},
		408: {}, 409: {}, 429: {delay: 90 * time.Second}, 500: {}, 503: {delay: 90 * time.Second},
	}
	for _, target := range targets {
		t.Run(target.name, func(t *testing.T) {
			code, where, say := 0, "", 0
			rc := &receiver{answer: func(w http.ResponseWriter, r *http.Request, body []byte) {
				all := r.URL.String() + " " + fmt.Sprint(r.Header) + " " + string(body)
				texts := []string{all}
				for _, secret := range []string{password, userName, pathPart, signing} {
					if strings.Contains(target.to.URL+target.to.Secret, secret) {
						texts = append(texts, secret, "there is no "+secret+" here", secret[2:])
					}
				}
				if code == 429 || code == 503 {
					w.Header().Set("Retry-After", "90")
				}
				w.Header().Set("Location", r.URL.String())
				w.WriteHeader(code)
				_ = json.NewEncoder(w).Encode(map[string]any{where: texts[say%len(texts)]})
				say++
			}}
			host, c := start(t, rc)
			for status, want := range tests {
				for _, where = range []string{"error", "description", "message", "error", "description", "message"} {
					code = status
					_, err := c.Send(t.Context(), at(target.to, host), raised())
					var later notify.RetryAfter
					errors.As(err, &later)
					if err == nil || errors.Is(err, notify.ErrPermanent) != want.permanent || later.Delay != want.delay {
						t.Fatalf("%d: %v, permanent %v, delay %s", status, err, errors.Is(err, notify.ErrPermanent), later.Delay)
					}
					checkSecrets(t, err, host)
					if !strings.Contains(err.Error(), fmt.Sprint(status)) {
						t.Errorf("%d: %v does not name the status", status, err)
					}
				}
			}
		})
	}
}

func checkSecrets(t *testing.T, err error, host string) {
	t.Helper()
	for _, secret := range []string{password, userName, pathPart, signing, "http://", host} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("the error contains %q: %v", secret, err)
		}
	}
}

// TestReasons: what a service says about a failure is part of the error, if it cannot
// hold a credential.
func TestReasons(t *testing.T) {
	for _, test := range []struct {
		target string
		status int
		answer string
		want   string
		final  bool
		delay  time.Duration
	}{
		{"telegram", 400, `{"ok":false,"error_code":400,"description":"Bad Request: chat not found"}`, "send by telegram: HTTP 400, Bad Request: chat not found", true, 0},
		{"telegram", 429, `{"ok":false,"description":"Too Many Requests: retry after","parameters":{"retry_after":35}}`, "send by telegram: HTTP 429, Too Many Requests: retry after", false, 35 * time.Second},
		{"matrix", 429, `{"errcode":"M_LIMIT_EXCEEDED","error":"Too many requests","retry_after_ms":2500}`, "send by matrix: HTTP 429, Too many requests", false, 2 * time.Second},
		{"matrix", 403, `{"errcode":"M_FORBIDDEN","error":"User @a:b not in room !c:d"}`, "send by matrix: HTTP 403, M_FORBIDDEN: check the credentials of the channel", true, 0},
		{"slack-bot", 200, `{"ok":false,"error":"channel_not_found"}`, "send by slack: the receiver refused the message: channel_not_found", true, 0},
		{"slack-bot", 200, `{"ok":false,"error":"internal_error"}`, "send by slack: the receiver refused the message: internal_error", false, 0},
		{"slack-bot", 200, `{"ok":false,"error":"` + password + `"}`, "send by slack: the receiver refused the message: no reason is given", true, 0},
		{"slack-bot", 200, `<html>sign in</html>`, "send by slack: the response is not the JSON of this service: check the URL of the channel", true, 0},
		{"pushover", 400, `{"user":"invalid","errors":["user identifier is invalid"],"status":0}`, "send by pushover: HTTP 400, user identifier is invalid", true, 0},
		{"pagerduty", 400, `{"status":"invalid event","message":"Event object is invalid","errors":["'routing_key' is missing or blank"]}`, "send by pagerduty: HTTP 400, 'routing_key' is missing or blank", true, 0},
	} {
		rc := &receiver{answer: func(w http.ResponseWriter, _ *http.Request, _ []byte) {
			w.WriteHeader(test.status)
			fmt.Fprint(w, test.answer)
		}}
		host, c := start(t, rc)
		i := slices.IndexFunc(targets, func(x struct {
			name string
			to   notify.Target
		}) bool {
			return x.name == test.target
		})
		_, err := c.Send(t.Context(), at(targets[i].to, host), raised())
		var later notify.RetryAfter
		errors.As(err, &later)
		if err == nil || err.Error() != test.want || errors.Is(err, notify.ErrPermanent) != test.final || later.Delay != test.delay {
			t.Errorf("%s: %v, permanent %v, delay %s; want %s", test.target, err, errors.Is(err, notify.ErrPermanent), later.Delay, test.want)
		}
	}
}

// TestGuard: a channel reaches no private address, whatever its URL or its name says,
// and the refusal is permanent; an unreachable receiver is a temporary error.
func TestGuard(t *testing.T) {
	rc := &receiver{}
	s := httptest.NewServer(rc)
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "http://")
	guard, err := webhook.NewGuard()
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	guard.LookUp = func(context.Context, string) ([]netip.Addr, error) {
		looked++
		if looked%2 == 1 { // the check finds a public address, the connection a private one
			return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
		}
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	c := channel.New(channel.Config{Guard: guard, Now: func() time.Time { return now }})
	defer c.Close()
	for _, target := range targets {
		for _, place := range []string{host, "10.0.0.1", "[::1]", "localhost", "2130706433"} {
			to := at(target.to, place)
			if err := c.Check(t.Context(), to); err == nil {
				t.Errorf("%s: %s is accepted", target.name, place)
			}
			_, err := c.Send(t.Context(), to, raised())
			if err == nil || !errors.Is(err, notify.ErrPermanent) || !strings.Contains(err.Error(), "refused") {
				t.Errorf("%s: %s: %v", target.name, place, err)
			}
		}
		to := at(target.to, "rebind.example.org")
		to.URL = strings.Replace(to.URL, "http://", "https://", 1)
		looked = 0
		_, err := c.Send(t.Context(), to, raised())
		if err == nil || !errors.Is(err, notify.ErrPermanent) || !strings.Contains(err.Error(), "127.0.0.1 is not an address of the public internet") {
			t.Errorf("%s: a name that changes: %v", target.name, err)
		}
	}
	if len(rc.requests) > 0 {
		t.Errorf("%d requests arrived", len(rc.requests))
	}
	gone := httptest.NewServer(rc)
	address := strings.TrimPrefix(gone.URL, "http://")
	gone.Close()
	allowing, err := webhook.NewGuard(address)
	if err != nil {
		t.Fatal(err)
	}
	reach := channel.New(channel.Config{Guard: allowing, Now: func() time.Time { return now }})
	defer reach.Close()
	for _, target := range targets {
		_, err := reach.Send(t.Context(), at(target.to, address), raised())
		if err == nil || errors.Is(err, notify.ErrPermanent) || !strings.Contains(err.Error(), "not reachable") {
			t.Errorf("%s: without a receiver: %v", target.name, err)
		}
	}
}

// TestCheck refuses URLs that no message can be sent to, without repeating them.
func TestCheck(t *testing.T) {
	host, c := start(t, &receiver{})
	for _, test := range []struct{ kind, url, want, secret string }{
		{kind: "fax", url: "https://x.example.org", want: `channel kind "fax" is none of`},
		{kind: notify.ChannelEmail, url: "https://" + password + ".example.org", want: "it has no URL"},
		{kind: notify.ChannelTelegram, url: "http://" + host, want: "lacks the token of the bot"},
		{kind: notify.ChannelMatrix, url: "http://" + userName + "@" + host, want: "lacks the access token"},
		{kind: notify.ChannelWebhook, url: "http://" + host + "/#" + password, want: "has a fragment"},
		{kind: notify.ChannelWebhook, url: "://" + password, want: "not a URL with a host"},
		{kind: notify.ChannelSMS, url: "http://" + host + "/send?text=" + password, want: "no parameter with {to} and {text}"},
		{kind: notify.ChannelSMS, url: "http://" + host + "/send?text={text}&to={to}#xml", want: "none of #form, #json, #get"},
		{kind: notify.ChannelNtfy, want: "url: it is missing, such as https://:TOKEN@ntfy.sh/TOPIC"},
		{kind: notify.ChannelWebhook, url: "http://" + host + "/hook", want: "secret: it is missing"},
		{kind: notify.ChannelWebhook, url: "http://" + host + "/hook", secret: "whsec_" + password + "!", want: "secret: it is not whsec_"},
		{kind: notify.ChannelNtfy, url: "http://" + host + "/topic", secret: password, want: "secret: only a webhook has one"},
		{kind: notify.ChannelGotify, url: "ftp://:" + password + "@ftp.example.org", want: "its scheme is not https"},
	} {
		to := notify.Target{ChannelID: "x", Kind: test.kind, URL: test.url, Secret: test.secret}
		err := c.Check(t.Context(), to)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", test.kind, err, test.want)
			continue
		}
		checkSecrets(t, err, host)
	}
	for kind, address := range map[string]string{notify.ChannelEmail: "Ana <ana@example.org>", notify.ChannelTelegram: "", notify.ChannelSMS: "+49\r\n170", "fax": "1"} {
		if err := c.CheckAddress(kind, address); err == nil {
			t.Errorf("%s: address %q is accepted", kind, address)
		}
	}
}

// TestSignature verifies the signature of a webhook, and refuses one without a secret.
func TestSignature(t *testing.T) {
	var signature, id, stamp string
	var received []byte
	rc := &receiver{answer: func(_ http.ResponseWriter, r *http.Request, _ []byte) {
		signature, id, stamp = r.Header.Get(webhook.HeaderSignature), r.Header.Get(webhook.HeaderID), r.Header.Get(webhook.HeaderTimestamp)
	}}
	host, _ := start(t, rc)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		received, _ = io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(received))
		rc.ServeHTTP(w, r)
	}))
	defer s.Close()
	to := at(targets[0].to, host)
	guard, err := webhook.NewGuard(strings.TrimPrefix(s.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	c := channel.New(channel.Config{Guard: guard, Now: func() time.Time { return now }})
	defer c.Close()
	to.URL = s.URL
	m := raised()
	m.ChartPNG, m.HTML = []byte("picture"), "<p>"
	if _, err := c.Send(t.Context(), to, m); err != nil {
		t.Fatal(err)
	}
	want, err := webhook.Sign([]string{signing}, m.ID, now, received)
	if err != nil || signature != want || id != m.ID || stamp != fmt.Sprint(now.Unix()) {
		t.Errorf("signature %q of %s at %s, want %q, %v", signature, id, stamp, want, err)
	}
	if bytes.Contains(received, []byte("chart_png")) || bytes.Contains(received, []byte(`"html"`)) {
		t.Errorf("body %s", received)
	}
	to.Secret = ""
	if _, err := c.Send(t.Context(), to, m); !errors.Is(err, notify.ErrPermanent) {
		t.Errorf("without a secret: %v", err)
	}
}

// mailer is a mail server that answers with an error.
type mailer struct {
	sent []mail.Message
	err  error
}

func (m *mailer) Send(_ context.Context, message mail.Message) error {
	m.sent = append(m.sent, message)
	return m.err
}

// TestMailFailures: errors of the mail server say whether they are permanent, without
// its words.
func TestMailFailures(t *testing.T) {
	m := &mailer{}
	c := channel.New(channel.Config{Mailer: m, Guard: &webhook.Guard{}, Now: func() time.Time { return now }})
	to := notify.Target{Kind: notify.ChannelEmail, Address: "ana@example.org"}
	for _, test := range []struct {
		err   error
		want  string
		final bool
	}{
		{fmt.Errorf("%w: %s", mail.ErrRefused, password), "the mail server refused the message", true},
		{fmt.Errorf("x: %w: %s", mail.ErrCredentials, password), "the mail server refuses the user or the password", false},
		{errors.New("dial " + password), "not reachable", false},
	} {
		m.err = test.err
		_, err := c.Send(t.Context(), to, raised())
		if err == nil || !strings.Contains(err.Error(), test.want) || errors.Is(err, notify.ErrPermanent) != test.final {
			t.Errorf("%v: %v", test.err, err)
			continue
		}
		checkSecrets(t, err, "no host")
	}
	m.err = nil
	var drawn []string
	c = channel.New(channel.Config{Mailer: m, Guard: &webhook.Guard{}, Now: func() time.Time { return now }, Chart: func(_ context.Context, site string, at time.Time) ([]byte, error) {
		drawn = append(drawn, site+" "+at.Format(time.DateOnly))
		if len(drawn) > 1 {
			return nil, errors.New("there is no chart")
		}
		return []byte("picture"), nil
	}})
	for _, m := range []notify.Message{raised(), raised(), channel.NewTestMessage("ntf_9", now)} {
		if _, err := c.Send(t.Context(), to, m); err != nil {
			t.Error(err)
		}
	}
	sent := m.sent[len(m.sent)-3:]
	if want := []string{"south 2026-06-21", "south 2026-06-21"}; !slices.Equal(drawn, want) || len(sent[0].Pictures) != 1 || len(sent[1].Pictures)+len(sent[2].Pictures) != 0 {
		t.Errorf("drew %v; pictures %d, %d, %d", drawn, len(sent[0].Pictures), len(sent[1].Pictures), len(sent[2].Pictures))
	}
	to.Address = "ana@example.org\r\nBcc: all@example.org"
	if _, err := c.Send(t.Context(), to, raised()); !errors.Is(err, notify.ErrPermanent) {
		t.Errorf("address with a line break: %v", err)
	}
	if _, err := channel.New(channel.Config{Guard: &webhook.Guard{}, Now: time.Now}).Send(t.Context(), notify.Target{Kind: notify.ChannelEmail, Address: "a@example.org"}, raised()); !errors.Is(err, notify.ErrPermanent) {
		t.Errorf("without a mail server: %v", err)
	}
}
