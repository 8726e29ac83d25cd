// Package backtest scores forecasters the way they are used: fitted on what
// was known at an origin, tested on what came after it, at several origins.
// The scores give the weights of a blend and the evaluation of a challenger.
package backtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"app.sunloop/engine/learn/portable"
)

// Origin is one fold: everything before TrainTo is known, the test is what
// lies in [TestFrom, TestTo).
type Origin struct{ TrainTo, TestFrom, TestTo time.Time }

// Origins are count expanding folds over [from, to): the first trains on the
// share first of the span, each tests on an equal part of the rest.
func Origins(from, to time.Time, first float64, count int) []Origin {
	span := to.Sub(from)
	if count < 1 || span <= 0 || !(first > 0 && first < 1) {
		return nil
	}
	at := func(k int) time.Time {
		share := first + (1-first)*float64(k)/float64(count)
		return from.Add(time.Duration(share * float64(span))).Truncate(time.Hour)
	}
	out := make([]Origin, count)
	for k := range out {
		out[k] = Origin{at(k), at(k), at(k + 1)}
	}
	out[count-1].TestTo = to
	return out
}

// Outcome holds the members' forecasts of one origin's test, as row-major
// quantiles for each member, and the actual values.
type Outcome struct {
	Actual    []float32
	Forecasts [][]float32
	Time      []int64 // of each actual; may be nil
}

// Row is one origin's result.
type Row struct {
	Origin
	N      int
	Losses []float64 // mean pinball loss over the quantiles, one a member
}

// Table is the result of a backtest.
type Table struct {
	Members []string
	Rows    []Row
}

// Run scores every origin with what evaluate answers for it. An origin whose
// outcome is empty is left out.
func Run(ctx context.Context, members []string, quantiles []float64, origins []Origin, evaluate func(context.Context, Origin) (Outcome, error)) (Table, []Outcome, error) {
	t := Table{Members: members}
	var outcomes []Outcome
	for _, o := range origins {
		if err := ctx.Err(); err != nil {
			return t, outcomes, err
		}
		out, err := evaluate(ctx, o)
		if err != nil {
			return t, outcomes, fmt.Errorf("origin %s: %w", o.TrainTo.UTC().Format(time.DateOnly), err)
		}
		if len(out.Actual) == 0 {
			continue
		}
		if len(out.Forecasts) != len(members) {
			return t, outcomes, errors.New("backtest: an outcome lacks members")
		}
		row := Row{Origin: o, N: len(out.Actual)}
		for _, f := range out.Forecasts {
			row.Losses = append(row.Losses, Loss(quantiles, out.Actual, f))
		}
		t.Rows = append(t.Rows, row)
		outcomes = append(outcomes, out)
	}
	return t, outcomes, nil
}

// Loss is the mean pinball loss over the quantiles of row-major forecasts.
func Loss(quantiles []float64, actual, forecasts []float32) float64 {
	if len(actual) == 0 {
		return 0
	}
	k := len(quantiles)
	var sum float64
	for i, y := range actual {
		for j, q := range quantiles {
			e := float64(y) - float64(forecasts[i*k+j])
			sum += max(float64(q*e), float64((q-1)*e))
		}
	}
	return sum / float64(len(actual)*k)
}

// Losses are the members' losses over all origins, weighted by their samples.
func (t Table) Losses() []float64 {
	out := make([]float64, len(t.Members))
	n := 0
	for _, r := range t.Rows {
		n += r.N
		for m, l := range r.Losses {
			out[m] += l * float64(r.N)
		}
	}
	for m := range out {
		out[m] /= float64(max(n, 1))
	}
	return out
}

// steepness of the weights; measured flat between 4 and 32.
const steepness = 8

// Weights are each member's share of the blend: w ~ exp(-8·(loss/reference - 1))
// with the least loss as the reference, normalised to 1. Without a row all
// weigh the same.
func Weights(t Table) []float64 {
	out := make([]float64, len(t.Members))
	if len(t.Rows) == 0 {
		for m := range out {
			out[m] = 1 / float64(len(out))
		}
		return out
	}
	losses := t.Losses()
	least := math.Inf(1)
	for _, l := range losses {
		least = min(least, l)
	}
	sum := 0.0
	for m, l := range losses {
		out[m] = portable.Exp(-steepness * (l/max(least, 1e-9) - 1))
		sum += out[m]
	}
	for m := range out {
		out[m] /= sum
	}
	return out
}
