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
	// Known, if not nil, returns the fingerprint of the certificate that a person has
	// accepted for the service before, empty for none: then that certificate is taken and no
	// other. It is called for each connection, and has no effect with a fingerprint or
	// authorities.
	Known func() string
	// Host is the name or the address of the service, which a certificate must name that
	// is not known.
	Host string
}

// Config is the trust as crypto/tls has it; nil for the zero value.
func (t Trust) Config() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.Fingerprint == "" && t.Authorities == nil {
		if t.Known == nil {
			return nil, nil
		}
		c.InsecureSkipVerify = true // verifyKnown takes its place
		c.VerifyConnection = t.verifyKnown
		return c, nil
	}
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

// verifyKnown takes the certificate that is known, or without one what the system's
// authorities have signed for the host.
func (t Trust) verifyKnown(s tls.ConnectionState) error {
	leaf := s.PeerCertificates[0]
	if known := t.Known(); known != "" {
		if fingerprintOf(leaf) == known {
			return nil
		}
		return &CertificateError{Fingerprint: fingerprintOf(leaf), Known: known, Err: errors.New("it is not the certificate that was accepted before")}
	}
	o := x509.VerifyOptions{DNSName: t.Host, Intermediates: x509.NewCertPool()}
	for _, c := range s.PeerCertificates[1:] {
		o.Intermediates.AddCert(c)
	}
	if _, err := leaf.Verify(o); err != nil {
		return &CertificateError{Fingerprint: fingerprintOf(leaf), Err: err}
	}
	return nil
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
	Known       string // that of the certificate which was accepted before; empty: none was
	Err         error  // why
}

// Error says what is wrong and what a person can do.
func (e *CertificateError) Error() string {
	if e.Known != "" {
		return fmt.Sprintf("the certificate of %s has changed from sha256 %s to sha256 %s and is not trusted: the connection may be intercepted; nothing was sent; if the service has a new certificate (sunloop tls on its machine prints the new sha256), remove its line from the file known_services and accept the new one",
			e.Service, e.Known, e.Fingerprint)
	}
	return fmt.Sprintf("the certificate of %s is not trusted: %v; if the service is yours, compare what it says of itself (sunloop tls) with sha256 %s, then accept it in the console (sunloop --remote), or give it as --tls-fingerprint, or the authority's file as --tls-ca",
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
		return &CertificateError{Service: service, Fingerprint: pinned.Fingerprint, Known: pinned.Known, Err: pinned.Err}
	}
	var verification *tls.CertificateVerificationError
	if errors.As(err, &verification) && len(verification.UnverifiedCertificates) > 0 {
		return &CertificateError{Service: service, Fingerprint: fingerprintOf(verification.UnverifiedCertificates[0]), Err: verification.Err}
	}
	return nil
}
