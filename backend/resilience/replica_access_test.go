//go:build !windows

package resilience

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"app.sunloop/backend/api"
)

// sharedRate: of 120 requests that one key sends to three replicas within a
// minute, 60 are taken.
func (c *cluster) sharedRate(t *testing.T) {
	root := at(c.front.URL, c.askers...)
	defer root.Close()
	for range 5 { // on a busy machine the 120 may take more than the minute
		key := newKey(t, root.Client, tenant, api.RoleAnalyst)
		var taken, refused atomic.Int64
		var all sync.WaitGroup
		begun := time.Now()
		for i := range 12 {
			all.Go(func() {
				v := visitorAt(c.replica(i%replicas).URL, key)
				defer v.Close()
				for range 10 {
					_, err := v.Sites(t.Context(), api.ListQuery{CustomerID: tenant})
					switch status, other := refusal(err); {
					case status == http.StatusOK:
						taken.Add(1)
					case status == http.StatusTooManyRequests:
						refused.Add(1)
					default:
						t.Errorf("it answers %d, %v", status, other)
					}
				}
			})
		}
		all.Wait()
		if time.Since(begun) >= time.Minute {
			continue
		}
		if taken.Load() != api.RequestsPerMinute || refused.Load() != 120-api.RequestsPerMinute {
			t.Errorf("%d were taken, %d refused", taken.Load(), refused.Load())
		}
		return
	}
	t.Error("120 requests never fit into a minute")
}

// revokedKey: a key that was used at each replica opens none a minute after it
// was revoked at one.
func (c *cluster) revokedKey(t *testing.T) {
	root := at(c.replica(0).URL, c.askers...)
	defer root.Close()
	made, err := root.CreateKey(t.Context(), api.KeysRequest{Name: "to be revoked", RoleID: api.RoleAnalyst, CustomerIDs: []string{tenant}})
	if err != nil {
		t.Fatal(err)
	}
	var holders []visitor
	for i := range replicas {
		v := visitorAt(c.replica(i).URL, made.APIKey)
		defer v.Close()
		if _, err := v.Sites(t.Context(), api.ListQuery{CustomerID: tenant}); err != nil {
			t.Fatal(err)
		}
		holders = append(holders, v)
	}
	if _, err := root.RevokeKey(t.Context(), made.APIKeyID); err != nil {
		t.Fatal(err)
	}
	revoked := time.Now()
	for i, v := range holders {
		for {
			asked := time.Since(revoked)
			_, err := v.Sites(t.Context(), api.ListQuery{CustomerID: tenant})
			status, other := refusal(err)
			if other != nil {
				t.Fatal(other)
			}
			if status == http.StatusUnauthorized {
				t.Logf("replica %d refuses the key after %s", i, asked.Round(time.Millisecond))
				break
			}
			if asked > time.Minute {
				t.Errorf("replica %d answers the key with %d %s after it was revoked", i, status, asked)
				break
			}
			time.Sleep(2 * time.Second)
		}
	}
}

// oneTimeCode: of the replicas that are shown one code at a time, one takes it,
// and none does so later.
func (c *cluster) oneTimeCode(t *testing.T) {
	root := at(c.front.URL, c.askers...)
	defer root.Close()
	const name = "heidi"
	newUser(t, root.Client, tenant, api.RoleAnalyst, name, goodPassword)
	person := visitorAt(c.replica(0).URL, "")
	defer person.Close()
	challenge, err := person.Login(t.Context(), name, goodPassword)
	if err != nil {
		t.Fatal(err)
	}
	factor, err := otp.NewKeyFromURL(challenge.ProvisioningURI)
	if err != nil {
		t.Fatal(err)
	}
	code := func(ahead time.Duration) string {
		text, err := totp.GenerateCode(factor.Secret(), time.Now().Add(ahead))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	enrolled := code(0)
	if _, err := person.VerifyMFA(t.Context(), challenge.MFAToken, enrolled); err != nil {
		t.Fatal(err)
	}
	// show shows a code to all replicas and returns how many took it.
	show := func(code string) int64 {
		var taken atomic.Int64
		var ready, all sync.WaitGroup
		ready.Add(replicas)
		for i := range replicas {
			all.Go(func() {
				v := visitorAt(c.replica(i).URL, "")
				defer v.Close()
				challenge, err := v.Login(t.Context(), name, goodPassword)
				ready.Done()
				if err != nil {
					t.Errorf("replica %d: %v", i, err)
					return
				}
				ready.Wait()
				_, err = v.VerifyMFA(t.Context(), challenge.MFAToken, code)
				switch status, other := refusal(err); {
				case status == http.StatusOK:
					taken.Add(1)
				case status != http.StatusUnauthorized:
					t.Errorf("replica %d answers %d, %v", i, status, other)
				}
			})
		}
		all.Wait()
		return taken.Load()
	}
	if n := show(enrolled); n != 0 {
		t.Errorf("%d replicas took the code of the enrolment", n)
	}
	next := code(30 * time.Second)
	if n := show(next); n != 1 {
		t.Errorf("%d replicas took a code that was shown to all at a time", n)
	}
	if n := show(next); n != 0 {
		t.Errorf("%d replicas took a code that had been used", n)
	}
}
