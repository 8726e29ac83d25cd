package forecast

import (
	"bytes"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/engine/learn/artifact"
	"app.sunloop/engine/series"
)

func encoded(t testing.TB) (*Model, Artifact) {
	m := trainedOnce(t).model
	a, err := Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	return m, a
}

func TestArtifactRoundTrip(t *testing.T) {
	m, a := encoded(t)
	t.Logf("model %d, encoders %d, config %d bytes", len(a.Model), len(a.Encoders), len(a.Config))
	back, err := Decode(a)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Encode(back)
	if err != nil {
		t.Fatal(err)
	}
	if a.Hash() != again.Hash() {
		t.Error("a decoded model encodes to other bytes")
	}
	h := trainedOnce(t).history
	issue := testStart.AddDate(0, 0, testDays-2) // two days of it with weather
	want, err := m.Forecast(issue, series.Series{}, cloudy(h, issue.AddDate(0, 0, -2), 96*time.Hour), 72*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	got, err := back.Forecast(issue, series.Series{}, cloudy(h, issue.AddDate(0, 0, -2), 96*time.Hour), 72*time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if want[i].P10KW != got[i].P10KW || want[i].P50KW != got[i].P50KW || want[i].P90KW != got[i].P90KW {
			t.Fatalf("point %d: %+v, %+v", i, want[i], got[i])
		}
	}
	if diff := cmp.Diff(m.Report(), back.Report()); diff != "" {
		t.Error(diff)
	}
	if back.Site().ID != testSite.ID || back.Step() != m.Step() || !slices.Equal(back.Quantiles(), m.Quantiles()) {
		t.Error("the decoded model is of something else")
	}
}

func TestSpoiledArtifactsAreRefused(t *testing.T) {
	_, a := encoded(t)
	for name, spoil := range map[string]func(*Artifact){
		"model cut":        func(a *Artifact) { a.Model = a.Model[:len(a.Model)/2] },
		"model's byte":     func(a *Artifact) { a.Model = slices.Clone(a.Model); a.Model[len(a.Model)-9]++ },
		"encoders swapped": func(a *Artifact) { a.Encoders = a.Model },
		"no config":        func(a *Artifact) { a.Config = nil },
		"other format":     func(a *Artifact) { a.Config = bytes.Replace(a.Config, []byte(`"format": 3`), []byte(`"format": 1`), 1) },
		"other step": func(a *Artifact) {
			a.Config = bytes.Replace(a.Config, []byte(`"step_seconds": 3600`), []byte(`"step_seconds": 7`), 1)
		},
		"capacity zero": func(a *Artifact) {
			a.Config = bytes.Replace(a.Config, []byte(`"capacity_kw": 50`), []byte(`"capacity_kw": 0`), 1)
		},
		"season features": func(a *Artifact) {
			a.Config = bytes.ReplaceAll(a.Config, []byte(`"season": false`), []byte(`"season": true`))
		},
	} {
		b := a
		spoil(&b)
		if _, err := Decode(b); !errors.Is(err, artifact.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Any bytes with matching checksums answer a model or an error, never a panic.
func FuzzDecodeModel(f *testing.F) {
	h := synthetic(testSite, testStart, 3, time.Hour, 1)
	m, _, err := ColdStart(f.Context(), testSite, h, Options{})
	if err != nil {
		f.Fatal(err)
	}
	a, err := Encode(m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(a.Model, a.Encoders, a.Config)
	f.Fuzz(func(t *testing.T, model, encoders, config []byte) {
		b := Artifact{Model: model, Encoders: encoders, Config: bytes.ReplaceAll(config, []byte(artifact.Hash(a.Model)), []byte(artifact.Hash(model)))}
		b.Config = bytes.ReplaceAll(b.Config, []byte(artifact.Hash(a.Encoders)), []byte(artifact.Hash(encoders)))
		if m, err := Decode(b); err == nil {
			_ = m.ClearSkyKW(testStart)
		} else if !errors.Is(err, artifact.ErrMalformed) {
			t.Fatal(err)
		}
	})
}
