package auth

import (
	"crypto/subtle"
	"net/netip"
	"slices"
	"time"

	"app.sunloop/backend/api"
)

// maxNetworks is how many networks of its sign-ins an account keeps.
const maxNetworks = 16

// networkHashBytes is the length of the stored hash of a network.
const networkHashBytes = 16

// signInNetwork is a network that an account has signed in from. The network
// is stored as a keyed hash: the records alone do not tell where a person is.
type signInNetwork struct {
	Hash []byte    `json:"hash" limit:"1024"`
	Last time.Time `json:"last"`
}

// networkOf is the network that an address shares with its neighbours: the /24
// of an IPv4 address, the /64 of an IPv6 address, else the address itself.
func networkOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	bits := 64
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		bits = 24
	}
	return netip.PrefixFrom(ip, bits).Masked().String()
}

// callerOf is the address by which failures are counted: an IPv4 address, the
// /64 of an IPv6 address, of which a host has as many as it likes.
func callerOf(address string) string {
	if ip, err := netip.ParseAddr(address); err == nil && ip.Unmap().Is4() {
		return ip.Unmap().String()
	}
	return networkOf(address)
}

// knowsNetwork reports whether the account has signed in from the network of
// the address. The console of this process is always known.
func (s *Service) knowsNetwork(a account, address string) bool {
	if address == api.InProcess {
		return true
	}
	hash := s.networkHash(a.ID, networkOf(address))
	known := 0
	for _, n := range a.Networks {
		known |= subtle.ConstantTimeCompare(n.Hash, hash)
	}
	return known == 1
}

func (s *Service) networkHash(userID, network string) []byte {
	return s.sealer.hash(network, "network/"+userID)[:networkHashBytes]
}

// signedInFrom adds the hash of a network to those of the account, of which the
// latest are kept. An empty hash adds none.
func (a *account) signedInFrom(hash []byte, now time.Time) {
	if len(hash) == 0 {
		return
	}
	list := slices.DeleteFunc(slices.Clone(a.Networks), func(n signInNetwork) bool { return subtle.ConstantTimeCompare(n.Hash, hash) == 1 })
	list = append([]signInNetwork{{hash, now.UTC()}}, list...)
	a.Networks = list[:min(len(list), maxNetworks)]
}
