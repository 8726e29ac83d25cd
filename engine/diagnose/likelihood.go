package diagnose

import (
	"cmp"
	"slices"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/series"
)

// causeFactors are how much likelier a kind of evidence is under a cause than
// under the others.
var causeFactors = map[string]map[string]float64{
	"neighbours":          {causeBreaker: 5},
	"counter_flat":        {causeReadings: 0.05},
	"counter_moves":       {causeReadings: 3},
	"state_running":       {causeReadings: 6},
	"state_fault":         {causeHardware: 1.5},
	"duration_over_a_day": {causeHardware: 1.6, causeTrip: 0.6},
	"duration_restored":   {causeHardware: 0.4, causeTrip: 2},
	"dc_voltage_present":  {causeDCSwitch: 0.05},
	"dc_voltage_absent":   {causeDCSwitch: 30},
	"grid_dead":           {causeUtility: 2, causeMainBreaker: 2, causeController: 0.05, causeSnow: 0.05, causeBreaker: 5},
	"cold":                {causeSnow: 10},
	"others_heard":        {causeLogger: 0.2, causeInternet: 0.1, causePortal: 0.2},
	"all_silent":          {causeBus: 0.3, causeInterface: 0.05},
	"counter_continues":   {causeUnitOff: 0.02},
	"counter_short":       {causeUnitOff: 12},
	"all_day":             {causeShade: 0.3},
	"whole_strings":       {causeShade: 0.5},
	"dc_input_low":        {causeShade: 0.2, causeInput: 3, causeFuse: 1.5},
	"cabinet_hot":         {causeFilter: 2, causeFan: 2, causeOversized: 0.3},
	"round_level":         {causeExportLimit: 1.3, causeOperator: 1.3},
	"whole_hour":          {causeZone: 3},
	"sentinel":            {causeRegister: 5, causeScaling: 0.1},
	"factor":              {causeScaling: 5, causeRegister: 0.1},
	"sensor_dark":         {causeSensorDead: 4, causeSensorDirty: 0.3},
	"wet_mornings":        {causeWetPlug: 1.5},
	"flat_all_day":        {causeStow: 2},
}

// bitFactors are the same for the bits of SunSpec's Evt1 (models 101-103).
var bitFactors = [16]map[string]float64{
	0:  {causeGroundFault: 200},
	1:  {causeHardware: 1.5},
	2:  {causeBreaker: 10, causeTrip: 2, causeMainBreaker: 4},
	3:  {causeDCSwitch: 20},
	4:  {causeTrip: 10, causeUtility: 5},
	5:  {causeManual: 10},
	6:  {causeManual: 20},
	7:  {causeHardware: 2, causeFilter: 1.3, causeFan: 1.3},
	8:  {causeTrip: 10, causeUtility: 5},
	9:  {causeTrip: 10, causeUtility: 5},
	10: {causeTrip: 10, causeUtility: 3, causeOverVoltage: 10},
	11: {causeTrip: 10, causeUtility: 5},
	12: {causeDCSwitch: 3, causeFuse: 10},
	14: {causeHardware: 15},
	15: {causeHardware: 15},
}

// factors of one piece of evidence.
func factors(v detect.Evidence) map[string]float64 {
	bits, ok := series.EventBits(v.Value)
	if v.Kind != "event_code" || !ok {
		return causeFactors[v.Kind]
	}
	out := map[string]float64{}
	for b, row := range bitFactors {
		if bits&(1<<b) != 0 {
			for c, factor := range row {
				out[c] = max(out[c], factor)
			}
		}
	}
	return out
}

// causes ranks the possible causes of an event: the prior of each cause times
// the likelihood of each piece of evidence under it, times the confidence in
// the event. Causes below 2 % are omitted.
func (c *context) causes(e detect.Event, sure float64) []Cause {
	table := priors[e.Family]
	weights := make([]float64, len(table))
	var sum float64
	for i, p := range table {
		weights[i] = p.prior
		if len(c.rating) == 1 && p.name == causeTrip {
			weights[i] *= 2 // on a site of one unit the grid takes the unit alone
		}
		for _, v := range e.Evidence {
			if factor, ok := factors(v)[p.name]; ok {
				weights[i] *= factor
			}
		}
		sum += weights[i]
	}
	var out []Cause
	for i, p := range table {
		if share := round(sure * weights[i] / sum); share >= 0.02 {
			out = append(out, Cause{p.name, p.category, share, p.text})
		}
	}
	slices.SortStableFunc(out, func(a, b Cause) int { return cmp.Compare(b.Confidence, a.Confidence) })
	return out
}
