package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// samples are those of a batch: its number is their value.
func samples(n, stamps int) []store.AssetFrame {
	f := series.Frame{}
	power := make([]float64, stamps)
	for i := range stamps {
		f.Times = append(f.Times, int64(1_700_000_000+60*n+i))
		power[i] = float64(n)
	}
	f.Set(series.PowerKW, power)
	return []store.AssetFrame{{AssetID: "A", Frame: f}}
}

func open(t testing.TB, dir string, most int64) *Spool {
	t.Helper()
	s, err := Open(dir, Options{MaxBytes: most})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func add(t testing.TB, s *Spool, stamps int) int {
	t.Helper()
	_, next := s.Range()
	n, err := s.Append(samples(next, stamps))
	if err != nil || n != next {
		t.Fatalf("batch %d: %d, %v", next, n, err)
	}
	return n
}

// numbers are those of the batches that can be read, whose values are checked.
func numbers(t testing.TB, s *Spool) (out []int) {
	t.Helper()
	err := s.Read(1, func(b Batch) bool {
		if len(b.Frames) != 1 || b.Points != b.Frames[0].Frame.Len() || b.First != b.Frames[0].Frame.Times[0] {
			t.Fatalf("batch %+v", b)
		}
		out = append(out, int(b.Frames[0].Frame.Values(series.PowerKW)[0]))
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func upTo(first, last int) (out []int) {
	for n := first; n <= last; n++ {
		out = append(out, n)
	}
	return out
}

// TestSpool appends, forgets and opens again.
func TestSpool(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 0)
	epoch := s.Epoch()
	for range 40 {
		add(t, s, 3)
	}
	if got := numbers(t, s); fmt.Sprint(got) != fmt.Sprint(upTo(1, 40)) {
		t.Errorf("%v", got)
	}
	s = open(t, dir, 0)
	if got := numbers(t, s); s.Epoch() != epoch || fmt.Sprint(got) != fmt.Sprint(upTo(1, 40)) {
		t.Errorf("%s, %v", s.Epoch(), got)
	}
	if err := s.rotate(41); err != nil {
		t.Fatal(err)
	}
	if err := s.Forget(40); err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, s); len(got) != 40 {
		t.Errorf("forgot %v too early", got)
	}
	if err := s.Forget(41); err != nil {
		t.Fatal(err)
	}
	s = open(t, dir, 0)
	if first, next := s.Range(); first != 41 || next != 41 || s.Epoch() != epoch || len(numbers(t, s)) != 0 {
		t.Errorf("from %d, next %d", first, next)
	}
}

// TestCut cuts the newest segment at every byte: whole batches stay, and numbers continue.
func TestCut(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 0)
	var ends []int64
	for range 3 {
		add(t, s, 2)
		ends = append(ends, s.size())
	}
	whole, err := os.ReadFile(s.path(1))
	if err != nil {
		t.Fatal(err)
	}
	for n := range whole {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "0000000001.seg"), whole[:n], 0o600); err != nil {
			t.Fatal(err)
		}
		want := 0
		for _, end := range ends {
			if int64(n) >= end {
				want++
			}
		}
		s, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := numbers(t, s); len(got) != want {
			t.Fatalf("cut at %d: %v, want %d batches", n, got, want)
		}
		add(t, s, 2)
		if got := numbers(t, s); len(got) != want+1 {
			t.Fatalf("cut at %d and continued: %v", n, got)
		}
		_ = s.Close()
	}
}

// TestDamage changes each byte of a segment that is not the newest: what is read was
// written, and the rest is counted.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 0)
	for range 3 {
		add(t, s, 2)
	}
	if err := s.rotate(4); err != nil {
		t.Fatal(err)
	}
	add(t, s, 2)
	whole, err := os.ReadFile(s.path(1))
	if err != nil {
		t.Fatal(err)
	}
	for i := range whole {
		changed := append([]byte(nil), whole...)
		changed[i] ^= 0x55
		if err := os.WriteFile(s.path(1), changed, 0o600); err != nil {
			t.Fatal(err)
		}
		got := map[int]bool{}
		_ = s.Read(1, func(b Batch) bool {
			if len(b.Frames) == 1 && b.Frames[0].Frame.At(series.PowerKW, 0) != float64(b.Sequence) {
				t.Fatalf("byte %d: batch %d is %+v", i, b.Sequence, b)
			}
			got[b.Sequence] = true
			return true
		})
		if !got[4] {
			t.Fatalf("byte %d: the other segment was not read", i)
		}
	}
	if s.Status().Damaged == 0 {
		t.Error("no damage was counted")
	}
}

