package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// documented is the first block of a language behind a heading of a page.
func documented(t *testing.T, page, heading, language string) string {
	t.Helper()
	b, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(b), "\n## "+heading+"\n")
	_, rest, ok2 := strings.Cut(rest, "\n```"+language+"\n")
	block, _, ok3 := strings.Cut(rest, "\n```\n")
	if !ok || !ok2 || !ok3 {
		t.Fatalf("%s has no %s under %q", page, language, heading)
	}
	return block
}

// TestDocumentedProviders: the service takes the example of docs/api.md.
func TestDocumentedProviders(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.toml")
	if err := os.WriteFile(path, []byte(documented(t, "../../docs/api.md", "Signing in by an identity provider", "toml")), 0o600); err != nil {
		t.Fatal(err)
	}
	var f configFile
	if err := f.load(path, true); err != nil {
		t.Fatal(err)
	}
	want := []auth.Provider{
		{Name: "company", Issuer: "https://login.example.com/realms/solar", ClientID: "sunloop", UsernameClaim: "preferred_username",
			Provision: &auth.Provision{Role: api.RoleAnalyst, RoleClaim: "sunloop_role", Customers: []string{"acme"}, CustomersClaim: "sunloop_customers"}},
		{Name: "partner", Issuer: "https://accounts.example.org", ClientID: "8f1c", UsernameClaim: "email", KeepApart: true,
			Provision: &auth.Provision{Role: api.RoleTechnician, Customers: []string{"acme", "borealis"}}},
	}
	if d := cmp.Diff(want, f.Providers); d != "" {
		t.Error(d)
	}
	service, err := backend.New(backend.Config{DataDir: t.TempDir(), Now: time.Now, Providers: f.Providers})
	if err != nil {
		t.Fatal(err)
	}
	if err := service.Close(); err != nil {
		t.Error(err)
	}
}

// TestLivesOfTokensAndKeys: what the flags say reaches the service.
func TestLivesOfTokensAndKeys(t *testing.T) {
	for age, want := range map[time.Duration]time.Duration{0: -1, 48 * time.Hour: 48 * time.Hour} {
		g := &Globals{Data: t.TempDir(), file: configFile{Providers: []auth.Provider{{Name: "company", Issuer: "https://login.example.com", ClientID: "c"}}}}
		cfg, err := ServiceFlags{OutsideFlags: OutsideFlags{MaxUpload: 2048}, TokenLifetime: 2 * time.Hour, SigningKeyAge: age}.config(g, nil, time.Now)
		if err != nil || cfg.SigningKeyAge != want || len(cfg.Providers) != 1 {
			t.Fatalf("%+v, %v", cfg, err)
		}
		service, err := backend.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := service.Auth().CreateFirstAdmin(t.Context(), "boss", "correct horse battery", ""); err != nil {
			t.Error(err)
		}
		if r, err := service.Auth().Login(t.Context(), "boss", "correct horse battery", ""); err != nil || r.ExpiresIn != 7200 {
			t.Errorf("a token for %d s, %v", r.ExpiresIn, err)
		}
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	}
}
