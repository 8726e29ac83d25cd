package ingest

import (
	"errors"
	"math"
	"time"

	"app.sunloop/engine/series"
)

// Summary is a result or a refusal as `sunloop inspect --json` prints it.
type Summary struct {
	Accept          bool     `json:"accept"`
	Error           string   `json:"error,omitempty"`
	ErrorKind       Kind     `json:"error_kind,omitempty"`
	Line            int      `json:"line,omitempty"`
	ValueKind       string   `json:"value_kind,omitempty"`
	UnitSource      string   `json:"unit_source,omitempty"`
	IntervalMinutes int      `json:"interval_minutes,omitempty"`
	Assets          []string `json:"assets"` // empty: one unnamed series
	Rows            int      `json:"rows"`   // output rows over all assets
	First           *Sample  `json:"first,omitempty"`
	Last            *Sample  `json:"last,omitempty"`
	SumPowerKW      float64  `json:"sum_power_kw"` // a check sum, not an energy
	Manufacturer    *string  `json:"manufacturer"`
	Counts          *Rows    `json:"counts,omitempty"`
	Columns         []Column `json:"columns,omitempty"`
	RunnersUp       []string `json:"runners_up,omitempty"` // other readings that fit nearly as well
	Mapping         string   `json:"mapping,omitempty"`    // with which the file is read in the same way
	Decisions       []string `json:"decisions"`
	Warnings        []string `json:"warnings"`
}

// Sample is one output row of a [Summary].
type Sample struct {
	TimestampUTC string  `json:"timestamp_utc"` // RFC 3339
	PowerKW      float64 `json:"power_kw"`
	Asset        string  `json:"asset,omitempty"` // only where there are several assets
}

// Summarize converts the result of [Read] to a Summary. For an error that is not a
// *[Refusal], the summary is not accepted and has no kind.
func Summarize(res *Result, err error) Summary {
	s := Summary{Assets: []string{}, Decisions: []string{}, Warnings: []string{}}
	if err != nil || res == nil {
		s.Error = "nothing was read"
		if err != nil {
			s.Error = err.Error()
		}
		var r *Refusal
		if errors.As(err, &r) {
			s.ErrorKind, s.Line, s.Columns = r.Kind, r.Line, r.Columns
		}
		return s
	}
	s.Accept, s.ValueKind, s.UnitSource = true, res.ValueKind, res.UnitSource
	s.IntervalMinutes = int(math.Round(res.Interval.Minutes()))
	s.Counts, s.Columns, s.Mapping = &res.Rows, res.Columns, res.Mapping.String()
	if res.Manufacturer != "" {
		s.Manufacturer = &res.Manufacturer
	}
	for _, d := range res.Decisions {
		s.Decisions = append(s.Decisions, d.String())
	}
	for _, d := range res.Warnings {
		s.Warnings = append(s.Warnings, d.String())
	}
	for _, d := range res.RunnersUp {
		s.RunnersUp = append(s.RunnersUp, d.String())
	}
	s.addAssets(res.Assets)
	return s
}

// addAssets counts and sums the rows and finds the first and the last one, by time,
// then by position.
func (s *Summary) addAssets(assets []Asset) {
	several := len(assets) > 1
	var firstAt, lastAt int64
	for _, a := range assets {
		if a.Name != "" {
			s.Assets = append(s.Assets, a.Name)
		}
		power := a.Frame.Values(series.PowerKW)
		for i, v := range power {
			if math.IsNaN(v) {
				continue
			}
			s.Rows++
			s.SumPowerKW += v
			t := a.Frame.Times[i]
			if s.First == nil || t < firstAt {
				firstAt, s.First = t, sample(a.Name, t, v, several)
			}
			if s.Last == nil || t >= lastAt {
				lastAt, s.Last = t, sample(a.Name, t, v, several)
			}
		}
	}
}

func sample(asset string, at int64, powerKW float64, several bool) *Sample {
	s := &Sample{TimestampUTC: time.Unix(at, 0).UTC().Format(time.RFC3339), PowerKW: powerKW}
	if several {
		s.Asset = asset
	}
	return s
}
