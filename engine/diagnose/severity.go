package diagnose

import (
	"math"
	"time"

	"app.sunloop/engine/detect"
)

// TypicalShare is the average share of the rating produced while the sun is up,
// used without a forecast.
const TypicalShare = 0.45

// ofData are the families that cost no energy.
var ofData = map[detect.Family]bool{
	detect.CommunicationGap: true, detect.StuckSensor: true, detect.DataQuality: true, detect.TimeShift: true,
	detect.IrradianceSensor: true, detect.Clipping: true, detect.CapacityChange: true, detect.DataSilence: true, detect.RepeatedData: true,
}

// EnergyAtRiskKW returns the mean power lost while the sun is up: the loss
// fraction times the mean power of a healthy plant, at most the rating. It is
// zero for data faults, and the full power for a ground fault or an arc,
// because the unit will be switched off.
func EnergyAtRiskKW(family detect.Family, lossFraction, ratingKW, daylightMeanKW float64) float64 {
	switch {
	case ofData[family] || math.IsNaN(lossFraction):
		return 0
	case family == detect.GroundFault || family == detect.ArcFault:
		lossFraction = 1
	}
	return min(lossFraction*daylightMeanKW, ratingKW)
}

// Severity is one severity in the terms of each place that shows it.
type Severity struct {
	Label    string // critical, warning or normal
	Partner  string // Critical, High, Medium, Low
	Response string // what is expected of whom
}

// Exposure holds the inputs of severity.
type Exposure struct {
	Family         detect.Family
	LossFraction   float64 // of the units
	RatingKW       float64 // of the units
	SiteKW         float64
	SiteUnits      int
	EnergyAtRiskKW float64
	Lasted         time.Duration
	Confidence     float64
}

// The judgements.
var (
	emergency = Severity{"critical", "Critical", "acknowledge within 1 hour, start work within 24 hours"}
	urgent    = Severity{"critical", "High", "start work within 2 working days"}
	planned   = Severity{"warning", "Medium", "plan"}
	observed  = Severity{"warning", "Medium", "look at it and plan"}
	calm      = Severity{"normal", "Low", "watch"}
)

// severityRules is the table: the first rule that is met judges.
var severityRules = []struct {
	met func(Exposure) bool
	Severity
}{
	{func(s Exposure) bool {
		return s.Family == detect.ArcFault || s.Family == detect.GroundFault || s.Family == detect.SiteOutage
	}, emergency},
	{func(s Exposure) bool {
		return s.ofEnergy() && s.SiteUnits > 1 && s.LossFraction*s.RatingKW >= 0.3*s.SiteKW
	}, emergency},
	{func(s Exposure) bool { return s.Family == detect.InverterOutage && s.Lasted > 24*time.Hour }, emergency},
	{func(s Exposure) bool {
		return s.ofEnergy() && s.SiteUnits > 1 && s.EnergyAtRiskKW >= 0.3*TypicalShare*s.SiteKW
	}, emergency},
	{func(s Exposure) bool { return s.Family == detect.InverterOutage && s.Confidence >= 0.8 }, urgent},
	{func(s Exposure) bool { return s.Family == detect.InverterOutage }, observed},
	{func(s Exposure) bool { return s.slow() && s.LossFraction >= 0.03 && s.Lasted >= 72*time.Hour }, planned},
	{func(s Exposure) bool { return s.Family == detect.CommunicationGap && s.Lasted > 24*time.Hour }, planned},
	{func(s Exposure) bool { return s.Family == detect.DataSilence || s.Family == detect.RepeatedData }, observed},
	{func(s Exposure) bool {
		return s.Family == detect.IntermittentTrip || s.Family == detect.ThermalDerating
	}, planned},
	{func(s Exposure) bool { return s.Family == detect.IrradianceSensor || s.Family == detect.Degradation }, planned},
}

// ofEnergy reports whether the family is a plant fault that costs energy, in
// contrast to data faults, external limits and weather.
func (s Exposure) ofEnergy() bool {
	return !ofData[s.Family] && s.Family != detect.Curtailment && s.Family != detect.SnowCover
}

func (s Exposure) slow() bool {
	switch s.Family {
	case detect.StringOutage, detect.Soiling, detect.PartialShading, detect.TrackerFault, detect.Underperformance:
		return true
	}
	return false
}

// SeverityOf judges by the table of rules.
func SeverityOf(s Exposure) Severity {
	for _, r := range severityRules {
		if r.met(s) {
			return r.Severity
		}
	}
	return calm
}
