package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/listener"
	"app.sunloop/backend/metrics"
	"app.sunloop/internal/display"
)

// ListenFlags are where and how the service is reached.
type ListenFlags struct {
	Listen         []string      `sep:"none" placeholder:"[HOSTS=]ADDRESS" default:"127.0.0.1:8080" env:"SUNLOOP_LISTEN" help:"Address to listen on (${default}); repeatable. telemetry,alerts=:8443 serves only the paths of these hosts; the hosts are main, telemetry, alerts, partner, auth and freemium. In the environment, separate addresses by spaces."`
	Prefix         string        `placeholder:"PATH" env:"SUNLOOP_PREFIX" help:"Prefix of all paths, for example /sunloop."`
	TLS            string        `name:"tls" enum:",off,self,files" default:"" env:"SUNLOOP_TLS" help:"TLS: a self-signed certificate (self), that of --tls-cert and --tls-key (files), or plain HTTP (off, the default)."`
	TLSCert        string        `name:"tls-cert" placeholder:"FILE" env:"SUNLOOP_TLS_CERT" help:"Certificate with its chain (PEM); read again when it changes." type:"path"`
	TLSKey         string        `name:"tls-key" placeholder:"FILE" env:"SUNLOOP_TLS_KEY" help:"Private key of the certificate (PEM)." type:"path"`
	TLSName        []string      `name:"tls-name" placeholder:"NAME" env:"SUNLOOP_TLS_NAME" help:"Additional name or address in the certificate of --tls self, which has localhost, the host name and the listening addresses; repeatable."`
	TrustedProxy   []string      `placeholder:"CIDR" env:"SUNLOOP_TRUSTED_PROXY" help:"Trusted proxy network, for example 10.0.0.0/8, whose X-Forwarded-For and X-Forwarded-Proto are used; repeatable."`
	MaxConnections int           `default:"4096" env:"SUNLOOP_MAX_CONNECTIONS" help:"Maximum number of open connections. A quarter of them may be without an accepted credential."`
	EndDelay       time.Duration `default:"0s" env:"SUNLOOP_END_DELAY" help:"Time to keep serving with /readyz at 503 before shutdown."`
}

// proxies are the networks of --trusted-proxy; a lone address is a network of
// one.
func (f ListenFlags) proxies() ([]netip.Prefix, error) {
	var all []netip.Prefix
	for _, text := range f.TrustedProxy {
		p, err := netip.ParsePrefix(text)
		if a, addrErr := netip.ParseAddr(text); addrErr == nil {
			p, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil {
			return nil, wrong("--trusted-proxy: invalid network %q; example: 10.0.0.0/8", text)
		}
		all = append(all, p.Masked())
	}
	return all, nil
}

// check finds what is wrong with the flags before anything is opened.
func (f ListenFlags) check() ([]listener.Address, error) {
	addresses, err := listener.ParseAddresses(f.Listen...)
	if err != nil {
		return nil, wrong("--listen: %w", err)
	}
	switch {
	case f.Prefix != "" && (!strings.HasPrefix(f.Prefix, "/") || strings.ContainsAny(f.Prefix, "?#%{} ")):
		return nil, wrong("--prefix: invalid path %q; example: /sunloop", f.Prefix)
	case (f.TLSCert == "") != (f.TLSKey == ""):
		return nil, wrong("--tls-cert and --tls-key: give both or neither")
	case f.TLS == "files" && f.TLSCert == "":
		return nil, wrong("--tls files requires --tls-cert and --tls-key")
	case (f.TLS == "self" || f.TLS == "off") && f.TLSCert != "":
		return nil, wrong("--tls-cert and --tls-key require --tls files, not --tls %s", f.TLS)
	case len(f.TLSName) > 0 && f.TLS != "self":
		return nil, wrong("--tls-name requires --tls self")
	case f.MaxConnections < 1:
		return nil, wrong("--max-connections %d: must be 1 or more", f.MaxConnections)
	case f.EndDelay < 0:
		return nil, wrong("--end-delay %v: must be 0 or more", f.EndDelay)
	}
	return addresses, nil
}

// certificates are those of --tls; nil: none.
func (f ListenFlags) certificates(dataDir string, addresses []listener.Address, log *slog.Logger) (*listener.Certificates, error) {
	switch {
	case f.TLS == "self":
		hostname, err := os.Hostname()
		if err != nil {
			hostname = "" // the certificate names one thing less
		}
		return listener.SelfSigned(tlsFolder(dataDir), hostname, addresses, f.TLSName, time.Now, log)
	case f.TLSCert != "":
		return listener.Files(f.TLSCert, f.TLSKey, log)
	}
	return nil, nil
}

// tlsFolder holds the certificate of the service's own making.
func tlsFolder(dataDir string) string { return filepath.Join(dataDir, "tls") }

// reached is how a listener that is open is reached.
type reached struct {
	Address     string   // URL, with the prefix
	Hosts       []string // empty: all
	Fingerprint string   // of the certificate, empty without TLS
}

// serve serves until ctx ends, then lets requests finish. Started is called
// for each listener once all are open.
func (f ListenFlags) serve(ctx context.Context, service *backend.Service, dataDir string, log *slog.Logger, started func(reached)) error {
	addresses, err := f.check()
	if err != nil {
		return err
	}
	certificates, err := f.certificates(dataDir, addresses, log)
	if err != nil {
		return err
	}
	proxies, err := f.proxies()
	if err != nil {
		return err
	}
	prefix := strings.TrimSuffix(f.Prefix, "/")
	listeners, err := listener.Open(ctx, listener.Config{
		TrustedProxies: proxies, HealthPaths: []string{prefix + api.PathHealth, prefix + api.PathReady, api.PathHealth, api.PathReady},
		Addresses: addresses, Certificates: certificates, Now: time.Now, Log: log, Limits: listener.Limits{Connections: f.MaxConnections},
		Handler: func(hosts []api.Host) http.Handler { return service.HandlerAt(f.Prefix, hosts...) },
		Ending:  service.EndReadiness, EndDelay: f.EndDelay, Dropped: service.ConnectionDropped(metrics.ServerHTTP),
	})
	if err != nil {
		return err
	}
	for _, a := range listeners.Addresses() {
		r := reached{Address: "http://" + a.Address + prefix}
		if certificates != nil {
			r.Address, r.Fingerprint = "https"+strings.TrimPrefix(r.Address, "http"), certificates.Fingerprint()
		}
		for _, h := range a.Hosts {
			r.Hosts = append(r.Hosts, string(h))
		}
		started(r)
	}
	return listeners.Serve(ctx)
}

// TLSCmd shows the certificate of the service's own making.
type TLSCmd struct{}

// Run prints how clients know the certificate.
func (TLSCmd) Run(g *Globals, std streams) error {
	kept, err := listener.ReadStored(tlsFolder(g.Data))
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("no certificate in %s; sunloop serve --tls self creates one", tlsFolder(g.Data))
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "file      %s\nsha256    %s\nnames     %s\nvalid     %s to %s\n", kept.File, kept.Fingerprint, strings.Join(kept.Names, ", "), display.Date(kept.From), display.Date(kept.Until))
	return err
}
