package storetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// recordsTogether: reads of Together have the values that they have alone.
func recordsTogether(t *testing.T, h Store) {
	const n = 12
	for i := range n {
		var kv []string
		site := fmt.Sprintf("s%02d", i)
		for k := range 13 * i {
			kv = append(kv, string(store.Key(site, fmt.Sprintf("%03d", k))), fmt.Sprint(site, k))
		}
		put(t, h, "list", kv...)
		put(t, h, "one", string(store.Key(site)), site, site, "whole")
	}
	put(t, h, "one", string(store.Key("empty")), "")
	read := func(ctx context.Context, i int) (out []string, err error) {
		site := fmt.Sprintf("s%02d", i)
		err = h.View(ctx, func(tx store.Tx) error {
			out = nil
			note := func(v []byte, err error) error {
				out = append(out, fmt.Sprintf("%s %v", v, errors.Is(err, store.ErrNotFound)))
				if errors.Is(err, store.ErrNotFound) {
					return nil
				}
				return err
			}
			for _, key := range [][]byte{store.Key(site), []byte(site), store.Key("empty"), store.Key("absent", site)} {
				if err := note(tx.Get("one", key)); err != nil {
					return err
				}
			}
			keys := [][]byte{store.Key(site, "001"), store.Key(site, "000"), store.Key(site, "none"), store.Key(site, "001")}
			values, err := store.GetMany(tx, "list", keys)
			if err != nil {
				return err
			}
			out = append(out, fmt.Sprintf("%q", values))
			all := store.Key(site)
			for _, r := range []struct{ from, to []byte }{
				{all, store.After(all)},
				{store.Key(site, "002"), store.Key(site, "070")},
				{store.Key(site, "002"), store.After(all)},
				{store.Key("s00"), store.Key("s03")},
				{store.Key(site, "002"), nil},
				{all, all},
			} {
				for _, reverse := range []bool{false, true} {
					for e, err := range tx.Scan("list", r.from, r.to, reverse) {
						if err != nil {
							return err
						}
						if out = append(out, fmt.Sprintf("%q %s", e.Key, e.Value)); len(out)%40 == 0 {
							break
						}
					}
				}
			}
			if err := tx.Put("one", []byte("k"), nil); !errors.Is(err, store.ErrReadOnly) {
				t.Errorf("a write in a View: %v", err)
			}
			return nil
		})
		return out, err
	}
	got := make([][]string, n)
	ok(t, h.Together(t.Context(), n, func(ctx context.Context, i int) (err error) {
		got[i], err = read(ctx, i)
		return err
	}))
	for i := range n {
		want, err := read(t.Context(), i)
		ok(t, err)
		if diff := cmp.Diff(want, got[i]); diff != "" {
			t.Errorf("reads of %d are others than alone: %s", i, diff)
		}
	}
}

// recordsTogetherEnds: an error or a cancelled context of one is no other's, one that waits
// for another does not stop all, and one that has other goroutines gets their reads too.
func recordsTogetherEnds(t *testing.T, h Store) {
	put(t, h, "b", string(store.Key("a", "1")), "v")
	one := func(ctx context.Context) error {
		return h.View(ctx, func(tx store.Tx) error {
			v, err := tx.Get("b", store.Key("a", "1"))
			if err == nil && string(v) != "v" {
				err = fmt.Errorf("the value is %q", v)
			}
			return err
		})
	}
	ok(t, h.Together(t.Context(), 0, nil))
	mine := errors.New("mine")
	var mu sync.Mutex // held over a read, as by a cache that is filled once
	done := make([]bool, 4)
	err := h.Together(t.Context(), len(done), func(ctx context.Context, i int) error {
		done[i] = true
		switch i {
		case 0:
			return mine
		case 1:
			gone, cancel := context.WithCancel(ctx)
			cancel()
			if err := one(gone); !errors.Is(err, context.Canceled) {
				return fmt.Errorf("a cancelled read: %w", err)
			}
			return one(ctx)
		case 2:
			var all sync.WaitGroup
			errs := make([]error, 3)
			for i := range errs {
				all.Go(func() { errs[i] = one(ctx) })
			}
			all.Wait()
			return errors.Join(errs...)
		}
		mu.Lock()
		defer mu.Unlock()
		return one(ctx)
	})
	if !errors.Is(err, mine) || errors.Is(err, context.Canceled) || slices.Contains(done, false) {
		t.Errorf("%v, %v", err, done)
	}
	ok(t, h.Together(t.Context(), 3, func(ctx context.Context, _ int) error {
		mu.Lock() // the others wait for the one that reads
		defer mu.Unlock()
		return one(ctx)
	}))
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Together(gone, 2, func(ctx context.Context, _ int) error { return one(ctx) }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end of the context: %v", err)
	}
}

