package storetest

import (
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Shapes returns the forms of a secret: plain, and within base64 at any offset,
// as bytes in records have.
func Shapes(secret string) []string {
	all := []string{secret}
	for shift := range 3 {
		padded := append(make([]byte, shift), secret...)
		within := base64.StdEncoding.EncodeToString(padded[:len(padded)/3*3])
		all = append(all, within[(shift+2)/3*4:])
	}
	return all
}

// Reveals reports whether a text contains a secret, in any of its forms.
func Reveals(text, secret string) bool {
	for _, shape := range Shapes(secret) {
		if strings.Contains(text, shape) {
			return true
		}
	}
	return false
}

// Bytes are the files below folders by their paths, as they are on the disk.
func Bytes(folders ...string) (map[string]string, error) {
	all := map[string]string{}
	for _, folder := range folders {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			b, err := os.ReadFile(path)
			all[path] = string(b)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read the files of %s: %w", folder, err)
		}
	}
	return all, nil
}
