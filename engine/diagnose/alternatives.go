package diagnose

import (
	"cmp"
	"math"
	"slices"

	"app.sunloop/engine/detect"
)

// resembles lists for each family the families that it is most easily confused
// with, likeliest first, with a prior share. Confusions observed on labelled
// fleets (Calibration.Mistaken) are added.
var resembles = map[detect.Family][]Alternative{
	detect.InverterOutage:   {{detect.SiteOutage, 0.04}, {detect.CommunicationGap, 0.04}, {detect.GroundFault, 0.03}, {detect.IntermittentTrip, 0.03}, {detect.DataQuality, 0.02}},
	detect.SiteOutage:       {{detect.SnowCover, 0.06}, {detect.CommunicationGap, 0.06}, {detect.InverterOutage, 0.04}},
	detect.CommunicationGap: {{detect.InverterOutage, 0.10}, {detect.SiteOutage, 0.08}, {detect.StuckSensor, 0.05}},
	detect.StringOutage:     {{detect.PartialShading, 0.08}, {detect.Underperformance, 0.06}, {detect.CapacityChange, 0.03}, {detect.TrackerFault, 0.03}},
	detect.PartialShading:   {{detect.StringOutage, 0.12}, {detect.ThermalDerating, 0.05}, {detect.Underperformance, 0.05}},
	detect.Soiling:          {{detect.Degradation, 0.05}, {detect.IrradianceSensor, 0.08}, {detect.Underperformance, 0.04}},
	detect.Clipping:         {{detect.Curtailment, 0.03}},
	detect.ThermalDerating:  {{detect.Curtailment, 0.10}, {detect.PartialShading, 0.06}, {detect.StringOutage, 0.05}},
	detect.Curtailment:      {{detect.ThermalDerating, 0.06}, {detect.Clipping, 0.03}, {detect.StuckSensor, 0.03}},
	detect.StuckSensor:      {{detect.CommunicationGap, 0.12}, {detect.Curtailment, 0.03}},
	detect.TimeShift:        {{detect.DataQuality, 0.05}},
	detect.DataQuality:      {{detect.CapacityChange, 0.05}, {detect.StuckSensor, 0.04}},
	detect.SnowCover:        {{detect.SiteOutage, 0.20}},
	detect.IrradianceSensor: {{detect.Soiling, 0.08}},
	detect.GroundFault:      {{detect.InverterOutage, 0.15}},
	detect.ArcFault:         {{detect.StringOutage, 0.10}, {detect.GroundFault, 0.05}, {detect.InverterOutage, 0.05}},
	detect.IntermittentTrip: {{detect.InverterOutage, 0.10}, {detect.Underperformance, 0.05}},
	detect.TrackerFault:     {{detect.PartialShading, 0.10}, {detect.StringOutage, 0.06}, {detect.Underperformance, 0.04}},
	detect.CapacityChange:   {{detect.DataQuality, 0.10}},
	detect.Degradation:      {{detect.Soiling, 0.20}},
	detect.DataSilence:      {{detect.CommunicationGap, 0.10}, {detect.SiteOutage, 0.05}},
	detect.RepeatedData:     {{detect.StuckSensor, 0.05}, {detect.TimeShift, 0.03}},
	detect.Underperformance: {{detect.StringOutage, 0.25}, {detect.PartialShading, 0.12}, {detect.Soiling, 0.06}, {detect.TrackerFault, 0.04}},
}

// familyFactors are how much likelier a piece of evidence is under another
// family than under the one that was detected.
var familyFactors = map[string]map[detect.Family]float64{
	"cold":               {detect.SnowCover: 6},
	"counter_short":      {detect.InverterOutage: 5, detect.SiteOutage: 5},
	"counter_continues":  {detect.InverterOutage: 0.05, detect.SiteOutage: 0.05},
	"all_silent":         {detect.SiteOutage: 3, detect.InverterOutage: 0.1},
	"others_heard":       {detect.SiteOutage: 0.05},
	"all_day":            {detect.PartialShading: 0.3, detect.TrackerFault: 0.3},
	"whole_strings":      {detect.Underperformance: 0.6},
	"sun_window":         {detect.StringOutage: 0.3},
	"state_throttled":    {detect.PartialShading: 0.2, detect.StringOutage: 0.1},
	"came_slowly":        {detect.StringOutage: 0.3, detect.Soiling: 2},
	"like_limit":         {detect.Curtailment: 15, detect.CommunicationGap: 0.1},
	"counter_moved":      {detect.CommunicationGap: 0.2},
	"dc_input_low":       {detect.PartialShading: 0.3, detect.Underperformance: 0.2},
	"dc_voltage_present": {detect.CommunicationGap: 0.2},
}

// alternatives ranks the families that could explain an event: its own by its
// confidence, the others by similarity given the evidence. Those below 1 % are
// omitted.
func alternatives(e detect.Event, sure float64) []Alternative {
	out := []Alternative{{e.Family, round(sure)}}
	weights := map[detect.Family]float64{}
	var order []detect.Family
	add := func(f detect.Family, share float64) {
		if _, ok := weights[f]; !ok {
			order = append(order, f)
		}
		weights[f] += share
	}
	for _, a := range resembles[e.Family] {
		add(a.Family, a.Confidence)
	}
	mistaken := calibration.Mistaken[e.Family]
	for _, f := range sortedFamilies(mistaken) {
		add(f, mistaken[f])
	}
	var sum float64
	for _, f := range order {
		for _, v := range e.Evidence {
			if factor, ok := familyFactors[v.Kind][f]; ok {
				weights[f] *= factor
			}
		}
		sum += weights[f]
	}
	for _, f := range order {
		if p := round((1 - sure) * weights[f] / max(sum, 0.1)); p >= 0.01 || len(out) < 2 {
			out = append(out, Alternative{f, p})
		}
	}
	slices.SortStableFunc(out[1:], func(a, b Alternative) int { return cmp.Compare(b.Confidence, a.Confidence) })
	return out
}

func sortedFamilies(m map[detect.Family]float64) []detect.Family {
	out := make([]detect.Family, 0, len(m))
	for f := range m {
		out = append(out, f)
	}
	slices.Sort(out)
	return out
}

func round(p float64) float64 { return math.Round(p*1000) / 1000 }
