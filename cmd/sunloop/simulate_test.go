package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
)

// A measured file with one loss of each kind and as it is becomes cases that score reads.
func TestSimulateInto(t *testing.T) {
	site := simulate.Clean(7, time.Date(2025, 4, 1, 0, 0, 0, 0, time.UTC), 1).Sites[2]
	f := site.Frames(site.Start, site.Start.AddDate(0, 0, 150), time.Hour)[site.Units[0].AssetID]
	var b strings.Builder
	b.WriteString("timestamp,power_kw\n")
	for i, at := range f.Times {
		fmt.Fprintf(&b, "%s,%.3f\n", time.Unix(at, 0).UTC().Format(time.RFC3339), f.At(series.PowerKW, i))
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "roof.csv")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	latitude, longitude := site.Location.LatitudeDeg, site.Location.LongitudeDeg
	cmd := SimulateCmd{Seeds: 1, Seed: 1, Out: filepath.Join(dir, "out"), Into: file, Kinds: []string{"string_outage", "inverter_outage"}, Latitude: &latitude, Longitude: &longitude}
	var out bytes.Buffer
	if err := cmd.Run(streams{out: &out}); err != nil {
		t.Fatal(err)
	}
	body, err := os.ReadFile(filepath.Join(dir, "out", "truth.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Name   string
		Clean  bool
		Events []struct {
			Kind, Cause string
			LostKWh     float64 `json:"lost_kwh"`
		}
	}
	if err := json.Unmarshal(body, &cases); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range cases {
		names = append(names, c.Name)
		if c.Clean != (len(c.Events) == 0) || len(c.Events) > 1 {
			t.Errorf("%s: clean %v with %d events", c.Name, c.Clean, len(c.Events))
		}
		for _, e := range c.Events {
			if e.Cause != "injected" || e.LostKWh <= 0 {
				t.Errorf("%s: %+v", c.Name, e)
			}
		}
	}
	if want := []string{"roof/clean", "roof/string_outage-1", "roof/inverter_outage-1"}; !slices.Equal(names, want) {
		t.Errorf("cases %q, want %q", names, want)
	}
	score := ScoreCmd{Dir: []string{cmd.Out}, Measured: true, Jobs: 1}
	out.Reset()
	if err := score.Run(context.Background(), streams{out: &out}); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); !strings.Contains(text, "power alone") || !strings.Contains(text, "Calibration error") {
		t.Errorf("the score says\n%s", text)
	}
}

// What does not go together is refused with its reason.
func TestSimulateRefusals(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f.csv")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		run  func() error
		want string
	}{
		{func() error { return (&SimulateCmd{Seeds: 1, Out: dir, Kinds: []string{"soiling"}}).Run(streams{}) }, "--kinds: needs --into"},
		{func() error {
			return (&SimulateCmd{Seeds: 1, Out: dir, Into: file, Kinds: []string{"rust"}}).Run(streams{})
		}, `"rust" is no kind of loss`},
		{func() error {
			return (&ScoreCmd{Dir: []string{dir}, Seeds: "1-2"}).Run(context.Background(), streams{})
		}, "--dir: cannot be combined"},
		{func() error {
			return (&ScoreCmd{Dir: []string{dir}, Measured: true, Practice: true}).Run(context.Background(), streams{})
		}, "go together"},
	} {
		err := c.run()
		var usage *failure
		if err == nil || !strings.Contains(err.Error(), c.want) || !errors.As(err, &usage) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}
