package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

var placeholder = regexp.MustCompile(`@[A-Za-z0-9_]+@`)

// formula fills the template of the Homebrew formula with the archives that were
// made.
func (r release) formula() error {
	text, err := os.ReadFile(filepath.Join(r.tree, "deploy/homebrew/sunloop.rb.in"))
	if err != nil {
		return err
	}
	values := map[string]string{"@VERSION@": r.version, "@HOMEPAGE@": "https://app.sunloop", "@URL@": r.url, "@NAME@": "@NAME@"}
	for _, p := range []platform{{"darwin", "arm64"}, {"darwin", "amd64"}, {"linux", "arm64"}, {"linux", "amd64"}} {
		name := r.archiveName(p)
		data, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		values["@FILE_"+p.os+"_"+p.arch+"@"] = name
		values["@SHA256_"+p.os+"_"+p.arch+"@"] = fmt.Sprintf("%x", sha256.Sum256(data))
	}
	var unknown error
	filled := placeholder.ReplaceAllStringFunc(string(text), func(name string) string {
		value, ok := values[name]
		if !ok {
			unknown = errors.Join(unknown, fmt.Errorf("unknown placeholder %s", name))
		}
		return value
	})
	if unknown != nil {
		return unknown
	}
	_, filled, _ = strings.Cut(filled, "\n") // the comment of the template
	return os.WriteFile(filepath.Join(r.out, "sunloop.rb"), []byte(filled), 0o644)
}
