package client

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Trust is whom a client takes for the service it asks. The zero value is
// what the system's authorities have signed.
type Trust struct {
	// Fingerprint is the SHA-256 of the one certificate that is taken, in
	// hexadecimal digits, with or without colons; who signed it and what it names
	// does not matter then.
	Fingerprint string
	// Authorities are certificates in PEM that are trusted instead of the
	// system's. With a fingerprint, both must hold.
	Authorities []byte
}

// Config is the trust as crypto/tls has it; nil for the zero value.
func (t Trust) Config() (*tls.Config, error) {
	if t.Fingerprint == "" && t.Authorities == nil {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.Authorities != nil {
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(t.Authorities) {
			return nil, errors.New("there is no certificate in PEM")
		}
	}
	if t.Fingerprint == "" {
		return c, nil
	}
	pin, err := hex.DecodeString(strings.ReplaceAll(t.Fingerprint, ":", ""))
	if err != nil || len(pin) != sha256.Size {
		return nil, fmt.Errorf("a fingerprint is %d hexadecimal digits (SHA-256), not %q", 2*sha256.Size, t.Fingerprint)
	}
	c.InsecureSkipVerify = t.Authorities == nil // the pin takes its place
	c.VerifyConnection = func(s tls.ConnectionState) error {
		if leaf := s.PeerCertificates[0]; sha256.Sum256(leaf.Raw) != [sha256.Size]byte(pin) {
			return &CertificateError{Fingerprint: fingerprintOf(leaf), Err: fmt.Errorf("it is not the one with the fingerprint %x", pin)}
		}
		return nil
	}
	return c, nil
}

func fingerprintOf(c *x509.Certificate) string {
	sum := sha256.Sum256(c.Raw)
	return hex.EncodeToString(sum[:])
}

// CertificateError is the error of a call to a service whose certificate is not
// trusted. Nothing was sent to it.
type CertificateError struct {
	Service     string // scheme and host
	Fingerprint string // SHA-256 of the certificate it showed, in hexadecimal digits
	Err         error  // why
}

// Error says what is wrong and what a person can do.
func (e *CertificateError) Error() string {
	return fmt.Sprintf("the certificate of %s is not trusted: %v; if the service is yours, compare what it says of itself (sunloop tls) with sha256 %s, then give that as --tls-fingerprint, or the authority's file as --tls-ca",
		e.Service, e.Err, e.Fingerprint)
}

// Unwrap is the reason.
func (e *CertificateError) Unwrap() error { return e.Err }

// untrusted finds the refusal of a certificate in the error of a call; nil
// when it is about something else.
func untrusted(err error, address string) error {
	service := address
	if u, parseErr := url.Parse(address); parseErr == nil {
		service = u.Scheme + "://" + u.Host
	}
	var pinned *CertificateError
	if errors.As(err, &pinned) {
		return &CertificateError{Service: service, Fingerprint: pinned.Fingerprint, Err: pinned.Err}
	}
	var verification *tls.CertificateVerificationError
	if errors.As(err, &verification) && len(verification.UnverifiedCertificates) > 0 {
		return &CertificateError{Service: service, Fingerprint: fingerprintOf(verification.UnverifiedCertificates[0]), Err: verification.Err}
	}
	return nil
}
