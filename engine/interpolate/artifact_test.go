package interpolate

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/engine/learn/artifact"
	"app.sunloop/engine/series"
)

func TestArtifactRoundTrip(t *testing.T) {
	f := trainedOnce(t)
	a, err := Encode(f.model)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("model %d, encoders %d, config %d bytes", len(a.Model), len(a.Encoders), len(a.Config))
	back, err := Decode(a)
	if err != nil {
		t.Fatal(err)
	}
	again, err := Encode(back)
	if err != nil || again.Hash() != a.Hash() {
		t.Errorf("a decoded model encodes to other bytes (%v)", err)
	}
	if diff := cmp.Diff(f.model.Report(), back.Report()); diff != "" {
		t.Error(diff)
	}
	gap := series.Gap{From: testStart.AddDate(0, 0, 40).Add(9 * time.Hour), To: testStart.AddDate(0, 0, 41).Add(13 * time.Hour)}
	want, err := f.model.Fill(f.power, gap, f.wx)
	if err != nil {
		t.Fatal(err)
	}
	got, err := back.Fill(f.power, gap, f.wx)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if back.Site().ID != testSite.ID || back.Step() != time.Hour {
		t.Error("the decoded model is of something else")
	}
}

// The same data and seed give the same bytes on any number of workers and
// processors and with every kernel.
func TestTrainingIsTheSameEverywhere(t *testing.T) {
	power, wx := synthetic(50, time.Hour)
	hash := func(o Options) string {
		m, _, err := Train(context.Background(), testSite, power, wx, o)
		if err != nil {
			t.Fatal(err)
		}
		a, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		return a.Hash()
	}
	want := hash(Options{Workers: 2, Seed: 5, updates: 8})
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	if got := hash(Options{Workers: 3, Seed: 5, updates: 8}); got != want {
		t.Error("three workers on one processor train another model")
	}
	runtime.GOMAXPROCS(before)
	if got := hash(Options{Workers: 1, Seed: 5, updates: 8, plain: true}); got != want {
		t.Error("the plain kernels train another model")
	}
	if got := hash(Options{Workers: 2, Seed: 6, updates: 8}); got == want {
		t.Error("the seed changes nothing")
	}
}

func TestSpoiledArtifactsAreRefused(t *testing.T) {
	a, err := Encode(trainedOnce(t).model)
	if err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Artifact){
		"model cut":        func(a *Artifact) { a.Model = a.Model[:len(a.Model)/2] },
		"model's byte":     func(a *Artifact) { a.Model = slices.Clone(a.Model); a.Model[len(a.Model)-9]++ },
		"encoders swapped": func(a *Artifact) { a.Encoders = a.Model },
		"no config":        func(a *Artifact) { a.Config = nil },
		"no number":        func(a *Artifact) { a.Config = []byte(`{"format":"one"}`) },
		"other format":     func(a *Artifact) { a.Config = bytes.Replace(a.Config, []byte(`"format": 2`), []byte(`"format": 1`), 1) },
		"other step": func(a *Artifact) {
			a.Config = bytes.Replace(a.Config, []byte(`"step_seconds": 3600`), []byte(`"step_seconds": 7`), 1)
		},
		"capacity zero": func(a *Artifact) {
			a.Config = bytes.Replace(a.Config, []byte(`"capacity_kw": 50`), []byte(`"capacity_kw": 0`), 1)
		},
		"not learned": func(a *Artifact) {
			a.Config = bytes.Replace(a.Config, []byte(`"learned": true`), []byte(`"learned": false`), 1)
		},
	} {
		b := a
		spoil(&b)
		if _, err := Decode(b); !errors.Is(err, artifact.ErrMalformed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Any bytes with matching checksums answer a model that fills or an error,
// never a panic.
func FuzzDecodeModel(f *testing.F) {
	power, wx := synthetic(6, time.Hour)
	m, _, err := Train(context.Background(), testSite, power, wx, Options{})
	if err != nil {
		f.Fatal(err)
	}
	a, err := Encode(m)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(a.Model, a.Encoders, a.Config)
	gap := series.Gap{From: power.Time(60), To: power.Time(80)}
	f.Fuzz(func(t *testing.T, model, encoders, config []byte) {
		b := Artifact{Model: model, Encoders: encoders, Config: bytes.ReplaceAll(config, []byte(artifact.Hash(a.Model)), []byte(artifact.Hash(model)))}
		b.Config = bytes.ReplaceAll(b.Config, []byte(artifact.Hash(a.Encoders)), []byte(artifact.Hash(encoders)))
		m, err := Decode(b)
		if err != nil {
			if !errors.Is(err, artifact.ErrMalformed) {
				t.Fatal(err)
			}
			return
		}
		if m.Step() == power.Step {
			x, err := m.Fill(power, gap, wx)
			if err != nil {
				t.Fatal(err)
			}
			possible(t, m, x)
		}
	})
}