// telemetryTogether: what Together reads of sites is what is read of each.
func telemetryTogether(t *testing.T, tt *telemetryTest) {
	now := tt.clock.Now()
	const n = 12
	midnight := series.Midnight(now, zone(t, "Europe/Vienna"))
	site := func(i int) string { return fmt.Sprintf("site%d", i) }
	for i := 1; i < n; i++ { // site 0 has nothing
		key := store.SiteKey{ID: site(i), Zone: zone(t, "Europe/Vienna")}
		kW := make([]float64, 288*(i%4)+7*i)
		for k := range kW {
			kW[k] = float64(k%90) + float64(i)
		}
		from := midnight.AddDate(0, 0, -(i % 4))
		tt.append(key, store.AssetFrame{AssetID: "b", Frame: power(from, 5*time.Minute, kW...)}, store.AssetFrame{AssetID: "a", Frame: power(from.Add(time.Hour), time.Hour, 1, 2, 3)})
	}
	type read struct {
		Latest, Units, Some []store.AssetFrame
		Days, Today         []store.DaySum
		Steps               map[string]int64
		First, Last         time.Time
		Frame, Open         series.Frame
	}
	units := func(ctx context.Context, id string, ids ...string) (out []store.AssetFrame, err error) {
		for f, err := range tt.storage.ReadUnits(ctx, id, ids, midnight.Add(-time.Hour), now.Add(time.Second), series.PowerKW) {
			if err != nil {
				return nil, err
			}
			out = append(out, f)
		}
		return out, nil
	}
	all := func(ctx context.Context, id string) (r read, err error) {
		errs := make([]error, 9)
		r.Days, errs[0] = tt.storage.Daily(ctx, id, midnight.AddDate(0, 0, -9), now)
		r.Latest, errs[1] = tt.storage.Latest(ctx, id)
		r.Units, errs[2] = units(ctx, id, "b", "none", "a")
		r.Today, errs[3] = tt.storage.Daily(ctx, id, midnight, series.NextMidnight(now, midnight.Location()), "b")
		r.Some, errs[4] = units(ctx, id, "a")
		r.First, r.Last, _, errs[5] = tt.storage.Period(ctx, id, "")
		r.Frame, errs[6] = store.Collect(tt.storage.Read(ctx, id, "b", longAgo, farOff))
		r.Open, errs[7] = store.Collect(tt.storage.Read(ctx, id, "b", midnight.Add(time.Hour), midnight.Add(2*time.Hour)))
		r.Steps, errs[8] = tt.storage.Steps(ctx, id)
		return r, errors.Join(errs...)
	}
	got := make([]read, n)
	ok(t, tt.storage.Together(t.Context(), n, func(ctx context.Context, i int) (err error) {
		got[i], err = all(ctx, site(i))
		return err
	}))
	for i := range n {
		want, err := all(t.Context(), site(i))
		ok(t, err)
		if diff := cmp.Diff(want, got[i], cmpopts.EquateNaNs()); diff != "" {
			t.Errorf("site %d: %s", i, diff)
		}
	}
	if len(got[7].Frame.Times) == 0 || len(got[7].Open.Times) == 0 && len(got[3].Open.Times) == 0 {
		t.Error("nothing was read")
	}
}
