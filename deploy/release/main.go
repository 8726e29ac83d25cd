// Command release makes what a release consists of besides packages: archives, a
// container image as OCI layout, a Homebrew formula and the notes of the version.
// It reads binaries, manual pages and completions from a folder that `make
// release` fills. The same input gives the same bytes.
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// release is what the files are made of.
type release struct {
	version string // without v
	time    time.Time
	stage   string // folder with OS-ARCH/sunloop, man, completions
	out     string
	tree    string // root of the repository
	url     string // where the archives will be
}

// platform is an operating system and an architecture, as in linux-amd64.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "-" + p.arch }

func (p platform) program() string {
	if p.os == "windows" {
		return "sunloop.exe"
	}
	return "sunloop"
}

func main() {
	var r release
	var date string
	flag.StringVar(&r.version, "version", "", "version, as in v1.2.0")
	flag.StringVar(&date, "date", "", "date of the commit, YYYY-MM-DD")
	flag.StringVar(&r.stage, "stage", "bin/stage", "folder with binaries, man and completions")
	flag.StringVar(&r.out, "out", "bin/release", "folder for the results")
	flag.StringVar(&r.tree, "tree", ".", "root of the repository")
	flag.StringVar(&r.url, "url", "https://app.sunloop/releases", "where the archives will be")
	check := flag.Bool("check", false, "only look for the version in CHANGELOG.md")
	flag.Parse()
	var err error
	if *check {
		_, err = r.notes()
	} else if r.time, err = time.Parse(time.DateOnly, date); err == nil {
		err = r.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func (r release) run() error {
	notes, err := r.notes()
	if err != nil {
		return err
	}
	r.version = strings.TrimPrefix(r.version, "v")
	platforms, err := r.platforms()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.out, "NOTES.md"), notes, 0o644); err != nil {
		return err
	}
	for _, p := range platforms {
		if err := r.archive(p); err != nil {
			return fmt.Errorf("make archive for %s: %w", p, err)
		}
	}
	if err := r.image(platforms); err != nil {
		return fmt.Errorf("make image: %w", err)
	}
	if err := r.formula(); err != nil {
		return fmt.Errorf("make formula: %w", err)
	}
	return nil
}

// platforms returns those that have a binary.
func (r release) platforms() ([]platform, error) {
	binaries, err := filepath.Glob(filepath.Join(r.stage, "*-*", "sunloop*"))
	if err != nil {
		return nil, err
	}
	var out []platform
	for _, b := range binaries {
		os, arch, _ := strings.Cut(filepath.Base(filepath.Dir(b)), "-")
		out = append(out, platform{os, arch})
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("find binaries: none in %s", r.stage)
	}
	return out, nil
}

var released = regexp.MustCompile(`^v\d+\.\d+\.\d+$`)

// notes returns the section of the version in CHANGELOG.md. A version of a tag
// must have one; for any other it is the section Unreleased.
func (r release) notes() ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(r.tree, "CHANGELOG.md"))
	if err != nil {
		return nil, err
	}
	heading := "Unreleased"
	if released.MatchString(r.version) {
		heading = strings.TrimPrefix(r.version, "v")
	}
	_, section, ok := bytes.Cut(text, []byte("\n## ["+heading+"]"))
	if !ok {
		return nil, fmt.Errorf("CHANGELOG.md has no section [%s]", heading)
	}
	_, section, _ = bytes.Cut(section, []byte("\n"))
	section, _, _ = bytes.Cut(section, []byte("\n## ["))
	section = bytes.TrimSpace(section)
	if len(section) == 0 {
		return nil, errors.New("CHANGELOG.md: the section [" + heading + "] is empty")
	}
	return append(section, '\n'), nil
}
