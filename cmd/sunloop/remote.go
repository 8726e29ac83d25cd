package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// RemoteFlags are how a command reaches a service elsewhere.
type RemoteFlags struct {
	Remote string `placeholder:"URL" env:"SUNLOOP_REMOTE" help:"Remote service, for example https://ops.example.com, instead of the data folder."`
	Token  string `env:"SUNLOOP_TOKEN" help:"API key or token for --remote."`
	TrustFlags
}

// TrustFlags are which certificates of a service elsewhere are taken.
type TrustFlags struct {
	TLSFingerprint string `name:"tls-fingerprint" placeholder:"HEX" env:"SUNLOOP_TLS_FINGERPRINT" help:"SHA-256 fingerprint of the service's certificate, as printed by sunloop tls."`
	TLSCA          string `name:"tls-ca" placeholder:"FILE" env:"SUNLOOP_TLS_CA" help:"Trusted certificate authorities (PEM), instead of the system's." type:"path"`
}

// clientOptions are those of a client of the service elsewhere.
func (f RemoteFlags) clientOptions() (client.Options, error) {
	o := client.Options{BaseURL: strings.TrimRight(f.Remote, "/"), Credential: f.Token, UserAgent: "sunloop/" + version, Now: time.Now}
	u, err := checkRemote(f.Remote)
	if err != nil {
		return o, err
	}
	o.TLS, err = f.trust(u)
	return o, err
}

// given reports whether flags say which certificates are taken.
func (f TrustFlags) given() bool { return f.TLSFingerprint != "" || f.TLSCA != "" }

// trust is whose certificates are taken from a service: by the flags, else the
// certificate that was accepted for it, else those that the system takes.
func (f TrustFlags) trust(service *url.URL) (*tls.Config, error) {
	trust := client.Trust{Fingerprint: f.TLSFingerprint, Host: service.Hostname()}
	if known := defaultKnownServices(); service.Scheme == "https" {
		trust.Known = func() string { return known.fingerprint(service) }
	}
	if f.TLSCA != "" {
		b, err := os.ReadFile(f.TLSCA)
		if err != nil {
			return nil, fmt.Errorf("--tls-ca: %w", err)
		}
		if _, err := (client.Trust{Authorities: b}).Config(); err != nil {
			return nil, fmt.Errorf("--tls-ca %s: %w", f.TLSCA, err)
		}
		trust.Authorities = b
	}
	c, err := trust.Config()
	if err != nil {
		return nil, fmt.Errorf("--tls-fingerprint: %w", err)
	}
	return c, nil
}

// client calls a remote service for a command, which cannot prompt for a
// password.
func (f RemoteFlags) client() (*client.Client, error) {
	o, err := f.clientOptions()
	if err != nil {
		return nil, err
	}
	if f.Token == "" {
		return nil, errors.New("--remote requires an API key or a token: --token, or SUNLOOP_TOKEN in the environment")
	}
	o.MaxRetryWait = commandPatience
	return client.New(o), nil
}

// commandPatience is how long a command waits in all for a service that is
// busy or has been asked too often: a console asks again by itself.
const commandPatience = 2 * time.Minute

// checkRemote refuses what is no address of a service.
func checkRemote(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || (u.Scheme != "https" && u.Scheme != "http") {
		return nil, fmt.Errorf("--remote: invalid URL %q; example: https://ops.example.com", address)
	}
	return u, nil
}

// clientError returns an error of the client as one sentence: a refusal with its
// reason, or why there was no response.
func clientError(err error) error {
	var untrusted *client.CertificateError
	var unreached *url.Error
	if errors.As(err, &untrusted) {
		if named := *untrusted; named.Service == "" && errors.As(err, &unreached) { // of a call without the client
			if u, parseErr := url.Parse(unreached.URL); parseErr == nil {
				named.Service = u.Scheme + "://" + u.Host
			}
			return &named
		}
		return untrusted
	}
	if errors.As(err, &unreached) {
		if errors.Is(err, context.Canceled) {
			return err
		}
		u, _ := url.Parse(unreached.URL) // it was one when it was asked
		host := unreached.URL
		if u != nil {
			host = u.Scheme + "://" + u.Host
		}
		if errors.Is(err, client.ErrHTTPS) && u != nil {
			return errWantsTLS(u)
		}
		if errors.Is(err, http.ErrSchemeMismatch) {
			return fmt.Errorf("no answer from %s: it speaks http; use http://%s", host, u.Host)
		}
		return fmt.Errorf("no answer from %s: %w", host, unreached.Err)
	}
	var refusal *api.Error
	if !errors.As(err, &refusal) {
		return err
	}
	words := refusal.Message
	if reason, ok := refusal.Details["reason"].(string); ok {
		words += ": " + reason
	}
	if of := (&subject{}); errors.As(err, &of) {
		words = of.name + ": " + words
	}
	return errors.New(words)
}

// subject is an error with what it is about, such as user anna.
type subject struct {
	name string
	error
}

func (s *subject) Error() string { return s.name + ": " + s.error.Error() }

func (s *subject) Unwrap() error { return s.error }
