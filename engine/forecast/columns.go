package forecast

import (
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/weather"
)

// columnSpec is a column of weather a set of learners was trained on.
type columnSpec struct {
	Name     string           `json:"name"`
	Quantity weather.Quantity `json:"quantity"`
}

const (
	// coveredShare is the share of the power's span a column must cover.
	coveredShare = 0.6
	// maximumColumns bounds what one model learns from.
	maximumColumns = 32
)

// bright lists the quantities that carry information about irradiance.
var bright = []weather.Quantity{weather.GHI, weather.DNI, weather.POA, weather.CloudCover}

// fromProviders lists the quantities that any forecast provider has: their
// measurements can replace a forecast in training.
var fromProviders = []weather.Quantity{weather.GHI, weather.POA, weather.AirTemperature, weather.WindSpeed, weather.CloudCover}

// choose returns the weather from which a model learns: all forecast columns if
// any of them carries information about irradiance, otherwise the measured
// columns of quantities that a provider will forecast. It is empty if neither
// carries such information.
func choose(columns []weather.Column, from, to time.Time) (chosen []weather.Column, measured bool) {
	for _, measured := range []bool{false, true} {
		var some []weather.Column
		lit := false
		for _, c := range columns {
			if c.Measured != measured || measured && !slices.Contains(fromProviders, c.Quantity) || !covers(c.Series, from, to) {
				continue
			}
			if measured && slices.ContainsFunc(some, func(o weather.Column) bool { return o.Quantity == c.Quantity }) {
				continue
			}
			some = append(some, c)
			lit = lit || slices.Contains(bright, c.Quantity)
		}
		if lit {
			slices.SortStableFunc(some, func(a, b weather.Column) int { return strings.Compare(a.Name, b.Name) })
			return some[:min(len(some), maximumColumns)], measured
		}
	}
	return nil, false
}

func covers(s series.Series, from, to time.Time) bool {
	known := 0
	for i, v := range s.Values {
		if t := s.Time(i); !math.IsNaN(v) && !t.Before(from) && t.Before(to) {
			known++
		}
	}
	return known > 0 && float64(known)*s.Step.Hours() >= coveredShare*to.Sub(from).Hours()
}

// resolve finds a model's columns in a forecast: by name, else by quantity in
// its conditions; a series without values where it has neither.
func resolve(specs []columnSpec, wx weather.Forecast) []weather.Column {
	out := make([]weather.Column, len(specs))
	for i, s := range specs {
		out[i] = weather.Column{Name: s.Name, Quantity: s.Quantity}
		at := slices.IndexFunc(wx.Columns, func(c weather.Column) bool { return !c.Measured && c.Name == s.Name && c.Quantity == s.Quantity })
		if at >= 0 {
			out[i].Series = wx.Columns[at].Series
			continue
		}
		values := series.Series{Start: wx.Start, Step: wx.Step, Values: make([]float64, len(wx.Conditions))}
		for k, c := range wx.Conditions {
			values.Values[k] = c.Value(s.Quantity)
		}
		out[i].Series = values
	}
	return out
}
