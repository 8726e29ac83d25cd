package client_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

func TestTrust(t *testing.T) {
	asked := 0
	s := httptest.NewUnstartedServer(handler(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		writeJSON(w, 200, api.Done{Success: true})
	}))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	sum := sha256.Sum256(s.Certificate().Raw)
	pin := hex.EncodeToString(sum[:])
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	other := strings.Repeat("ab", 32)
	localhost := strings.Replace(s.URL, "127.0.0.1", "localhost", 1) // which the certificate does not name
	for name, c := range map[string]struct {
		trust client.Trust
		url   string
		why   string // empty: trusted
	}{
		"the system's authorities":      {client.Trust{}, s.URL, "unknown authority"},
		"the fingerprint":               {client.Trust{Fingerprint: pin}, s.URL, ""},
		"the fingerprint, another name": {client.Trust{Fingerprint: pin}, localhost, ""},
		"another fingerprint":           {client.Trust{Fingerprint: other}, s.URL, "not the one with the fingerprint " + other},
		"the authority":                 {client.Trust{Authorities: authority}, s.URL, ""},
		"the authority, another name":   {client.Trust{Authorities: authority}, localhost, "not localhost"},
		"the accepted one":              {client.Trust{Known: func() string { return pin }}, s.URL, ""},
		"the accepted one, other name":  {client.Trust{Known: func() string { return pin }, Host: "localhost"}, localhost, ""},
		"another was accepted":          {client.Trust{Known: func() string { return other }}, s.URL, "has changed from sha256 " + other},
		"none was accepted":             {client.Trust{Known: func() string { return "" }, Host: "127.0.0.1"}, s.URL, "unknown authority"},
		"both":                          {client.Trust{Authorities: authority, Fingerprint: pin}, s.URL, ""},
		"the authority, another pin":    {client.Trust{Authorities: authority, Fingerprint: other}, s.URL, "not the one with the fingerprint " + other},
	} {
		cfg, err := c.trust.Config()
		if err != nil {
			t.Fatal(err)
		}
		asked = 0
		cl := client.New(client.Options{BaseURL: c.url, Credential: "key", TLS: cfg})
		err = cl.Ready(t.Context())
		cl.Close()
		if c.why == "" {
			if err != nil || asked != 1 {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var untrusted *client.CertificateError
		if !errors.As(err, &untrusted) || untrusted.Fingerprint != pin || untrusted.Service != c.url || !strings.Contains(err.Error(), c.why) || asked != 0 {
			t.Errorf("%s: %v, asked %d times", name, err, asked)
		}
	}
	for _, bad := range []client.Trust{{Fingerprint: "ab"}, {Fingerprint: pin + "00"}, {Fingerprint: strings.Repeat("x", 64)}, {Authorities: []byte("no PEM")}, {Authorities: []byte{}}} {
		if _, err := bad.Config(); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
