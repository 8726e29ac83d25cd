package auth

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// guess tries a wrong password.
func (w *world) guess(s *Service, name, from string) (status int) {
	w.t.Helper()
	_, err := s.Login(w.t.Context(), name, "not the password", from)
	refused := (*api.Error)(nil)
	if !errors.As(err, &refused) {
		w.t.Fatalf("a guess: %v", err)
	}
	return refused.Status
}

// TestAccountBudgetSparesItsNetworks, of one process and of replicas: guesses
// from many networks are slowed for the account as a whole; its owner signs in
// from networks where it did before, and elsewhere after the wait.
func TestAccountBudgetSparesItsNetworks(t *testing.T) {
	for _, shared := range []bool{false, true} {
		t.Run(fmt.Sprintf("shared %v", shared), func(t *testing.T) {
			edit := func(o *Options) { o.RequireMFA, o.Shared = false, shared }
			w := newWorld(t, edit)
			two := []*Service{w.Service, w.Service}
			if shared {
				two[1] = w.open(edit)
			}
			w.user("owner", api.RoleAdmin)
			w.login("owner") // from 192.0.2.0/24
			statuses := map[int]int{}
			for i := range 150 {
				statuses[w.guess(two[i%2], "owner", fmt.Sprintf("198.18.%d.7", i))]++
			}
			if statuses[401] != freeAccountTries || statuses[429] != 150-freeAccountTries {
				t.Errorf("150 guesses from 150 networks: %v", statuses)
			}
			if _, err := two[1].Login(t.Context(), "owner", goodPassword, "192.0.2.200"); err != nil {
				t.Errorf("the owner from a known network: %v", err)
			}
			if _, err := two[0].Login(t.Context(), "owner", goodPassword, "203.0.113.1"); !errors.Is(err, api.ErrTooManyRequests) {
				t.Errorf("the owner from a new network: %v", err)
			}
			w.clock.add(maxWait)
			if _, err := two[0].Login(t.Context(), "owner", goodPassword, "203.0.113.1"); err != nil {
				t.Errorf("the owner from a new network, after a minute: %v", err)
			}
			w.clock.add(maxWait)
			if w.guess(two[0], "owner", "198.19.0.1") != 401 || w.guess(two[1], "owner", "198.19.0.1") != 429 {
				t.Error("a sign-in of the owner gives other clients new guesses")
			}
			if _, err := two[1].Login(t.Context(), "owner", goodPassword, "203.0.113.9"); err != nil {
				t.Errorf("the owner, where it is known since: %v", err)
			}
		})
	}
}

// TestAddressesOfAHostCountAsOne: a host has a /64 of addresses.
func TestAddressesOfAHostCountAsOne(t *testing.T) {
	w := newWorld(t, noMFA)
	statuses := map[int]int{}
	for i := range 30 {
		statuses[w.guess(w.Service, "another", fmt.Sprintf("2001:db8::%x", i))]++
	}
	if statuses[401] != freeTries {
		t.Errorf("30 guesses from a /64: %v", statuses)
	}
}

// TestNetworksOfAnAccount: only a complete sign-in makes a network known, the
// latest are kept, and the records do not reveal them.
func TestNetworksOfAnAccount(t *testing.T) {
	w := newWorld(t, nil)
	u := w.user("ana", api.RoleAdmin)
	ana := func() account { return w.account("ana") }
	c := w.login("ana")
	if w.knowsNetwork(ana(), "192.0.2.1") {
		t.Error("a password without the code makes a network known")
	}
	secret := secretOf(t, c.ProvisioningURI)
	if _, err := w.VerifyMFA(t.Context(), c.MFAToken, w.code(secret)); err != nil {
		t.Fatal(err)
	}
	if !w.knowsNetwork(ana(), "192.0.2.99") || w.knowsNetwork(ana(), "192.0.3.1") || !w.knowsNetwork(ana(), api.InProcess) {
		t.Errorf("known: %+v", ana().Networks)
	}
	ben := w.account("ana")
	ben.ID = u.ID + "x"
	if w.knowsNetwork(ben, "192.0.2.1") {
		t.Error("the hash of a network is the same for every account")
	}
	a := ana()
	for i := range maxNetworks {
		a.addNetwork(w.networkHash(a.ID, fmt.Sprintf("10.0.%d.0/24", i)), w.clock.now().Add(time.Duration(i)))
		a.addNetwork(w.networkHash(a.ID, "10.0.0.0/24"), w.clock.now())
	}
	if len(a.Networks) != maxNetworks || w.knowsNetwork(a, "192.0.2.1") || !w.knowsNetwork(a, "10.0.0.1") || !w.knowsNetwork(a, fmt.Sprintf("10.0.%d.1", maxNetworks-1)) {
		t.Errorf("%d networks are kept", len(a.Networks))
	}
	b, err := os.ReadFile(filepath.Join(w.dir, "sunloop.db"))
	if err != nil || bytes.Contains(b, []byte("192.0.2.")) {
		t.Errorf("a network is readable in the records, %v", err)
	}
}
