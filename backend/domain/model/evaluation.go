package model

import (
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/internal/display"
)

// Pinball is the mean pinball loss of P10, P50 and P90 against what came, in
// the unit of its arguments.
func Pinball(p10, p50, p90, actual float64) float64 {
	loss := func(q, said float64) float64 { return max(q*(actual-said), (q-1)*(actual-said)) }
	return (loss(0.1, p10) + loss(0.5, p50) + loss(0.9, p90)) / 3
}

// What a challenger must show to take over.
const (
	neededGainPercent  = 1.0  // of pinball loss, in the mean
	neededOrigins      = 3    // on which its loss is lower, of a backtest
	neededHours        = 100  // of daylight, of held-out data: two weeks of winter
	allowedWorse       = 0.02 // of any other figure, and of an own backtest
	allowedOffCoverage = 0.05 // further from 0.8 than production's
	moreData           = 1.1  // times as many training rows: another model, though it ends on the same day
	staleAfter         = 90 * 24 * time.Hour
)

// EvaluateHoldout evaluates a challenger on data that neither model was trained
// on: its loss must be lower by 1 %, no other figure worse by more than 2 %.
// Against a model that has not learned for 90 days, it is enough that its loss is
// no higher. age is how much later than the production model's the data end.
func EvaluateHoldout(production, challenger api.ModelScore, window api.Window, age time.Duration) api.ModelEvaluation {
	e := api.ModelEvaluation{Method: api.EvaluatedHeldOut, Window: &window, Samples: challenger.Samples, Production: &production, Challenger: &challenger}
	e.GainPercent = gain(production.PinballPercent, challenger.PinballPercent)
	days := int(math.Round(window.End.Sub(window.Start.Time).Hours() / 24))
	e.Verdict = fmt.Sprintf("on %s that neither model had seen its loss is lower by %s", display.CountOf(days, "day", "days"), display.Percentage(e.GainPercent))
	if e.GainPercent < 0 {
		e.Verdict = fmt.Sprintf("on %s that neither model had seen its loss is higher by %s", display.CountOf(days, "day", "days"), display.Percentage(-e.GainPercent))
	}
	needed := neededGainPercent
	if age >= staleAfter {
		needed = 0
	}
	off := func(s api.ModelScore) float64 { return math.Abs(s.Coverage80 - 0.8) }
	switch {
	case challenger.Samples < neededHours:
		e.Verdict += fmt.Sprintf(", but %s of daylight too few for a comparison", display.CountOf(challenger.Samples, "hour", "hours"))
	case e.GainPercent < needed:
		e.Verdict += fmt.Sprintf("; %s is asked", display.Percent(needed/100))
	case challenger.NMAEPercent > (1+allowedWorse)*production.NMAEPercent:
		e.Verdict += fmt.Sprintf(", but its mean error is %s of capacity against %s", display.Percentage(challenger.NMAEPercent), display.Percentage(production.NMAEPercent))
	case off(challenger) > off(production)+allowedOffCoverage:
		e.Verdict += fmt.Sprintf(", but its bands hold %s of the actuals against %s, where 80 %% are claimed", display.Percent(challenger.Coverage80), display.Percent(production.Coverage80))
	default:
		e.Eligible = true
	}
	return e
}

// CompareBacktests evaluates a challenger by both models' backtests: its loss
// over their common origins must be lower by at least 1 % in the mean, and on
// at least three of them. With fewer than three origins in common the losses
// say little of each other, and the model that saw later or clearly more data
// is taken if its own backtest is not worse by more than 2 %. A model of a
// site with short history, whose backtest is of a few days, is replaced by
// any that was trained on later data.
func CompareBacktests(production, challenger Model) api.ModelEvaluation {
	if production.Young && challenger.TrainingDataWindow.End.After(production.TrainingDataWindow.End.Time) {
		e := api.ModelEvaluation{Eligible: true, Method: api.EvaluatedOwnBacktest, GainPercent: gain(meanLoss(production), meanLoss(challenger))}
		e.Verdict = "the production model is of a site with short history, and it was trained on later data"
		return e
	}
	var p, c float64
	common, wins := 0, 0
	for _, a := range production.Origins {
		i, ok := slices.BinarySearchFunc(challenger.Origins, a.At, func(o Origin, t time.Time) int { return o.At.Compare(t) })
		if !ok || !record.Finite(a.Pinball) || !record.Finite(challenger.Origins[i].Pinball) {
			continue
		}
		b := challenger.Origins[i]
		common++
		p, c = p+a.Pinball, c+b.Pinball
		if b.Pinball < a.Pinball {
			wins++
		}
	}
	if common >= neededOrigins {
		e := api.ModelEvaluation{Method: api.EvaluatedRollingOrigin, GainPercent: gain(p, c)}
		e.Eligible = wins >= neededOrigins && e.GainPercent >= neededGainPercent
		e.Verdict = fmt.Sprintf("its loss is lower on %d of %d common origins, by %s in the mean", wins, common, display.Percentage(e.GainPercent))
		return e
	}
	e := api.ModelEvaluation{Method: api.EvaluatedOwnBacktest, GainPercent: gain(meanLoss(production), meanLoss(challenger))}
	later := challenger.TrainingDataWindow.End.After(production.TrainingDataWindow.End.Time)
	more := float64(challenger.Points) >= moreData*float64(production.Points)
	e.Eligible = (later || more) && e.GainPercent >= -100*allowedWorse
	e.Verdict = fmt.Sprintf("the backtests have %s in common; its own loss differs by %s", display.CountOf(common, "origin", "origins"), display.Change(-e.GainPercent))
	switch {
	case later:
		e.Verdict += ", and it saw later data"
	case more:
		e.Verdict += fmt.Sprintf(", and it saw %.1f times the data", float64(challenger.Points)/float64(max(production.Points, 1)))
	}
	return e
}

// CompareFillers evaluates a newly trained gap filler: it was trained on
// the newest data, so it replaces the former unless its error on hidden
// samples is clearly higher than the former's was on those of its time.
func CompareFillers(production, challenger api.ModelScore) api.ModelEvaluation {
	const worst = -10.0
	e := api.ModelEvaluation{Method: api.EvaluatedHiddenSamples, Samples: challenger.Samples, Production: &production, Challenger: &challenger}
	e.GainPercent = gain(production.NMAEPercent, challenger.NMAEPercent)
	e.Eligible = e.GainPercent >= worst
	e.Verdict = fmt.Sprintf("its error on hidden samples is %s of capacity, the former's was %s", display.FinePercentage(challenger.NMAEPercent), display.FinePercentage(production.NMAEPercent))
	return e
}

// gain is by how many percent b is lower than a; 0 where there is nothing to
// compare.
func gain(a, b float64) float64 {
	if !(a > 0) || !record.Finite(a) || !record.Finite(b) {
		return 0
	}
	return 100 * (a - b) / a
}

func meanLoss(m Model) float64 {
	sum, n := 0.0, 0
	for _, o := range m.Origins {
		if record.Finite(o.Pinball) {
			sum, n = sum+o.Pinball, n+1
		}
	}
	return sum / float64(max(n, 1))
}
