package replay

import (
	"slices"

	"app.sunloop/engine/replay/metric"
)

// Result is how the engine did on one site, and how the references did on the
// same intervals.
type Result struct {
	Name      string `json:"name"`
	FirstTest string `json:"first_test"` // site's days, both included
	LastTest  string `json:"last_test"`
	metric.Scores
	Fits       int                         `json:"fits"`        // models
	FitSeconds float64                     `json:"fit_seconds"` // of one, mean
	PredictMS  float64                     `json:"predict_ms"`  // of one issue, mean
	ByMonth    []metric.Month              `json:"by_month"`
	Members    []Member                    `json:"members"`
	References map[string]*ReferenceResult `json:"references"`
	Notes      []string                    `json:"notes,omitempty"`
}

// Member is a part of the engine's blend.
type Member struct {
	Name   string  `json:"name"`
	Weight float64 `json:"weight"` // mean over the fits
}

// ReferenceResult is how a reference did.
type ReferenceResult struct {
	metric.Scores
	ByMonth []metric.Month `json:"by_month"`
}

// Mean is the plain mean over sites: each counts the same.
func Mean(results []*Result) *Result {
	out := &Result{Name: "mean", References: map[string]*ReferenceResult{}}
	out.Scores, out.ByMonth = meanScores(results, func(r *Result) (metric.Scores, []metric.Month, bool) { return r.Scores, r.ByMonth, true })
	for _, name := range References() {
		scores, months := meanScores(results, func(r *Result) (metric.Scores, []metric.Month, bool) {
			if x := r.References[name]; x != nil {
				return x.Scores, x.ByMonth, true
			}
			return metric.Scores{}, nil, false
		})
		if scores.N > 0 {
			out.References[name] = &ReferenceResult{scores, months}
		}
	}
	for i, r := range results {
		if i == 0 || r.FirstTest < out.FirstTest {
			out.FirstTest = r.FirstTest
		}
		out.LastTest = max(out.LastTest, r.LastTest)
		out.Fits += r.Fits
		out.FitSeconds += r.FitSeconds / float64(len(results))
		out.PredictMS += r.PredictMS / float64(len(results))
		for _, m := range r.Members {
			out.addMember(m.Name, m.Weight/float64(len(results)))
		}
	}
	return out
}

func (r *Result) addMember(name string, weight float64) {
	for i := range r.Members {
		if r.Members[i].Name == name {
			r.Members[i].Weight += weight
			return
		}
	}
	r.Members = append(r.Members, Member{name, weight})
}

func meanScores(results []*Result, of func(*Result) (metric.Scores, []metric.Month, bool)) (metric.Scores, []metric.Month) {
	var all []metric.Scores
	var names []string
	byMonth := map[string][]metric.Scores{}
	for _, r := range results {
		s, months, ok := of(r)
		if !ok {
			continue
		}
		all = append(all, s)
		for _, m := range months {
			if byMonth[m.Month] == nil {
				names = append(names, m.Month)
			}
			byMonth[m.Month] = append(byMonth[m.Month], m.Scores)
		}
	}
	slices.Sort(names)
	var months []metric.Month
	for _, n := range names {
		months = append(months, metric.Month{Month: n, Scores: metric.Mean(byMonth[n])})
	}
	return metric.Mean(all), months
}
