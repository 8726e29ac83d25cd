package tui

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"app.sunloop/backend/client"
	"app.sunloop/tui/internal/plant"
)

// secured is a console over TLS to a service whose certificate no authority has signed.
type secured struct {
	*world
	pin      string   // SHA-256 of the certificate
	known    string   // that of the accepted one
	accepted []string // as they were kept
	asked    int      // requests that reached the service
}

func secure(t *testing.T, known, credential string) *secured {
	t.Helper()
	s := &secured{known: known}
	var service *plant.Service
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked++
		service.ServeHTTP(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	sum := sha256.Sum256(server.Certificate().Raw)
	s.pin = hex.EncodeToString(sum[:])
	trust, err := client.Trust{Known: func() string { return s.known }, Host: "127.0.0.1"}.Config()
	if err != nil {
		t.Fatal(err)
	}
	s.world = start(t, 120, 36, func(o *Options, plants *plant.Service) {
		service = plants
		if credential == "" {
			o.User = nil
		}
		o.Client = client.New(client.Options{BaseURL: server.URL, Credential: credential, TLS: trust})
		o.CertificatesFile = "/home/anna/.config/sunloop/known_services"
		o.AcceptCertificate = func(fingerprint string) error {
			s.accepted, s.known = append(s.accepted, fingerprint), fingerprint
			return nil
		}
	})
	return s
}

// digits is the screen without its spaces and frames.
func (s *secured) digits() string {
	return strings.NewReplacer(" ", "", "\n", "", "│", "").Replace(s.text())
}

// A service with an unknown certificate is shown with its fingerprint before anything is
// sent to it, and is asked once the certificate is accepted.
func TestUnknownCertificateIsAsked(t *testing.T) {
	for name, tt := range map[string]struct{ credential, then string }{
		"signed in": {"token", "Sibaya"}, "signed out": {"", "Sign in"},
	} {
		s := secure(t, "", tt.credential)
		s.shows("Unknown certificate", "is not trusted", "unknown authority", "sunloop tls", "/home/anna/.config/sunloop/known_services", "[ leave ]")
		if !strings.Contains(s.digits(), s.pin) {
			t.Errorf("%s: the fingerprint %s is not shown:\n%s", name, s.pin, s.text())
		}
		s.pass(30)
		if s.asked > 0 || len(s.accepted) > 0 || s.m.session.signIn != nil {
			t.Errorf("%s: %d requests, accepted %v", name, s.asked, s.accepted)
		}
		s.press("tab", "enter")
		s.pass(5)
		s.shows(tt.then)
		s.hides("Unknown certificate")
		if len(s.accepted) != 1 || s.accepted[0] != s.pin {
			t.Errorf("%s: accepted %v", name, s.accepted)
		}
	}
	for _, key := range []string{"enter", "esc"} { // the harmless answer is marked
		s := secure(t, "", "token")
		if s.press(key); !s.quit || len(s.accepted) > 0 {
			t.Errorf("%s: quit %v, accepted %v", key, s.quit, s.accepted)
		}
	}
}

// A certificate that has changed is refused: no key accepts it.
func TestChangedCertificateIsRefused(t *testing.T) {
	former := strings.Repeat("ab", 32)
	s := secure(t, former, "token")
	s.shows("The certificate has changed", "The connection may be intercepted", "Nothing was sent", "known_services")
	s.hides("accept the certificate")
	if all := s.digits(); !strings.Contains(all, s.pin) || !strings.Contains(all, former) {
		t.Errorf("the fingerprints are not shown:\n%s", s.text())
	}
	s.press("tab", "right", "y")
	s.pass(5)
	if s.asked > 0 || s.quit {
		t.Errorf("%d requests, quit %v", s.asked, s.quit)
	}
	s.press("tab", "enter")
	if !s.quit || len(s.accepted) > 0 || s.asked > 0 {
		t.Errorf("quit %v, accepted %v, %d requests", s.quit, s.accepted, s.asked)
	}
}
