//go:build !windows

package main

import (
	"bufio"
	"crypto/tls"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// TestFilesArePrivate: under a umask that takes nothing away, what the
// program makes is its owner's alone.
func TestFilesArePrivate(t *testing.T) {
	base := t.TempDir()
	home := filepath.Join(base, "home")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	defer syscall.Umask(syscall.Umask(0)) // the processes begun here have it too
	data := filepath.Join(home, "data")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	command := func(in string, args ...string) string {
		t.Helper()
		c := program(t, home, append(args, "--data", data)...)
		c.Stdin = strings.NewReader(in)
		out, err := c.CombinedOutput()
		if err != nil {
			t.Fatalf("sunloop %s: %v\n%s", strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	command("correct horse battery\n", "admin", "user", "add", "ana", "--customers", "acme")
	key := regexp.MustCompile(`opa_prod_\S+`).FindString(command("", "admin", "key", "create", "portal", "--customers", "acme"))
	meter := "time,power_kw\n2026-01-01 10:00,1\n2026-01-01 10:15,2\n2026-01-01 10:30,3\n2026-01-01 10:45,3\n"
	must(os.WriteFile(filepath.Join(base, "meter.csv"), []byte(meter), 0o600))
	command("", "import", filepath.Join(base, "meter.csv"), "--site", "roof", "--tz", "Europe/Berlin", "--capacity-kw", "20", "--location", "52.5,13.4")

	// A service with all its listeners.
	serve := program(t, home, "serve", "--listen", "127.0.0.1:0", "--tls", "self", "--ssh", "127.0.0.1:0", "--data", data)
	said, err := serve.StderrPipe()
	must(err)
	must(serve.Start())
	end := sync.OnceFunc(func() {
		_ = serve.Process.Kill()
		_ = serve.Wait()
	})
	defer end()
	at := ""
	served := regexp.MustCompile(`"address":"(https://[^"]+)"`)
	for lines := bufio.NewScanner(said); at == "" && lines.Scan(); {
		if m := served.FindStringSubmatch(lines.Text()); m != nil {
			at = m[1]
		}
	}
	if at == "" {
		t.Fatal("the service does not report its address")
	}
	go func() { _, _ = io.Copy(io.Discard, said) }()
	c := client.New(client.Options{BaseURL: at, Credential: key, TLS: &tls.Config{InsecureSkipVerify: true}})
	defer c.Close()
	_, err = c.UploadTrain(t.Context(), api.UploadRequest{CustomerID: "acme", SiteID: "shed", Region: "eu", Location: "47.07,15.44", Timezone: "UTC", CapacityKW: 50, Filename: "a.csv"}, strings.NewReader(meter), nil)
	must(err)
	_, err = c.FreemiumVerify(t.Context(), "ana@example.org")
	must(err)
	command("", "admin", "backup", filepath.Join(home, "copy.tar.zst"))
	end()
	command("", "admin", "compact")
	restored := program(t, home, "admin", "restore", filepath.Join(home, "copy.tar.zst"), "--data", filepath.Join(home, "again"))
	if text, err := restored.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}

	// What the console keeps.
	_, _, f, err := (&Globals{LogLevel: "info"}).consoleLog(data)
	must(err)
	must(f.Close())
	must(sessions{path: filepath.Join(home, "state", "sessions.json")}.keep("https://example.org", "token"))
	must(writePrivate(filepath.Join(home, "config", "sunloop", "config.toml"), []byte("[console]\n")))

	kinds := map[string]bool{}
	must(filepath.WalkDir(home, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		}
		if info.Mode().Perm() != want {
			t.Errorf("%s has the mode %v", path, info.Mode())
		}
		name, _ := filepath.Rel(home, path)
		kinds[name] = true
		for _, kind := range []string{"data/objects", "data/outbox", "data/tls"} {
			kinds[kind+"/*"] = kinds[kind+"/*"] || strings.HasPrefix(name, kind+"/")
		}
		return nil
	}))
	for _, kind := range []string{"data/sunloop.db", "data/sunloop.key", "data/ssh/host_ed25519", "data/console.log", "data/tls/*", "data/outbox/*", "data/objects/*", "copy.tar.zst", "again/sunloop.key", "state/sessions.json", "config/sunloop/config.toml"} {
		if !kinds[kind] {
			t.Errorf("%s was not made", kind)
		}
	}
}
