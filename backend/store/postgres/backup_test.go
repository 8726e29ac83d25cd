//go:build !gateway

package postgres

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// filled is a store with records and telemetry of two sites.
func filled(t *testing.T) jobs {
	t.Helper()
	s := openTest(t, fixed)
	err := s.Update(t.Context(), func(tx store.Tx) error {
		for i := range 300 {
			if err := tx.Put("b", store.Key("customer", fmt.Sprint(i)), fmt.Appendf(nil, "value %d", i)); err != nil {
				return err
			}
		}
		return tx.Put("b", []byte{0, 0xff}, nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, site := range []string{"one", "two"} {
		f := series.Frame{}
		kW := []float64{}
		for i := range 24 * 40 {
			f.Times = append(f.Times, fixed().Add(time.Duration(i-24*40)*time.Hour).Unix())
			kW = append(kW, float64(i%24))
		}
		f.Set(series.PowerKW, kW)
		if err := s.Append(t.Context(), store.SiteKey{ID: site, Zone: time.UTC}, []store.AssetFrame{{AssetID: "a", Frame: f}, {AssetID: "b", Frame: f}}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func backup(t *testing.T, s *Store) []byte {
	t.Helper()
	var b bytes.Buffer
	if n, err := s.Backup(t.Context(), &b); err != nil || n != int64(b.Len()) {
		t.Fatalf("backup of %d bytes, %v", n, err)
	}
	return b.Bytes()
}

// TestBackup: what is restored into an empty database equals the source.
func TestBackup(t *testing.T) {
	was := filled(t)
	b := backup(t, was.Store)
	is := openTest(t, fixed)
	if err := is.Restore(t.Context(), bytes.NewReader(b)); err != nil {
		t.Fatal(err)
	}
	if again := backup(t, is.Store); !bytes.Equal(again, b) {
		t.Errorf("the backup of what was restored has %d bytes, others than the %d of the first", len(again), len(b))
	}
	days := func(s *Store) []store.DaySum {
		sums, err := s.Daily(t.Context(), "two", fixed().AddDate(0, 0, -50), fixed())
		if err != nil || len(sums) == 0 {
			t.Fatal(len(sums), err)
		}
		return sums
	}
	if diff := cmp.Diff(days(was.Store), days(is.Store)); diff != "" {
		t.Error(diff)
	}
	if err := is.Restore(t.Context(), bytes.NewReader(b)); !errors.Is(err, store.ErrExists) {
		t.Errorf("restored over data: %v", err)
	}
}

// TestDamagedBackup: a byte that was changed or lost anywhere is noticed, and
// nothing is left of it.
func TestDamagedBackup(t *testing.T) {
	b := backup(t, filled(t).Store)
	s := openTest(t, fixed)
	for at := 0; at < len(b); at += 1 + len(b)/40 {
		changed := bytes.Clone(b)
		changed[at] ^= 0x20
		for what, bad := range map[string][]byte{"changed": changed, "cut": b[:at]} {
			if err := s.Restore(t.Context(), bytes.NewReader(bad)); err == nil {
				t.Fatalf("%s at %d of %d: restored", what, at, len(b))
			}
		}
	}
	newer := bytes.Clone(b)
	newer[len(backupMagic)+3]++
	if err := s.Restore(t.Context(), bytes.NewReader(newer)); !errors.Is(err, store.ErrNewer) {
		t.Errorf("a newer backup: %v", err)
	}
	if err := s.Restore(t.Context(), bytes.NewReader(b)); err != nil {
		t.Errorf("after the damaged ones, the whole one: %v", err)
	}
}
