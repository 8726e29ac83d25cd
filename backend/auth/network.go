package auth

import (
	"crypto/subtle"
	"slices"
	"time"

	"app.sunloop/backend/admission"
	"app.sunloop/backend/api"
)

// maxNetworks is the maximum number of networks that an account keeps.
const maxNetworks = 16

// networkHashBytes is the length of the stored hash of a network.
const networkHashBytes = 16

// signInNetwork is a network from which an account has signed in. The network
// is stored as a keyed hash: the records without the key do not reveal it.
type signInNetwork struct {
	Hash []byte    `json:"hash" limit:"1024"`
	Last time.Time `json:"last"`
}

// knowsNetwork reports whether the account has signed in from the network of the
// address before. It returns true for the embedded console.
func (s *Service) knowsNetwork(a account, address string) bool {
	if address == api.InProcess {
		return true
	}
	hash := s.networkHash(a.ID, admission.Network(address))
	known := 0
	for _, n := range a.Networks {
		known |= subtle.ConstantTimeCompare(n.Hash, hash)
	}
	return known == 1
}

// networkHash returns the keyed hash of a network for a user.
func (s *Service) networkHash(userID, network string) []byte {
	return s.sealer.hash(network, "network/"+userID)[:networkHashBytes]
}

// addNetwork adds the hash of a network to the account, which keeps the latest
// maxNetworks. It ignores an empty hash.
func (a *account) addNetwork(hash []byte, now time.Time) {
	if len(hash) == 0 {
		return
	}
	list := slices.DeleteFunc(slices.Clone(a.Networks), func(n signInNetwork) bool { return subtle.ConstantTimeCompare(n.Hash, hash) == 1 })
	list = append([]signInNetwork{{hash, now.UTC()}}, list...)
	a.Networks = list[:min(len(list), maxNetworks)]
}
