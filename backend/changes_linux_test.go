package backend

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/store/faultfs"
	"app.sunloop/internal/longtest"
)

// changeDir gives a copy of the test program its working folder under watch, and
// changeKind the change of the site that it makes.
const (
	changeDir  = "SUNLOOP_TEST_CHANGE_DIR"
	changeKind = "SUNLOOP_TEST_CHANGE_KIND"
)

func changeConfig(dir string) Config {
	return Config{DataDir: dir, Now: func() time.Time { return siteNow }, Wall: time.Now, TrainingDays: 100_000, Tick: 5 * time.Millisecond, Settle: time.Millisecond, Quiet: 20 * time.Millisecond, KeyRate: 100_000,
		Argon: &argon2id.Params{Memory: 1024, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}}
}

// TestChangeChild is the program that is interrupted: it imports two files, says "begin",
// changes the site, and says "end" when the change has ended.
func TestChangeChild(t *testing.T) {
	dir := os.Getenv(changeDir)
	if dir == "" {
		t.Skip("it runs for TestInterruptedChanges")
	}
	if _, err := faultfs.Enter(); err != nil {
		t.Fatal(err)
	}
	s, err := New(changeConfig(dir))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	ctx := t.Context()
	key, _, err := s.Auth().CreateKey(ctx, auth.NewKey{Name: "test", Role: api.RoleAdmin, Customers: []string{api.Every}})
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("key", key)
	h := &instance{t: t, service: s, key: key}
	h.connect()
	day := time.Date(2026, 6, 10, 0, 0, 0, 0, time.UTC)
	h.send("roof", "Europe/Vienna", localDays(day, 2, 1, "INV-1", "INV-2"))
	h.send("roof", "Europe/Vienna", localDays(day.AddDate(0, 0, 1), 2, 0.5, "SN-77", "SN-78"))
	fmt.Println("begin")
	switch os.Getenv(changeKind) {
	case api.ChangeZone:
		_, err = h.SetZone(ctx, api.SiteRef{CustomerID: "acme", SiteID: "roof"}, "Asia/Kolkata", false)
	case api.ChangeMerge:
		_, err = h.MergeAssets(ctx, api.AssetRef{AssetID: "INV-1", SiteID: "roof", CustomerID: "acme"}, "SN-77", false)
	}
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println("accepted")
	h.changed("roof")
	fmt.Println("end")
	h.Client.Close()
	if err := errors.Join(s.Close(), <-ended); err != nil {
		t.Fatal(err)
	}
}

// TestInterruptedChanges ends a change of a time zone and a merge of units after each
// write that reaches the disk, with all, none or any of what was not synced: the folder
// that is left has all values of the former state or all of the new one, and when the
// service runs again, a change that was accepted ends, with the same result.
func TestInterruptedChanges(t *testing.T) {
	// In the short form, one kind of change and few interruptions, which lose all that is not synced.
	kinds, every, seeds := []string{api.ChangeMerge}, 11, uint64(1)
	if all := os.Getenv("SUNLOOP_TEST_FAULTS") != ""; all || longtest.Enabled() {
		kinds, every, seeds = []string{api.ChangeZone, api.ChangeMerge}, 19, 3
		if all {
			every = 1
		}
	}
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Setenv(changeKind, kind)
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			events, err := watchedEvents(t, "TestChangeChild", changeDir, dir, func(faultfs.Event) faultfs.Effect { return faultfs.Effect{} })
			if err != nil {
				t.Fatal(err)
			}
			key := ""
			disk, begun, accepted := faultfs.NewDisk(), false, false
			former := map[string]map[int64]float64{}
			now := changedState(t, dir, nil, false)
			writes, points := 0, 0 // since the change began
			for i, e := range events {
				if e.Op == faultfs.Marker {
					word, rest, _ := strings.Cut(strings.TrimSpace(string(e.Data)), " ")
					switch word {
					case "key":
						key = rest
					case "begin":
						begun = true
						former = changedState(t, left(t, disk, 0), nil, false)
					case "accepted":
						accepted = true
					case "end":
						begun = false
					}
					continue
				}
				disk.Apply(e)
				if !begun {
					continue
				}
				if writes++; (writes-1)%every != 0 {
					continue
				}
				points++
				for seed := range seeds {
					folder := left(t, disk, seed)
					if got := changedState(t, folder, nil, false); !sameUnits(got, former) && !sameUnits(got, now) {
						t.Fatalf("after event %d, %s %s: neither the former nor the new values are stored", i, e.Op, e.Path)
					}
					got := changedState(t, folder, &key, true)
					if sameUnits(got, now) {
						continue
					}
					if accepted || !sameUnits(got, former) {
						t.Fatalf("after event %d, %s %s: the change did not end, accepted %t", i, e.Op, e.Path, accepted)
					}
				}
			}
			if points == 0 || sameUnits(former, now) {
				t.Fatalf("%d interruptions of %d events", points, len(events))
			}
			t.Logf("%d interruptions", points)
		})
	}
}

// left writes what an interruption leaves: of what is not synced, nothing for seed 0,
// all for seed 1, else any part.
func left(t *testing.T, disk *faultfs.Disk, seed uint64) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "left")
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // chooses sectors
	keep := func() bool { return seed == 1 || seed > 1 && random.IntN(2) == 0 }
	if err := disk.WriteFolder(dir, keep); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// changedState opens a folder, runs its service until no change of the site runs if run
// is true, and returns the values of its units. The folder has no faults afterwards.
func changedState(t *testing.T, dir string, key *string, run bool) map[string]map[int64]float64 {
	t.Helper()
	s, err := New(changeConfig(dir))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	h := &instance{t: t, service: s}
	if run && key != nil {
		go func() { ended <- s.Run(context.Background()) }()
		h.key = *key
		h.connect()
		h.changed("roof")
		h.Client.Close()
	} else {
		ended <- nil
	}
	out := map[string]map[int64]float64{}
	for _, unit := range []string{"INV-1", "INV-2", "SN-77", "SN-78"} {
		out[unit] = h.values("roof", unit)
	}
	if err := errors.Join(s.Close(), <-ended); err != nil {
		t.Fatal(err)
	}
	if found, err := checkFolder(t.Context(), dir); err != nil || len(found.Faults) > 0 {
		t.Fatalf("the folder has %q, %v", found.Faults, err)
	}
	return out
}

// sameUnits reports whether two states have the same values of all units.
func sameUnits(a, b map[string]map[int64]float64) bool {
	for unit, values := range a {
		if len(values)+len(b[unit]) > 0 && !same(values, b[unit]) {
			return false
		}
	}
	return len(a) == len(b)
}
