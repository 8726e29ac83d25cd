package main

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// The log of consoles over SSH says how to create the first user, until there is one.
func TestNoUserOverSSH(t *testing.T) {
	service, err := backend.New(backend.Config{DataDir: t.TempDir(), Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	logged := func() string {
		var b strings.Builder
		warnOfNoUser(t.Context(), service, slog.New(slog.NewTextHandler(&b, nil)))
		return b.String()
	}
	if got := logged(); !strings.Contains(got, "sunloop admin user add") {
		t.Errorf("without a user the log is %q", got)
	}
	if _, err := service.Auth().CreateUser(t.Context(), auth.NewUser{Username: "ana", Password: sshPassword, Role: api.RoleAdmin, Customers: []string{"*"}}); err != nil {
		t.Fatal(err)
	}
	if got := logged(); got != "" {
		t.Errorf("with a user the log is %q", got)
	}
}
