package gapfill

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/internal/display"
)

// Interpolations lists the results of gap filling, newest first.
func (g *Filler) Interpolations(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.InterpolationResult, string, error) {
	return g.Domain.Models.Interpolations(ctx, scope, q)
}

// Gaps returns the gaps that one run filled, the longest first, at most q.Limit;
// an empty resultID is the newest run. It returns [api.ErrNoInterpolation] if
// there is no such run.
func (g *Filler) Gaps(ctx context.Context, scope api.Scope, resultID string, q api.ListQuery) (api.GapsResponse, error) {
	run, err := g.findRun(ctx, scope, resultID, q)
	if err != nil {
		return api.GapsResponse{}, err
	}
	out := api.GapsResponse{Success: true, ResultID: run.ResultID, SiteID: run.SiteID, Gaps: []api.FilledGap{}}
	key, ok := g.Objects.Key(run.FilledValues)
	if !ok { // nothing was to be filled
		return out, nil
	}
	step, err := g.stepOf(ctx, key)
	if err != nil {
		return out, err
	}
	longest := func() {
		slices.SortFunc(out.Gaps, func(a, b api.FilledGap) int {
			return cmp.Or(cmp.Compare(b.Minutes, a.Minutes), cmp.Compare(b.Start.Unix(), a.Start.Unix()), cmp.Compare(a.AssetID, b.AssetID))
		})
		out.Gaps = out.Gaps[:min(len(out.Gaps), q.Limit)]
	}
	var gap api.FilledGap
	end := func() {
		if gap.AssetID == "" {
			return
		}
		gap.StepMinutes, gap.Minutes = step.Minutes(), step.Minutes()*float64(len(gap.P50KW))
		gap.End, gap.EnergyKWh = api.At(gap.Start.Add(time.Duration(len(gap.P50KW))*step)), sitedata.Round(gap.EnergyKWh*step.Hours())
		out.TotalGaps++
		if out.Gaps = append(out.Gaps, gap); len(out.Gaps) > 2*q.Limit { // a run may have filled very many
			longest()
		}
	}
	err = g.readValues(ctx, key, func(f filledValue) {
		if f.assetID != gap.AssetID || f.method != gap.Method || !f.at.Equal(gap.Start.Add(time.Duration(len(gap.P50KW))*step)) {
			end()
			gap = api.FilledGap{AssetID: f.assetID, Method: f.method, Start: api.At(f.at)}
		}
		gap.P10KW, gap.P50KW, gap.P90KW = append(gap.P10KW, f.kw[0]), append(gap.P50KW, f.kw[1]), append(gap.P90KW, f.kw[2])
		gap.EnergyKWh += f.kw[1]
	})
	end()
	longest()
	out.Count = len(out.Gaps)
	return out, err
}

// findRun returns the run with that id, or the newest.
func (g *Filler) findRun(ctx context.Context, scope api.Scope, resultID string, q api.ListQuery) (api.InterpolationResult, error) {
	q.Page = api.Page{Limit: api.MaxLimit}
	for {
		runs, next, err := g.Domain.Models.Interpolations(ctx, scope, q)
		if err != nil {
			return api.InterpolationResult{}, err
		}
		i := slices.IndexFunc(runs, func(r api.InterpolationResult) bool { return resultID == "" || r.ResultID == resultID })
		switch {
		case i >= 0:
			return runs[i], nil
		case next == "" && resultID == "":
			return api.InterpolationResult{}, api.ErrNoInterpolation
		case next == "":
			return api.InterpolationResult{}, api.ErrResultNotFound
		}
		q.Cursor = next
	}
}

// filledValue is one line of a run's filled values, as writeFilled wrote it.
type filledValue struct {
	at      time.Time
	assetID string
	kw      [3]float64 // P10, P50, P90
	method  string
}

// stepOf returns the time between two values: the least between any two of an
// asset.
func (g *Filler) stepOf(ctx context.Context, key string) (time.Duration, error) {
	var last filledValue
	step := time.Duration(math.MaxInt64)
	err := g.readValues(ctx, key, func(f filledValue) {
		if d := f.at.Sub(last.at); f.assetID == last.assetID && d > 0 {
			step = min(step, d)
		}
		last = f
	})
	if step == math.MaxInt64 { // only single values
		step = 5 * time.Minute
	}
	return step, err
}

// readValues calls each with each filled value of a run.
func (g *Filler) readValues(ctx context.Context, key string, each func(filledValue)) (err error) {
	object, err := g.Objects.Open(ctx, key)
	if err != nil {
		return fmt.Errorf("open filled values %s: %w", key, err)
	}
	defer func() { err = errors.Join(err, object.Close()) }()
	r := csv.NewReader(object)
	r.ReuseRecord = true
	for line := 1; ; line++ {
		row, err := r.Read()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("read filled values %s: %w", key, err)
		case line == 1:
			continue // the header
		case len(row) != 6:
			return fmt.Errorf("filled values %s: line %d has %s", key, line, display.CountOf(len(row), "field", "fields"))
		}
		f := filledValue{assetID: row[1], method: row[5]}
		at, err := api.ParseTime(row[0], time.UTC)
		for i := range f.kw {
			kw, wrong := strconv.ParseFloat(row[2+i], 64)
			f.kw[i], err = kw, errors.Join(err, wrong)
		}
		if err != nil {
			return fmt.Errorf("filled values %s: line %d: %w", key, line, err)
		}
		f.at = at.Time
		each(f)
	}
}
