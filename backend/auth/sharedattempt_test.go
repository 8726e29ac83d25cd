package auth

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"pgregory.net/rapid"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// TestSharedAttemptsAreTheSame holds the slow-down of replicas to that of one
// process, whatever happens.
func TestSharedAttemptsAreTheSame(t *testing.T) {
	records := emptyRecords(t)
	sealer, err := newSealer(Key{1})
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	round := 0
	rapid.Check(t, func(rt *rapid.T) {
		if round++; round > 30 {
			return
		}
		one, all := new(attempts), &sharedAttempts{records, sealer.hash}
		now := time.Unix(1_800_000_000, 0)
		if err := all.sweep(ctx, now.Add(24*time.Hour)); err != nil {
			rt.Fatal(err)
		}
		account, address := rapid.SampledFrom([]string{"ana", "ben"}), rapid.SampledFrom([]string{"192.0.2.1", "192.0.2.2", "198.51.100.3", "203.0.113.4", "203.0.113.5"})
		known := rapid.SampledFrom([]bool{false, false, false, true})
		for range rapid.IntRange(1, 80).Draw(rt, "steps") {
			now = now.Add(time.Duration(rapid.SampledFrom([]int{0, 0, 0, 1, 2, 30, 3000}).Draw(rt, "seconds")) * time.Second)
			who, from := account.Draw(rt, "account"), address.Draw(rt, "address")
			switch rapid.SampledFrom([]string{"try", "try", "try", "try", "succeed", "forgive", "sweep"}).Draw(rt, "what") {
			case "try":
				try := signInAttempt{who, from, known.Draw(rt, "known")}
				a, _ := one.wait(ctx, try, now)
				b, err := all.wait(ctx, try, now)
				if a != b || err != nil {
					rt.Fatalf("one process would wait %v, replicas %v, %v", a, b, err)
				}
				a, _ = one.begin(ctx, try, now)
				b, err = all.begin(ctx, try, now)
				if a != b || err != nil {
					rt.Fatalf("one process waits %v, replicas %v, %v", a, b, err)
				}
			case "succeed":
				try := signInAttempt{who, from, known.Draw(rt, "known")}
				if err := all.succeed(ctx, try); err != nil {
					rt.Fatal(err)
				}
				_ = one.succeed(ctx, try)
			case "forgive":
				if err := all.resetFailures(ctx, who); err != nil {
					rt.Fatal(err)
				}
				_ = one.resetFailures(ctx, who)
			case "sweep":
				if err := all.sweep(ctx, now); err != nil {
					rt.Fatal(err)
				}
			}
		}
	})
}

// TestSharedAttempts: two services over the same records slow down an attacker
// together, an administrator lifts it on both, and the records reveal no names.
func TestSharedAttempts(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.RequireMFA, o.Shared = false, true })
	two := []*Service{w.Service, w.open(func(o *Options) { o.RequireMFA, o.Shared = false, true })}
	w.user("owner", "role_admin")
	try := func(i int, password, from string) error {
		_, err := two[i%2].Login(t.Context(), "owner", password, from)
		return err
	}
	tries := 0
	for i := range 20 {
		if err := try(i, "wrong", "203.0.113.9"); errors.Is(err, api.ErrInvalidCredential) {
			tries++
		}
	}
	if tries != freeTries {
		t.Errorf("%d tries at two services", tries)
	}
	if err := try(1, goodPassword, "198.51.100.7"); err != nil {
		t.Errorf("the owner elsewhere: %v", err)
	}
	if _, _, err := w.boss().ChangeUser(t.Context(), UserRef{Username: "owner"}, UserChange{Unlock: true}); err != nil {
		t.Fatal(err)
	}
	if err := try(1, goodPassword, "203.0.113.9"); err != nil {
		t.Errorf("after it was unlocked: %v", err)
	}
	if err := try(0, "wrong", "203.0.113.9"); err == nil {
		t.Fatal("a wrong password signs in")
	}
	err := w.store.View(t.Context(), func(tx store.Tx) error {
		list, _, err := keptAttempts.List(tx, store.Query{})
		if len(list) == 0 {
			t.Error("nothing is kept")
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(w.dir, "sunloop.db"))
	if err != nil || bytes.Contains(b, []byte("203.0.113.9")) {
		t.Errorf("the address is readable in the records, %v", err)
	}
}
