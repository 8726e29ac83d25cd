package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// make makes a release of small files that stand for binaries.
func makeRelease(t *testing.T, version string) release {
	t.Helper()
	r := release{version: version, time: time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC), stage: t.TempDir(), out: t.TempDir(), tree: "../..", url: "https://example.org/v1"}
	for name, text := range map[string]string{
		"linux-amd64/sunloop": "la", "linux-arm64/sunloop": "lr", "darwin-amd64/sunloop": "da", "darwin-arm64/sunloop": "dr", "windows-amd64/sunloop.exe": "wa",
		"man/sunloop.1": ".TH", "completions/sunloop.bash": "complete",
	} {
		path := filepath.Join(r.stage, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.run(); err != nil {
		t.Fatal(err)
	}
	return r
}

// files reads a tar, compressed or not.
func files(t *testing.T, data []byte) map[string][]byte {
	t.Helper()
	var in io.Reader = bytes.NewReader(data)
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(in)
		if err != nil {
			t.Fatal(err)
		}
		in = z
	}
	out := map[string][]byte{}
	for r := tar.NewReader(in); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		if out[h.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestReleaseRepeats makes a release twice, in two folders.
func TestReleaseRepeats(t *testing.T) {
	a, b := makeRelease(t, "dev"), makeRelease(t, "dev")
	made, err := filepath.Glob(filepath.Join(a.out, "*"))
	if err != nil || len(made) != 8 { // five archives, image, formula, notes
		t.Fatalf("%d files, %v", len(made), err)
	}
	for _, f := range made {
		if !bytes.Equal(read(t, f), read(t, filepath.Join(b.out, filepath.Base(f)))) {
			t.Errorf("%s differs", filepath.Base(f))
		}
	}
}

// TestArchives: each has the program of its platform, licence, pages and
// completions; Linux has the units too.
func TestArchives(t *testing.T) {
	r := makeRelease(t, "dev")
	got := files(t, read(t, filepath.Join(r.out, "sunloop_dev_linux_arm64.tar.gz")))
	if string(got["sunloop_dev/sunloop"]) != "lr" {
		t.Errorf("the program is %q", got["sunloop_dev/sunloop"])
	}
	for _, name := range []string{"LICENSE", "NOTICE", "README.md", "CHANGELOG.md", "man/sunloop.1", "completions/sunloop.bash", "deploy/systemd/sunloop.service"} {
		if len(got["sunloop_dev/"+name]) == 0 {
			t.Errorf("no %s", name)
		}
	}
	if mac := files(t, read(t, filepath.Join(r.out, "sunloop_dev_darwin_arm64.tar.gz"))); mac["sunloop_dev/deploy/systemd/sunloop.service"] != nil {
		t.Error("units for macOS")
	}
	z, err := zip.OpenReader(filepath.Join(r.out, "sunloop_dev_windows_amd64.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	if !slices.ContainsFunc(z.File, func(f *zip.File) bool { return f.Name == "sunloop_dev/sunloop.exe" }) {
		t.Error("no program for Windows")
	}
}

// TestImage follows the layout from its index to the files of each platform, and
// verifies each digest.
func TestImage(t *testing.T) {
	r := makeRelease(t, "dev")
	all := files(t, read(t, filepath.Join(r.out, "sunloop-dev-image.tar")))
	blob := func(d descriptor) []byte {
		data := all["blobs/sha256/"+strings.TrimPrefix(d.Digest, "sha256:")]
		if fmt.Sprintf("sha256:%x", sha256.Sum256(data)) != d.Digest || len(data) != d.Size {
			t.Fatalf("blob %s is not what it is named", d.Digest)
		}
		return data
	}
	decode := func(data []byte, v any) {
		if err := json.Unmarshal(data, v); err != nil {
			t.Fatal(err)
		}
	}
	var top, every index
	decode(all["index.json"], &top)
	decode(blob(top.Manifests[0]), &every)
	if len(every.Manifests) != 2 || string(all["oci-layout"]) != `{"imageLayoutVersion":"1.0.0"}` {
		t.Fatalf("%d platforms, layout %s", len(every.Manifests), all["oci-layout"])
	}
	for _, d := range every.Manifests {
		var m manifest
		var c imageConfig
		decode(blob(d), &m)
		decode(blob(m.Config), &c)
		if c.Architecture != d.Platform.Architecture || c.Config.User != "65532:65532" || c.Config.Cmd[0] != "serve" {
			t.Errorf("%s: %+v", d.Platform.Architecture, c)
		}
		layer := files(t, blob(m.Layers[0]))
		if want := map[string]string{"amd64": "la", "arm64": "lr"}[c.Architecture]; string(layer["usr/bin/sunloop"]) != want {
			t.Errorf("%s: the program is %q", c.Architecture, layer["usr/bin/sunloop"])
		}
		if n := bytes.Count(layer["etc/ssl/certs/ca-certificates.crt"], []byte("BEGIN CERTIFICATE")); n < 100 {
			t.Errorf("%d authorities", n)
		}
		if _, ok := layer["var/lib/sunloop/"]; !ok {
			t.Error("no folder for data")
		}
	}
	// The same settings as the image of the container file.
	file := string(read(t, "../compose/Containerfile"))
	var c imageConfig
	var m manifest
	decode(blob(every.Manifests[0]), &m)
	decode(blob(m.Config), &c)
	for _, setting := range c.Config.Env {
		if !strings.Contains(file, setting) {
			t.Errorf("the container file does not set %s", setting)
		}
	}
}

// TestFormula: each placeholder is filled, with the checksums of the archives.
func TestFormula(t *testing.T) {
	r := makeRelease(t, "dev")
	text := string(read(t, filepath.Join(r.out, "sunloop.rb")))
	if strings.Contains(text, "@") {
		t.Errorf("placeholders are left:\n%s", text)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(read(t, filepath.Join(r.out, "sunloop_dev_darwin_arm64.tar.gz"))))
	if !strings.Contains(text, `url "https://example.org/v1/sunloop_dev_darwin_arm64.tar.gz"`+"\n      sha256 \""+sum) {
		t.Errorf("no checksum of the archive:\n%s", text)
	}
}

// TestNotes: a version of a tag needs a section in the change log.
func TestNotes(t *testing.T) {
	dir := t.TempDir()
	log := "# Changelog\n\n## [Unreleased]\n\n- more\n\n## [1.2.0] - 2026-11-29\n\n### Added\n\n- a\n\n## [1.1.0]\n\n- b\n"
	if err := os.WriteFile(filepath.Join(dir, "CHANGELOG.md"), []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]string{"v1.2.0": "### Added\n\n- a\n", "v1.1.0": "- b\n", "v1.2.0-3-gabc": "- more\n", "dev": "- more\n"} {
		got, err := release{version: version, tree: dir}.notes()
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", version, got, err)
		}
	}
	if _, err := (release{version: "v2.0.0", tree: dir}).notes(); err == nil {
		t.Error("a version without a section is released")
	}
}
