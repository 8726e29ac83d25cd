package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Guard decides which URLs may be called.
type Guard struct {
	hosts    []allowed
	networks []netip.Prefix

	// LookUp finds the addresses of a name; nil: the system's resolver.
	LookUp func(ctx context.Context, host string) ([]netip.Addr, error)
}

// allowed is a host of the allow-list, on one port or on all.
type allowed struct{ host, port string }

// NewGuard takes the places that are allowed although they are private or
// without encryption, for labs: a host, host:port, an address or a network as
// 10.1.0.0/16.
func NewGuard(allow ...string) (*Guard, error) {
	g := &Guard{}
	for _, text := range allow {
		if network, err := netip.ParsePrefix(text); err == nil {
			g.networks = append(g.networks, network.Masked())
			continue
		}
		host, port := text, ""
		if h, p, err := net.SplitHostPort(text); err == nil {
			host, port = h, p
		}
		host = strings.ToLower(strings.Trim(host, "[]"))
		_, badPort := strconv.ParseUint(port, 10, 16)
		if _, err := netip.ParseAddr(host); err != nil && !isName(host) || port != "" && badPort != nil {
			return nil, fmt.Errorf("%q is no host, host:port, address or network", text)
		}
		g.hosts = append(g.hosts, allowed{host, port})
	}
	return g, nil
}

// RefusedError states why a URL may not be called.
type RefusedError struct{ Why string }

// Error is the reason.
func (r *RefusedError) Error() string { return r.Why }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// Bounds of a URL.
const (
	maxURL      = 2048
	lookUpFor   = 3 * time.Second
	portHTTPS   = "443"
	portHTTPAlt = "8443"
)

// Check validates a URL before it is stored. The error is a *[RefusedError]. A name
// that does not resolve now is accepted: it is checked again when it is called.
func (g *Guard) Check(ctx context.Context, place string) error {
	if len(place) > maxURL {
		return refuse("it is longer than %d bytes", maxURL)
	}
	u, err := url.Parse(place)
	if err != nil || u.Host == "" || u.Opaque != "" {
		return refuse("it is not a URL with a host")
	}
	host, port := strings.ToLower(u.Hostname()), u.Port()
	switch {
	case u.Scheme != "https" && u.Scheme != "http":
		return refuse("its scheme is not https")
	case u.User != nil:
		return refuse("it carries a user")
	case u.Fragment != "":
		return refuse("it carries a fragment")
	}
	if port == "" {
		port = map[string]string{"https": portHTTPS, "http": "80"}[u.Scheme]
	}
	address, notAddress := netip.ParseAddr(host)
	switch {
	case g.hostAllowed(host, port), notAddress == nil && g.networkAllowed(address):
		return nil
	case u.Scheme != "https":
		return refuse("its scheme is not https")
	case port != portHTTPS && port != portHTTPAlt:
		return refuse("its port is neither %s nor %s", portHTTPS, portHTTPAlt)
	case notAddress == nil:
		return g.checkAddress(address)
	case !isName(host) || !strings.Contains(host, "."):
		return refuse("its host is not the full name of a host")
	case local(host):
		return refuse("its host is a local name")
	}
	ctx, cancel := context.WithTimeout(ctx, lookUpFor)
	defer cancel()
	found, err := g.lookUp(ctx, host)
	if err != nil {
		return nil //nolint:nilerr // it may resolve when it is called
	}
	for _, a := range found {
		if err := g.checkAddress(a); err != nil {
			return err
		}
	}
	return nil
}

// isName reports whether the text is a DNS name: a text that ends in a number
// is an address in another notation (decimal, octal, hexadecimal, short).
func isName(host string) bool {
	labels := strings.Split(strings.TrimSuffix(host, "."), ".")
	for _, l := range labels {
		if l == "" || len(l) > 63 || strings.HasPrefix(l, "-") || strings.HasSuffix(l, "-") ||
			strings.ContainsFunc(l, func(r rune) bool { return !(r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z') }) {
			return false
		}
	}
	last := labels[len(labels)-1]
	_, err := strconv.ParseUint(last, 0, 64)
	digits := !strings.ContainsFunc(last, func(r rune) bool { return r < '0' || r > '9' })
	return err != nil && !digits && !strings.HasPrefix(last, "0x") && len(host) <= 253
}

// local reports whether a name is one of the machine or of its network.
func local(host string) bool {
	host = strings.TrimSuffix(host, ".")
	return slices.ContainsFunc([]string{"localhost", "local", "internal", "lan", "home.arpa", "localdomain", "corp", "intranet"}, func(end string) bool {
		return host == end || strings.HasSuffix(host, "."+end)
	})
}

func (g *Guard) hostAllowed(host, port string) bool {
	return slices.ContainsFunc(g.hosts, func(a allowed) bool { return a.host == host && (a.port == "" || a.port == port) })
}

func (g *Guard) networkAllowed(a netip.Addr) bool {
	return slices.ContainsFunc(g.networks, func(n netip.Prefix) bool { return n.Contains(a.Unmap()) })
}

// global6 is the IPv6 space that is given out to the world; reserved are the
// networks of it, and of IPv4, that are not of the public internet (IANA's
// special-purpose registries).
var (
	global6  = netip.MustParsePrefix("2000::/3")
	reserved = prefixes(
		"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24",
		"192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24",
		"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)

func prefixes(list ...string) (out []netip.Prefix) {
	for _, p := range list {
		out = append(out, netip.MustParsePrefix(p))
	}
	return out
}

// checkAddress refuses an address that is not of the public internet.
func (g *Guard) checkAddress(a netip.Addr) error {
	a = a.Unmap()
	if g.networkAllowed(a) || g.hostAllowed(a.String(), "") {
		return nil
	}
	if a.Zone() != "" || a.Is6() && !global6.Contains(a) || slices.ContainsFunc(reserved, func(n netip.Prefix) bool { return n.Contains(a) }) {
		return refuse("%s is not an address of the public internet", a)
	}
	return nil
}

func (g *Guard) lookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	if g.LookUp != nil {
		return g.LookUp(ctx, host)
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// dial connects to a place. What is dialled is an address that was checked
// just then, in the very call that connects: a name that changes between check
// and connection gains nothing.
func (g *Guard) dial(ctx context.Context, network, place string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(place)
	if err != nil {
		return nil, err
	}
	dialer := net.Dialer{Control: g.control}
	if g.hostAllowed(strings.ToLower(host), port) {
		dialer.Control = nil
	}
	found := []netip.Addr{}
	if a, err := netip.ParseAddr(host); err == nil {
		found = append(found, a)
	} else if found, err = g.lookUp(ctx, host); err != nil {
		return nil, err
	}
	failed := fmt.Errorf("%s has no address", host)
	for _, a := range found {
		conn, err := dialer.DialContext(ctx, network, net.JoinHostPort(a.Unmap().String(), port))
		if err == nil {
			return conn, nil
		}
		failed = err
	}
	return nil, failed
}

// control rejects a connection just before it is made.
func (g *Guard) control(_, address string, _ syscall.RawConn) error {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return fmt.Errorf("dial %q: %w", address, err)
	}
	if g.hostAllowed(at.Addr().Unmap().String(), strconv.Itoa(int(at.Port()))) {
		return nil
	}
	return g.checkAddress(at.Addr())
}

// refusal is why the guard refused, if it did.
func refusal(err error) (*RefusedError, bool) {
	var r *RefusedError
	return r, errors.As(err, &r)
}

// IsRefused reports whether an error of a call is the guard's refusal.
func IsRefused(err error) bool {
	_, ok := refusal(err)
	return ok
}
