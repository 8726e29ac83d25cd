package replay

import (
	"context"
	"io"
	"os"
	"testing"

	"app.sunloop/engine/learn/frame"
	"app.sunloop/engine/learn/tree"
	"app.sunloop/engine/realdata"
)

// shared is a site of testdata/backtest with its measured data.
func shared(t testing.TB, name string) Replay {
	t.Helper()
	text, err := os.ReadFile("../../testdata/backtest/" + name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse(name, text)
	if err != nil {
		t.Fatal(err)
	}
	d, err := Load(func(file string) (io.ReadCloser, error) { return os.Open(realdata.Path(t, file)) }, p)
	if err != nil {
		t.Fatal(err)
	}
	return Replay{Plan: p, Data: d}
}

// BenchmarkPeerFit is the fit of P10, P50 and P90 to two years of hourly rows on
// one goroutine, bins included, in the shape that .ci/peers gives other
// makers' trees.
func BenchmarkPeerFit(b *testing.B) {
	s := shared(b, "upm13.toml")
	power := means(s.Power, s.Protocol.Resolution)
	k, err := learnKnown(s.Site, s.Power, power, s.Protocol.First, 1)
	if err != nil {
		b.Fatal(err)
	}
	features := s.features(k)
	f := features.frame(k, 0, index(power, s.Protocol.First))
	b.ReportAllocs()
	for b.Loop() {
		binner, err := frame.FitBinner(f, peerBins)
		if err != nil {
			b.Fatal(err)
		}
		binned, err := binner.Apply(f)
		if err != nil {
			b.Fatal(err)
		}
		for _, q := range []float64{0.1, 0.5, 0.9} {
			c := tree.Config{Quantile: q, Rounds: 200, Rate: 0.06, Leaves: 31, MinLeaf: 20, FeatureFraction: 1, BagFraction: 1, Seed: 1}
			if _, _, err := tree.Fit(context.Background(), binned, nil, c); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(f.Len()), "rows")
}

// BenchmarkLoad reads three years of five-minute data, gzipped.
func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		shared(b, "upm13.toml")
	}
}