// TestFull drops the oldest segments of a full spool, and counts what is lost.
func TestFull(t *testing.T) {
	s := open(t, t.TempDir(), 4<<10)
	for range 60 {
		add(t, s, 1)
		if s.next()%10 == 0 {
			if err := s.rotate(s.next()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for range 60 {
		add(t, s, 1)
	}
	st := s.Status()
	got := numbers(t, s)
	if st.Bytes > st.MaxBytes || st.Dropped.Batches == 0 || st.Dropped.Points != int64(st.Dropped.Batches) || len(got) != 120-st.Dropped.Batches || got[len(got)-1] != 120 {
		t.Errorf("%+v, batches %v", st, got)
	}
	tiny := open(t, t.TempDir(), 64)
	if _, err := tiny.Append(samples(1, 100)); !errors.Is(err, ErrFull) {
		t.Errorf("a batch that does not fit: %v", err)
	}
}

// TestRenumber gives batches a new epoch; interrupted at any step, a start finds the
// former numbering or the new one, and the same batches.
func TestRenumber(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 0)
	for range 5 {
		add(t, s, 1)
	}
	former := s.Epoch()
	before := t.TempDir()
	if err := os.CopyFS(before, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := s.Renumber(3); err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, s); s.Epoch() == former || fmt.Sprint(got) != "[3 4 5]" {
		t.Errorf("%v", got)
	}
	n := add(t, s, 1)
	s = open(t, dir, 0)
	if got := numbers(t, s); fmt.Sprint(got) != fmt.Sprint([]int{3, 4, 5, n}) || s.Epoch() == former {
		t.Errorf("opened again: %v", got)
	}
	// Stopped before the epoch's file: the former segments count.
	if err := os.CopyFS(before, os.DirFS(dir)); err == nil {
		if err := os.Remove(filepath.Join(before, epochName)); err != nil {
			t.Fatal(err)
		}
	}
	s = open(t, before, 0)
	if got := numbers(t, s); s.Epoch() != former || fmt.Sprint(got) != "[1 2 3 4 5]" {
		t.Errorf("stopped before the switch: %v", got)
	}
	// Stopped behind it: the new ones.
	after := t.TempDir()
	if err := errors.Join(os.CopyFS(after, os.DirFS(dir)), os.WriteFile(filepath.Join(after, "0000000001.seg"), []byte(magic+former+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	s = open(t, after, 0)
	if got := numbers(t, s); s.Epoch() == former || fmt.Sprint(got) != fmt.Sprint([]int{3, 4, 5, n}) {
		t.Errorf("stopped behind the switch: %v", got)
	}
}

// FuzzOpen opens any bytes as a segment: nothing that is read was not written as a whole.
func FuzzOpen(f *testing.F) {
	dir := f.TempDir()
	s := open(f, dir, 0)
	add(f, s, 2)
	add(f, s, 3)
	whole, err := os.ReadFile(s.path(1))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(whole[:len(whole)-3])
	f.Add([]byte(magic + strings.Repeat("0", 32) + "\n\xff\xff\xff\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "0000000001.seg"), b, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		_ = s.Read(1, func(b Batch) bool {
			for _, a := range b.Frames {
				if err := a.Frame.Check(); err != nil {
					t.Fatal(err)
				}
			}
			return true
		})
		_, next := s.Range()
		if n, err := s.Append(samples(next, 1)); err != nil || n != next {
			t.Fatal(n, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// BenchmarkAppend appends a batch of 25 units with 12 values each, and reports the bytes
// of a value.
func BenchmarkAppend(b *testing.B) {
	s := open(b, b.TempDir(), 0)
	at := time.Unix(1_700_000_000, 0)
	for b.Loop() {
		var frames []store.AssetFrame
		for u := range 25 {
			f := series.Frame{Times: []int64{at.Unix()}}
			for q := series.Quantity(1); q <= 12; q++ {
				f.Set(q, []float64{float64(u) + float64(at.Unix()%977)/10})
			}
			frames = append(frames, store.AssetFrame{AssetID: fmt.Sprintf("INV-%02d", u), Frame: f})
		}
		at = at.Add(10 * time.Second)
		if _, err := s.Append(frames); err != nil {
			b.Fatal(err)
		}
	}
	st := s.Status()
	b.ReportMetric(float64(st.Bytes+int64(st.Dropped.Batches))/float64(st.Points), "B/point")
}
