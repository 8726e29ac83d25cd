package spool

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// TestStored: what is stored elsewhere is there after a restart, a shorter note replaces a
// longer one, and a note that is damaged or of another numbering says nothing.
func TestStored(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, 0)
	if got := s.Stored(); got != nil {
		t.Errorf("of a new spool: %v", got)
	}
	for _, want := range [][][2]int{{{1, 70_000}, {70_010, 70_020}, {70_050, 70_051}}, {{1, 2}}} {
		if err := s.KeepStored(want); err != nil {
			t.Fatal(err)
		}
		again := open(t, dir, 0)
		if got := again.Stored(); !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, storedName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range slices.Index(whole, '\n') + 1 {
		damaged := slices.Clone(whole)
		damaged[i] ^= 4
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := s.Stored(); got != nil {
			t.Errorf("byte %d is damaged: %v", i, got)
		}
		if err := os.WriteFile(path, whole[:i], 0o600); err != nil {
			t.Fatal(err)
		}
		if got := s.Stored(); got != nil {
			t.Errorf("cut at byte %d: %v", i, got)
		}
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.Renumber(1); err != nil {
		t.Fatal(err)
	}
	if got := s.Stored(); got != nil {
		t.Errorf("of the former numbering: %v", got)
	}
	many := make([][2]int, 5000)
	for i := range many {
		many[i] = [2]int{10 * i, 10*i + 1}
	}
	if err := s.KeepStored(many); err != nil {
		t.Fatal(err)
	}
	if got := s.Stored(); !slices.Equal(got, many[:maxRanges]) {
		t.Errorf("%d ranges", len(got))
	}
}
