//go:build gateway

package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestGatewayRefuses: each flag and command that needs what the build leaves out
// ends with one sentence, before a data folder is made.
func TestGatewayRefuses(t *testing.T) {
	file := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(file, []byte("postgres://db/sunloop"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ line, want string }{
		{"serve --listen 127.0.0.1:0 --store postgres://sunloop@db/sunloop", "--store: this build of Sunloop (gateway) has no PostgreSQL"},
		{"admin check --store-file " + file, "--store-file: this build of Sunloop (gateway) has no PostgreSQL"},
		{"serve --listen 127.0.0.1:0 --objects s3://bucket/folder", "--objects: this build of Sunloop (gateway) has no S3 buckets"},
		{"serve --listen 127.0.0.1:0 --import-from s3://bucket/exports", "this build of Sunloop (gateway) has no S3 buckets"},
		{"serve --listen 127.0.0.1:0 --otlp http://127.0.0.1:4318", "--otlp: this build of Sunloop (gateway) has no traces"},
		{"admin migrate --to postgres://sunloop@db/sunloop", "admin migrate: this build of Sunloop (gateway) has no PostgreSQL"},
	} {
		var out, errs bytes.Buffer
		args := append(strings.Fields(tt.line), "--data", filepath.Join(t.TempDir(), "data"))
		if status := run(context.Background(), args, streams{os.Stdin, &out, &errs}); status == 0 {
			t.Errorf("%s: exit status 0", tt.line)
		}
		if got := errs.String(); !strings.Contains(got, tt.want) || strings.Count(got, "\n") != 1 {
			t.Errorf("%s: %q, want %q", tt.line, got, tt.want)
		}
	}
}

// TestGatewayWorks imports a file into a data folder and reads it back.
func TestGatewayWorks(t *testing.T) {
	dir := t.TempDir()
	var csv strings.Builder
	csv.WriteString("time,power (kW)\n")
	for at := time.Now().UTC().Truncate(time.Hour).Add(-72 * time.Hour); at.Before(time.Now()); at = at.Add(15 * time.Minute) {
		csv.WriteString(at.Format("2006-01-02 15:04") + "," + map[bool]string{true: "20", false: "0"}[at.Hour() > 6 && at.Hour() < 18] + "\n")
	}
	file := filepath.Join(dir, "export.csv")
	if err := os.WriteFile(file, []byte(csv.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(dir, "data")
	output(t, "import", file, "--site", "roof", "--tz", "UTC", "--capacity-kw", "25", "--location", "48,16", "--data", data)
	if got := output(t, "status", "--site", "roof", "--data", data); !strings.Contains(got, "roof") {
		t.Errorf("%q", got)
	}
	output(t, "admin", "check", "--data", data)
}

// TestGatewayLeavesOut looks for the modules that the build is made without.
func TestGatewayLeavesOut(t *testing.T) {
	out, err := exec.Command("go", "list", "-tags", "gateway", "-deps", "app.sunloop/cmd/sunloop").Output()
	if err != nil {
		t.Fatal(err)
	}
	for pkg := range strings.Lines(string(out)) {
		for _, prefix := range []string{"github.com/jackc/", "github.com/riverqueue/", "github.com/aws/", "github.com/pressly/", "go.opentelemetry.io/otel/exporters"} {
			if strings.HasPrefix(pkg, prefix) {
				t.Errorf("the build has %s", pkg)
			}
		}
	}
}
