package backend

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/backup"
	"app.sunloop/backend/client"
	"app.sunloop/backend/mail"
	"app.sunloop/backend/openmeteo"
	"app.sunloop/backend/store/storetest"
	"app.sunloop/backend/tracing"
	"app.sunloop/engine/solar"
)

// overheard keeps the answers that refuse something.
type overheard struct {
	http.RoundTripper
	mu       sync.Mutex
	refusals strings.Builder
	count    int
}

func (o *overheard) RoundTrip(q *http.Request) (*http.Response, error) {
	r, err := o.RoundTripper.RoundTrip(q)
	if err != nil || r.StatusCode < http.StatusBadRequest {
		return r, err
	}
	b, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(b))
	o.mu.Lock()
	defer o.mu.Unlock()
	o.count++
	_ = r.Header.Write(&o.refusals)
	o.refusals.Write(b)
	return r, err
}

// breaking is a body that makes who reads it panic after its text, once: nothing
// catches who reads what a handler left of it.
type breaking struct {
	io.Reader
	broke bool
}

func (b *breaking) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if errors.Is(err, io.EOF) && !b.broke {
		b.broke = true
		panic("the body breaks down")
	}
	return n, err
}

// quoting answers each request with a refusal that says what was asked, as
// services do that mean well.
func quoting(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(map[string]any{"error": true, "reason": q.URL.RawQuery + q.Header.Get("Authorization")})
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestNoSecretIsRevealed uses every kind of secret at a whole service that logs all
// it can, and looks for them in everything that it reports or stores: log, journal, audit
// trail, refusals, metrics, traces, a backup and the bytes of the data folder.
// Letters in the outbox hold codes, as they must; nothing else may.
func TestNoSecretIsRevealed(t *testing.T) {
	ctx := t.Context()
	elsewhere := quoting(t)
	logged, traced := &lines{}, &spans{}
	log := slog.New(slog.NewJSONHandler(logged, &slog.HandlerOptions{Level: slog.LevelDebug, AddSource: true}))
	collector := httptest.NewServer(traced)
	defer collector.Close()
	tracer, err := tracing.Open(ctx, tracing.Config{Endpoint: collector.URL, Now: time.Now, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	place, calls := endpoint(t)
	secrets := map[string]string{
		"password": "canary-password-1", "wrong password": "canary-password-2", "new password": "canary-password-3", "password of a body that breaks off": "canary-password-4",
		"weather key": "canary-weather-key", "SMTP password": "canary-smtp-password", "passphrase": "canary-passphrase", "external token": "canary.external.token",
		"password of a callback": "canary-callback-userinfo", "credential in a query": "canary-query-credential", "challenge": "canary-challenge",
	}
	const callbackToken = "canary-callback-token"
	now := time.Date(2026, 6, 15, 9, 0, 0, 0, time.UTC)
	sky, err := openmeteo.New(openmeteo.Config{ForecastURL: elsewhere, ArchiveURL: elsewhere, APIKey: secrets["weather key"]})
	if err != nil {
		t.Fatal(err)
	}
	h := open(t, Config{
		DataDir: t.TempDir(), Now: func() time.Time { return now }, Wall: time.Now, Logger: log, Tracer: tracer, Metrics: true, LogRequests: true, RequireMFA: true,
		Weather: sky, WebhookAllow: []string{place.Listener.Addr().String(), "127.0.0.1:9"},
		Providers: []auth.Provider{{Name: "company", Issuer: elsewhere, ClientID: "sunloop"}},
	})
	secrets["key of the operator"] = h.key
	answers := &overheard{RoundTripper: client.InProcess(h.service.Handler())}
	dial := func(credential string) *client.Client {
		c := client.New(client.Options{Transport: answers, Credential: credential, Now: time.Now})
		t.Cleanup(c.Close)
		return c
	}
	root := dial(h.key)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	refused := func(err error, status int) {
		t.Helper()
		var e *api.Error
		if !errors.As(err, &e) || e.Status != status {
			t.Errorf("%v where HTTP %d was due", err, status)
		}
	}

	// A person, from the first password to the last token.
	once := client.WithIdempotencyKey
	user, err := root.AddUser(once(ctx, "user"), api.UsersRequest{Username: "ana", Password: secrets["password"], RoleID: api.RoleAdmin, CustomerIDs: []string{api.Every}})
	must(err)
	ana := dial("")
	_, err = ana.Login(ctx, "ana", secrets["wrong password"])
	refused(err, http.StatusUnauthorized)
	begun, err := ana.Login(ctx, "ana", secrets["password"])
	must(err)
	device, err := otp.NewKeyFromURL(begun.ProvisioningURI)
	must(err)
	code, err := totp.GenerateCode(device.Secret(), time.Now())
	must(err)
	in, err := ana.VerifyMFA(ctx, begun.MFAToken, code)
	must(err)
	secrets["secret of the authenticator"], secrets["token of the challenge"], secrets["first token"] = device.Secret(), begun.MFAToken, in.Token
	for i, text := range in.RecoveryCodes {
		secrets["recovery code "+string(rune('0'+i))] = text
	}
	again, err := ana.Login(ctx, "ana", secrets["password"])
	must(err)
	secrets["token of the second challenge"] = again.MFAToken
	_, err = ana.VerifyMFA(ctx, again.MFAToken, in.RecoveryCodes[0])
	must(err)
	secrets["second token"] = ana.Credential()
	_, err = ana.Refresh(ctx)
	must(err)
	secrets["third token"] = ana.Credential()
	// A handler that panics while it holds a session's token, which must be valid for the body to be read.
	panics := func(path, credential string) {
		t.Helper()
		q := httptest.NewRequest(http.MethodPost, path, &breaking{Reader: strings.NewReader(`{"username":"ana","password":"` + secrets["password of a body that breaks off"] + `"`)})
		q.Header.Set("Content-Type", "application/json")
		if credential != "" {
			q.Header.Set("Authorization", "Bearer "+credential)
		}
		w := httptest.NewRecorder()
		h.service.Handler().ServeHTTP(w, q)
		if w.Code != http.StatusInternalServerError {
			t.Errorf("%s answers a panic with %d", path, w.Code)
		}
		answers.refusals.Write(w.Body.Bytes())
	}
	panics(api.PathKeys, secrets["third token"])
	w := httptest.NewRecorder()
	q := httptest.NewRequest(http.MethodPost, api.PathKeys+"?api_key="+secrets["credential in a query"], strings.NewReader("{}"))
	q.Header.Set("Authorization", "Bearer "+secrets["third token"])
	q.Header.Set("Content-Type", "application/json")
	if h.service.Handler().ServeHTTP(w, q); w.Code != http.StatusBadRequest {
		t.Errorf("a credential in a query is answered with %d", w.Code)
	}
	answers.refusals.Write(w.Body.Bytes())
	_, err = dial(secrets["second token"]).Refresh(ctx)
	refused(err, http.StatusUnauthorized)
	_, err = ana.VerifyMFA(ctx, secrets["challenge"], "123456")
	refused(err, http.StatusUnauthorized)
	if _, err = ana.Exchange(ctx, api.ExchangeRequest{Provider: "company", ExternalToken: secrets["external token"]}); err == nil {
		t.Error("a wild token is exchanged")
	}
	_, err = root.ResetPassword(ctx, user.UserID, secrets["new password"])
	must(err)
	made, err := root.CreateKey(once(ctx, "key"), api.KeysRequest{Name: "k", PermittedSiteIDs: []string{api.Every}})
	must(err)
	rotated, err := root.RotateKey(once(ctx, "rotation"), api.KeysRequest{APIKeyID: made.APIKeyID})
	must(err)
	secrets["key"], secrets["rotated key"] = made.APIKey, rotated.APIKey
	_, err = root.APIKeyInfo(ctx, made.APIKey)
	must(err)

	// Webhooks: one that is delivered, one that is never accepted, one that is refused.
	order := worksite(t, h)
	good, err := root.Subscribe(once(ctx, "hook"), order, place.URL+"/?token="+callbackToken)
	must(err)
	_, err = root.Subscribe(ctx, order, "http://127.0.0.1:9/"+callbackToken+"?token="+callbackToken)
	must(err)
	for _, bad := range []string{"https://u:" + secrets["password of a callback"] + "@hooks.example.org/", "https://10.0.0.1/" + callbackToken + "?token=" + callbackToken} {
		_, err = root.Subscribe(ctx, order, bad)
		refused(err, http.StatusBadRequest)
	}
	newer, err := root.RotateSecret(ctx, good.SubscriptionID)
	must(err)
	secrets["webhook secret"], secrets["newer webhook secret"] = good.Secret, newer.Secret
	_, err = root.MoveOrder(ctx, api.OrderRequest{Action: api.ActionComplete, OrderID: order, CompletionNotes: "Fan replaced"})
	must(err)
	<-calls

	// A weather service that quotes the key; what fails is logged as the pipeline does.
	_, err = sky.Archive(ctx, solar.Location{LatitudeDeg: 47, LongitudeDeg: 15}, now.AddDate(0, 0, -20), now.AddDate(0, 0, -10))
	if err == nil || !strings.Contains(err.Error(), "apikey=…") {
		t.Errorf("the weather service's reason: %v", err)
	}
	log.Warn("weather unavailable, using climatology", "error", err)

	// Letters: into the outbox, and to a server that does not answer.
	_, err = dial("").FreemiumVerify(ctx, "ana@example.org")
	must(err)
	outbox := filepath.Join(h.cfg.DataDir, "outbox")
	messages, err := filepath.Glob(filepath.Join(outbox, "*.eml"))
	if err != nil || len(messages) != 1 {
		t.Fatal(messages, err)
	}
	message, err := os.ReadFile(messages[0])
	must(err)
	found := regexp.MustCompile(`(?m)^ +([0-9]{6})\r?$`).FindSubmatch(message)
	if found == nil {
		t.Fatalf("no code in %s", message)
	}
	emailCode := regexp.MustCompile(`(^|[^0-9A-Za-z.+/-])` + string(found[1]) + `([^0-9A-Za-z.+/-]|$)`)
	_, err = dial("").FreemiumForecast(ctx, api.FreemiumRequest{Email: "ana@example.org", VerificationCode: string(found[1]), SiteName: "Roof", Location: "Durban", CapacityKW: 50, TOUAccepted: true}, strings.NewReader("no table"), nil)
	refused(err, http.StatusBadRequest)
	server, err := mail.ParseServer("smtp://sunloop:"+secrets["SMTP password"]+"@127.0.0.1:9?tls=plain", "", "Sunloop <forecasts@plant.example>")
	must(err)
	second := open(t, Config{DataDir: t.TempDir(), Now: time.Now, Logger: log, SMTP: &server})
	unsent := client.New(client.Options{Transport: &overheard{RoundTripper: client.InProcess(second.service.Handler())}, Now: time.Now})
	defer unsent.Close()
	_, err = unsent.FreemiumVerify(ctx, "ben@example.org")
	refused(err, http.StatusServiceUnavailable)
	if _, err := mail.ParseServer("smtp://sunloop:"+secrets["SMTP password"]+"@%zz", "", ""); err == nil || strings.Contains(err.Error(), secrets["SMTP password"]) {
		t.Errorf("a wrong address of a mail server: %v", err)
	}

	// Handlers that panic while they hold a password or a key.
	panics(api.PathLogin, "")
	panics(api.PathUsers, h.key)

	// Output of the service.
	var trail []api.AuditRecord
	for q := (api.AuditRequest{}); ; {
		part, err := root.Audit(ctx, q)
		must(err)
		trail = append(trail, part.Records...)
		if q.Cursor = part.NextCursor; q.Cursor == "" {
			break
		}
	}
	written, err := json.Marshal(trail)
	must(err)
	journal, err := root.Log(ctx, api.LogRequest{Page: api.Page{Limit: 1000}})
	must(err)
	kept, err := json.Marshal(journal)
	must(err)
	metrics := scraped(t, h.service)
	var copied bytes.Buffer
	e, err := backup.Encrypt(&copied, secrets["passphrase"])
	must(err)
	_, err = h.service.Admin().Backup(ctx, e)
	must(errors.Join(err, e.Close()))
	waitFor(t, "both webhooks", func() bool {
		return strings.Contains(logged.text(), `"outcome":"failed"`) && strings.Contains(logged.text(), `"outcome":"delivered"`)
	})
	h.restart() // pending writes are on the disk
	must(tracer.Close())
	texts := map[string]string{"the log": logged.text(), "the trail": string(written), "the journal": string(kept), "a refusal": answers.refusals.String(), "metrics": metrics, "traces": traced.raw.String(), "a sealed backup": copied.String()}
	for where, least := range map[string]string{"the log": "the body breaks down", "the trail": `"status":500`, "the journal": "the body breaks down", "a refusal": "error", "metrics": "sunloop_", "traces": "login", "a sealed backup": "age-encryption"} {
		if !strings.Contains(texts[where], least) {
			t.Errorf("%s does not even hold %q", where, least)
		}
	}
	if answers.count < 7 {
		t.Errorf("%d refusals were read", answers.count)
	}
	atRest, err := storetest.Bytes(h.cfg.DataDir, second.cfg.DataDir)
	must(err)
	if len(atRest[filepath.Join(h.cfg.DataDir, backup.Database)]) == 0 {
		t.Error("the records are not read")
	}
	for where, text := range atRest {
		if !strings.HasPrefix(where, outbox) && emailCode.MatchString(text) {
			t.Errorf("the code of a message lies open in %s", where)
		}
		texts[where] = text
	}
	for where, text := range texts {
		for what, secret := range secrets {
			if storetest.Reveals(text, secret) {
				t.Errorf("the %s is in %s", what, where)
			}
		}
		if _, records := atRest[where]; !records && (strings.Contains(text, callbackToken) || emailCode.MatchString(text)) {
			t.Errorf("a callback's token or a message's code is in %s", where)
		}
	}
}
