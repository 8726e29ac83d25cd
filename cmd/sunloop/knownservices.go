package main

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"strings"

	"app.sunloop/backend/regularfile"
)

// knownServices keeps the certificates of services that a person has accepted, as
// known_hosts of SSH does: a line for each with the host, its port and the SHA-256 of
// its certificate.
type knownServices struct{ path string }

// defaultKnownServices is the file of the person who runs the program.
func defaultKnownServices() knownServices {
	return knownServices{filepath.Join(configDir(), "known_services")}
}

// knownServicesHeader is the first line of the file.
const knownServicesHeader = "# Certificates of services that were accepted in the console: host:port, sha256. Remove a line to be asked again."

// addressOf is what identifies a service in the file.
func addressOf(service *url.URL) string {
	port := service.Port()
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(strings.ToLower(service.Hostname()), port)
}

// fingerprint returns the SHA-256 of the certificate that was accepted for a
// service, empty without one. A line that is damaged accepts no certificate.
func (k knownServices) fingerprint(service *url.URL) string {
	b, err := regularfile.Read(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	if err != nil {
		return "unreadable" // which no certificate has
	}
	for line := range strings.Lines(string(b)) {
		switch words := strings.Fields(line); {
		case len(words) == 0 || words[0] != addressOf(service):
		case len(words) == 1:
			return "missing" // which no certificate has either
		default:
			return strings.ToLower(words[1])
		}
	}
	return ""
}

// accept adds the certificate of a service that has none yet.
func (k knownServices) accept(service *url.URL, fingerprint string) error {
	if b, err := hex.DecodeString(fingerprint); err != nil || len(b) != 32 {
		return fmt.Errorf("accept a certificate: %q is no SHA-256", fingerprint)
	}
	if known := k.fingerprint(service); known != "" {
		return fmt.Errorf("accept a certificate: %s has one for %s already", k.path, addressOf(service))
	}
	b, err := regularfile.Read(k.path)
	if errors.Is(err, fs.ErrNotExist) {
		b, err = []byte(knownServicesHeader+"\n"), nil
	}
	if err != nil {
		return fmt.Errorf("accept a certificate: %w", err)
	}
	if n := len(b); n > 0 && b[n-1] != '\n' {
		b = append(b, '\n')
	}
	if err := writePrivate(k.path, fmt.Appendf(b, "%s %s\n", addressOf(service), fingerprint)); err != nil {
		return fmt.Errorf("accept a certificate: %w", err)
	}
	return nil
}
