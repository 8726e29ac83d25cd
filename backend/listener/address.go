package listener

import (
	"fmt"
	"net"
	"slices"
	"strings"

	"app.sunloop/backend/api"
)

// Address is where to listen, and for whom.
type Address struct {
	Hosts   []api.Host // none: the paths of all hosts
	Address string     // as net.Listen takes it: host:port, the host may be empty
}

// ParseAddresses reads addresses from text: host:port, or
// telemetry,alerts=host:port for the paths of some hosts only. A text may hold
// several, separated by spaces.
func ParseAddresses(texts ...string) ([]Address, error) {
	var all []Address
	for _, text := range texts {
		for word := range strings.FieldsSeq(text) {
			a, err := parseAddress(word)
			if err != nil {
				return nil, err
			}
			all = append(all, a)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("no listen address")
	}
	return all, nil
}

func parseAddress(word string) (Address, error) {
	a := Address{Address: word}
	if hosts, address, some := strings.Cut(word, "="); some {
		a.Address = address
		for name := range strings.SplitSeq(hosts, ",") {
			h := api.Host(name)
			if !slices.Contains(api.Hosts(), h) {
				return a, fmt.Errorf("%q: there is no host %q; there are %s", word, name, hostNames(api.Hosts()))
			}
			if !slices.Contains(a.Hosts, h) {
				a.Hosts = append(a.Hosts, h)
			}
		}
	}
	if _, port, err := net.SplitHostPort(a.Address); err != nil || port == "" {
		return a, fmt.Errorf("invalid listen address %q; examples: 127.0.0.1:8080, telemetry,alerts=:8443", word)
	}
	return a, nil
}

func hostNames(hosts []api.Host) string {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = string(h)
	}
	return strings.Join(names, ", ")
}

// names are what a certificate must name for clients of the addresses: the
// hosts that they give, but not those that mean every interface.
func names(addresses []Address) []string {
	var all []string
	for _, a := range addresses {
		host, _, err := net.SplitHostPort(a.Address)
		if err != nil || host == "" {
			continue
		}
		if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
			continue
		}
		all = append(all, host)
	}
	return all
}
