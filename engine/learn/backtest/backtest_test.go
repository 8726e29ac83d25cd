package backtest

import (
	"context"
	"errors"
	"math"
	"testing"
	"time"
)

var day0 = time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)

func TestOriginsExpandAndMeet(t *testing.T) {
	to := day0.AddDate(1, 0, 0)
	got := Origins(day0, to, 0.4, 3)
	if len(got) != 3 || !got[2].TestTo.Equal(to) {
		t.Fatalf("%v", got)
	}
	for k, o := range got {
		if !o.TestFrom.Equal(o.TrainTo) || !o.TestTo.After(o.TestFrom) {
			t.Errorf("origin %d: %v", k, o)
		}
		if k > 0 && !o.TestFrom.Equal(got[k-1].TestTo) {
			t.Errorf("origin %d does not follow", k)
		}
	}
	if share := got[0].TrainTo.Sub(day0).Hours() / to.Sub(day0).Hours(); math.Abs(share-0.4) > 0.001 {
		t.Errorf("the first origin knows %.3f", share)
	}
	if Origins(to, day0, 0.4, 3) != nil {
		t.Error("an empty span has origins")
	}
}

func TestRunScoresAndWeights(t *testing.T) {
	origins := Origins(day0, day0.AddDate(0, 6, 0), 0.5, 3)
	quantiles := []float64{0.1, 0.5, 0.9}
	n := 0
	table, outcomes, err := Run(context.Background(), []string{"right", "wrong"}, quantiles, origins, func(_ context.Context, o Origin) (Outcome, error) {
		if n++; n == 2 {
			return Outcome{}, nil // an origin without data
		}
		return Outcome{Actual: []float32{1, 2}, Forecasts: [][]float32{{1, 1, 1, 2, 2, 2.3}, {0, 0, 0, 0, 0, 0}}}, nil
	})
	if err != nil || len(table.Rows) != 2 || len(outcomes) != 2 {
		t.Fatalf("%v rows, %v", len(table.Rows), err)
	}
	losses := table.Losses()
	if math.Abs(losses[0]-0.1*0.3/6) > 1e-6 || math.Abs(losses[1]-1.5*0.5) > 1e-6 {
		t.Errorf("losses %v", losses)
	}
	w := Weights(table)
	if w[0] < 0.999 || math.Abs(w[0]+w[1]-1) > 1e-12 {
		t.Errorf("weights %v", w)
	}
	if w := Weights(Table{Members: []string{"a", "b"}}); w[0] != 0.5 {
		t.Errorf("weights without rows %v", w)
	}
	boom := errors.New("boom")
	if _, _, err := Run(context.Background(), nil, quantiles, origins, func(context.Context, Origin) (Outcome, error) { return Outcome{}, boom }); !errors.Is(err, boom) {
		t.Errorf("error %v", err)
	}
}
