package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/tui"
	"app.sunloop/tui/view"
)

func TestPlaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sunloop", "places.json")
	here, there := places{path, "https://ops.example.com"}, places{path, "embedded /data"}
	anna := tui.Place{Site: "Sibaya", Panes: "Orient 38x60", Lists: map[string]view.Memory{"Orient/findings": {Sort: "lost", Reverse: true, Shown: []string{"unit", "lost"}}}, Recent: []string{"do zoom"}}
	if err := here.Keep("u1", anna); err != nil {
		t.Fatal(err)
	}
	if err := there.Keep("u1", tui.Place{Site: "Havelland"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(anna, here.Place("u1")); diff != "" {
		t.Error(diff)
	}
	if got := there.Place("u1").Site + here.Place("u2").Site; got != "Havelland" {
		t.Errorf("the other service and the other person: %q", got)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	for i := range 40 {
		if err := there.Keep(fmt.Sprint("guest", i), tui.Place{Site: strings.Repeat("x", i)}); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(here.read()); n != maxPlaces || here.Place("u1").Site != "" || there.Place("guest39").Site == "" {
		t.Errorf("%d places are kept", n)
	}
	if err := there.Keep("guest39", tui.Place{}); err != nil || there.Place("guest39").Site != "" {
		t.Errorf("it is not forgotten: %v", err)
	}
}

// A broken file is no place, and the next one is written over it.
func TestBrokenPlaces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "places.json")
	for _, text := range []string{"{", "[{\"who\": 3}]", "null", strings.Repeat("[", maxPlaceBytes+2)} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		p := places{path, "embedded"}
		if got := p.Place("u1"); got.Site != "" {
			t.Errorf("%.20s: %+v", text, got)
		}
		if err := p.Keep("u1", tui.Place{Site: "Sibaya"}); err != nil || p.Place("u1").Site != "Sibaya" {
			t.Errorf("%.20s stays: %v", text, err)
		}
	}
}
