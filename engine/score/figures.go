package score

import (
	"encoding/json"
	"math"
	"slices"
	"time"
)

// Figures are the scores of a family, or of all of them. An undefined figure is
// NaN, and null in JSON.
type Figures struct {
	Truths                              int
	Events                              int     // announced
	LostKWh                             float64 // of the faults
	EnergyRecall                        float64
	EnergyPrecision                     float64
	EventPrecision                      float64
	EventRecall                         float64
	EventF1                             float64
	FalseAlarmsPerInverterYear          float64
	CriticalFalseAlarmsPerInverterYear  float64
	Top1, Top2                          float64
	CalibrationError                    float64
	Brier                               float64
	DelayMedianMinutes, DelayP90Minutes float64
	DelayMedianClearDays                float64
	EnergyAtRiskError                   float64
	LostEnergyError                     float64
	SeverityKappa                       float64
	CostUSD                             float64
}

// row is a figure with its key in JSON.
type row struct {
	key   string
	value float64
}

func (f Figures) rows() []row {
	return []row{
		{"truths", float64(f.Truths)}, {"events", float64(f.Events)},
		{"lost_kwh", f.LostKWh}, {"energy_recall", f.EnergyRecall}, {"energy_precision", f.EnergyPrecision},
		{"event_precision", f.EventPrecision}, {"event_recall", f.EventRecall}, {"event_f1", f.EventF1},
		{"false_alarms_per_inverter_year", f.FalseAlarmsPerInverterYear}, {"critical_false_alarms_per_inverter_year", f.CriticalFalseAlarmsPerInverterYear},
		{"top1", f.Top1}, {"top2", f.Top2}, {"calibration_error", f.CalibrationError}, {"brier", f.Brier},
		{"delay_median_minutes", f.DelayMedianMinutes}, {"delay_p90_minutes", f.DelayP90Minutes}, {"delay_median_clear_days", f.DelayMedianClearDays},
		{"energy_at_risk_error", f.EnergyAtRiskError}, {"lost_energy_error", f.LostEnergyError},
		{"severity_kappa", f.SeverityKappa}, {"cost_usd", f.CostUSD},
	}
}

// MarshalJSON writes the figures by their keys, null for undefined ones.
func (f Figures) MarshalJSON() ([]byte, error) {
	out := map[string]any{}
	for _, r := range f.rows() {
		if math.IsNaN(r.value) {
			out[r.key] = nil
		} else {
			out[r.key] = math.Round(r.value*1e4) / 1e4
		}
	}
	return json.Marshal(out)
}

// tally accumulates the inputs of figures.
type tally struct {
	truths, found           int // visible faults, and those with a finding
	events, right           int // findings that count, and those with a fault
	lost, caught            float64
	claimed, claimedRight   float64 // kWh that findings say, and that of right ones
	delays                  []float64
	clearDays               []float64
	named, top1, top2       int
	sure                    []belief
	riskError, risk         float64
	lostError, lostTrue     float64
	severity                [3][3]float64 // true label, given label
	cleanAlarms, cleanGrave int
	cost                    float64
}

// belief is a confidence and whether it was right.
type belief struct {
	confidence float64
	right      bool
}

func (t *tally) add(o *tally) {
	t.truths, t.found, t.events, t.right = t.truths+o.truths, t.found+o.found, t.events+o.events, t.right+o.right
	t.lost, t.caught, t.claimed, t.claimedRight = t.lost+o.lost, t.caught+o.caught, t.claimed+o.claimed, t.claimedRight+o.claimedRight
	t.delays, t.clearDays, t.sure = append(t.delays, o.delays...), append(t.clearDays, o.clearDays...), append(t.sure, o.sure...)
	t.named, t.top1, t.top2 = t.named+o.named, t.top1+o.top1, t.top2+o.top2
	t.riskError, t.risk, t.lostError, t.lostTrue = t.riskError+o.riskError, t.risk+o.risk, t.lostError+o.lostError, t.lostTrue+o.lostTrue
	for i := range t.severity {
		for j := range t.severity[i] {
			t.severity[i][j] += o.severity[i][j]
		}
	}
	t.cleanAlarms, t.cleanGrave, t.cost = t.cleanAlarms+o.cleanAlarms, t.cleanGrave+o.cleanGrave, t.cost+o.cost
}

// figures of the tally over so many inverter-years of clean telemetry.
func (t *tally) figures(cleanYears float64) Figures {
	f := Figures{
		Truths: t.truths, Events: t.events,
		LostKWh: t.lost, EnergyRecall: share(t.caught, t.lost), EnergyPrecision: share(t.claimedRight, t.claimed),
		EventPrecision: share(float64(t.right), float64(t.events)), EventRecall: share(float64(t.found), float64(t.truths)),
		FalseAlarmsPerInverterYear: share(float64(t.cleanAlarms), cleanYears), CriticalFalseAlarmsPerInverterYear: share(float64(t.cleanGrave), cleanYears),
		Top1: share(float64(t.top1), float64(t.named)), Top2: share(float64(t.top2), float64(t.named)),
		DelayMedianMinutes: quantile(t.delays, 0.5), DelayP90Minutes: quantile(t.delays, 0.9), DelayMedianClearDays: quantile(t.clearDays, 0.5),
		EnergyAtRiskError: share(t.riskError, t.risk), LostEnergyError: share(t.lostError, t.lostTrue),
		SeverityKappa: kappa(t.severity), CostUSD: t.cost,
	}
	f.EventF1 = 2 * f.EventPrecision * f.EventRecall / (f.EventPrecision + f.EventRecall)
	f.Brier, f.CalibrationError = trust(t.sure)
	return f
}

func share(part, whole float64) float64 {
	if whole == 0 {
		return math.NaN()
	}
	return part / whole
}

func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[int(q*float64(len(sorted)-1)+0.5)]
}

// trust is the Brier score of the confidences and their expected calibration error
// over ten bins of equal width.
func trust(sure []belief) (brier, calibration float64) {
	if len(sure) == 0 {
		return math.NaN(), math.NaN()
	}
	var said, was, count [10]float64
	for _, b := range sure {
		truth := 0.0
		if b.right {
			truth = 1
		}
		brier += (b.confidence - truth) * (b.confidence - truth)
		i := min(int(b.confidence*10), 9)
		said[i], was[i], count[i] = said[i]+b.confidence, was[i]+truth, count[i]+1
	}
	for i := range count {
		calibration += math.Abs(said[i] - was[i])
	}
	n := float64(len(sure))
	return brier / n, calibration / n
}

// kappa is Cohen's weighted kappa over normal, warning and critical with
// weights by the distance, critical called normal counting five.
func kappa(m [3][3]float64) float64 {
	var n, seen, chance float64
	var rows, columns [3]float64
	for i := range m {
		for j, x := range m[i] {
			n += x
			rows[i] += x
			columns[j] += x
		}
	}
	weight := func(i, j int) float64 {
		if i == 2 && j == 0 {
			return 5
		}
		return math.Abs(float64(i - j))
	}
	for i := range m {
		for j, x := range m[i] {
			seen += weight(i, j) * x
			chance += weight(i, j) * rows[i] * columns[j] / n
		}
	}
	return 1 - share(seen, chance)
}

// minutes returns a duration in minutes, never below zero: an event announced
// before it has cost anything has no delay.
func minutes(d time.Duration) float64 { return max(d.Minutes(), 0) }
