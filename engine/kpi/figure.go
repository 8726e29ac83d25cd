package kpi

import (
	"fmt"
	"math"
	"strings"
	"time"

	"app.sunloop/internal/display"
)

// Figure is a KPI as it is shown: with its unit, its window, its formula and
// the data that its value is based on.
type Figure struct {
	Name             string
	Value            float64 // NaN where it is not reportable
	Unit             string
	From, To         time.Time
	Formula          string
	Source           string        // of the formula
	DataAvailability float64       // share of the data due in the window that arrived, 0 to 1
	Note             string        // why it is not reportable, in a sentence; empty if it is
	Suspect          Suspect       // of an implausible value: its likely reason
	Rating           *RatingBasis  // that it is made with; nil: none
	Irradiance       *Irradiance   // that it is made with; nil: none
	Energy           *EnergyShares // where its energy is from; nil: it has none
	Difference       *Difference   // of counters and interval energy from power; nil: nothing was measured twice
	Covered          float64       // share of the due intervals that it is made of, 0 to 1; NaN: it does not depend on it
	Excluded         []Excluded    // hours of the window that it leaves out
	AsOf             time.Time     // when it was computed; zero: not recorded
	Revision         int           // of a closed window, from 1; 0: the window is open or its figures are not kept
}

// Reportable reports whether the figure may be shown as a value.
func (f Figure) Reportable() bool { return f.Note == "" }

// LeastData is the data availability below which no figure is reportable.
const LeastData = 0.9

// RatingBasis is a rating that a figure is made with.
type RatingBasis struct {
	KW     float64
	DC     bool // of the modules; else of the inverters
	Source RatingSource
}

// Difference is by how much counters and interval energy exceed the energy by power.
type Difference struct {
	Share       float64 // of the energy by power
	ComparedKWh float64 // by power, over the time that both cover
	Flagged     bool    // beyond the limit
}

// EnergyShares are the shares of a window's energy by their source; they add
// up to 1.
type EnergyShares struct {
	Power        float64 // integrated from measured power
	Counter      float64 // from counters of energy
	Interval     float64 // from measured energies of intervals
	Extrapolated float64 // of units that were silent, from those that reported
}

// Excluded are hours of a window that a figure leaves out.
type Excluded struct {
	Category string // as no_power, no_irradiance, or a category of availability
	Hours    float64
}

// Suspect is the likely reason of an implausible value.
type Suspect string

// Reasons of implausible performance ratios.
const (
	SuspectRating     Suspect = "rating"
	SuspectHorizontal Suspect = "horizontal_irradiance"
	SuspectSensor     Suspect = "sensor"
	SuspectOutage     Suspect = "outage"
)

// definition of a figure: its unit, formula and source.
type definition struct{ unit, formula, source string }

const (
	iec     = "IEC 61724-1:2021"
	pv      = "IEC TS 63019:2019"
	rdtools = "(RdTools)"
)

var definitions = map[string]definition{
	"energy":                      {"kWh", "E = Σ P × dt over the window, production of all units", iec + ", AC energy output"},
	"specific_yield":              {"kWh/kWp", "Yf = E / P_DC", "IEC 61724-1, final yield"},
	"reference_yield":             {"h", "Yr = H / (1 kW/m²), H plane-of-array insolation", iec + ", reference yield"},
	"performance_ratio":           {"1", "PR = Yf / Yr = Σ P × dt / Σ (P_DC × G / 1 kW/m² × dt)", iec + ", performance ratio"},
	"corrected_performance_ratio": {"1", "PR_25 = Σ P × dt / Σ (P_DC × (1 + γ × (T_cell − 25 °C)) × G / 1 kW/m² × dt)", iec + ", 25 °C performance ratio; Dierauf et al. 2013, NREL/TP-5200-57991"},
	"energy_performance_index":    {"1", "EPI = Σ E / Σ E_expected", "IEC TS 61724-3"},
	"energy_availability":         {"1", "A_E = Σ E_expected(in service) / Σ E_expected, without time out of the environment", pv + ", operational, weighted by expected energy"},
	"time_availability":           {"1", "A_t = t(in service) / t, sun-up time weighted by rating, without time out of the environment", pv + ", operational"},
	"contractual_availability":    {"1", "A_c = t(available) / (t(available) + t(unavailable)), weighted by rating", pv + ", by the rules of the site's contract"},
	"soiling_ratio":               {"1", "SR = Σ (Y / Y_clean × H) / Σ H", "Deceglie et al. 2018 " + rdtools + " SRR"},
	"performance_loss_rate":       {"%/a", "median of Y(d) / Y(d − 365 d) − 1", "Jordan et al. 2018 " + rdtools + " year on year"},
	"capacity_factor":             {"1", "CF = E / (P_AC × t)", "energy over AC rating times hours"},
	"mtbf":                        {"h", "MTBF = t_served / failures", "operating hours over failures"},
	"mttr_mean":                   {"h", "mean of (restored − onset)", "restored less onset, mean"},
	"mttr_median":                 {"h", "median of (restored − onset)", "restored less onset, median"},
	"mttd_mean":                   {"h", "mean of (detected − onset)", "detected less onset, mean"},
	"mtta_mean":                   {"h", "mean of (acknowledged − detected)", "acknowledged less detected, mean"},
	"energy_lost":                 {"kWh", "E_lost = Σ (P_expected − P) × dt over events", "expected less measured over events"},
	"revenue_lost":                {"currency", "Σ E_lost × tariff", "energy lost times the tariff of its hour"},
	"energy_at_risk":              {"kW", "loss fraction × mean daylight power of the next 24 h", "loss fraction times mean daylight power of the next 24 h"},
	"data_availability":           {"1", "daylight that samples cover / daylight, all installed units, weighted by rating", iec + ", data availability"},
}

// countsMissingData are the figures that account for missing data by themselves:
// time without information has its own category.
var countsMissingData = map[string]bool{"time_availability": true, "contractual_availability": true, "energy_availability": true}

// NewFigure returns a value with its definition. Below [LeastData] of the data,
// or if the value could not be computed, the figure is not reportable and
// states the reason; data availability itself is always reportable, and so are
// availabilities that could be computed. It panics
// if the name has no definition.
func NewFigure(name string, value float64, from, to time.Time, dataAvailability float64) Figure {
	d, ok := definitions[name]
	if !ok {
		panic("kpi: no figure is called " + name)
	}
	f := Figure{Name: name, Value: value, Unit: d.unit, From: from, To: to, Formula: d.formula, Source: d.source, DataAvailability: dataAvailability, Covered: math.NaN()}
	switch {
	case name == "data_availability":
	case countsMissingData[name] && !math.IsNaN(value):
	case math.IsNaN(dataAvailability):
		f.Note = "It is not known how much of the data arrived."
	case dataAvailability < LeastData:
		f.Note = fmt.Sprintf("Only %s of the data arrived; %s are needed.", display.Percent(arrivedPercent(dataAvailability)/100), display.Percent(LeastData))
	case math.IsNaN(value):
		f.Note = "The data that it is computed from are missing."
	}
	if f.Note != "" {
		f.Value = math.NaN()
	}
	return f
}

// arrivedPercent is the share of data that are too few, in whole percent, as it is
// shown next to the figure: rounded to three decimals there.
func arrivedPercent(share float64) float64 {
	return min(math.Floor(math.Round(1000*share)/10), 100*LeastData-1)
}

// WithIrradiance adds the irradiance that the figure is made with. Without
// irradiance the figure is not reportable, for the reason in its note.
func (f Figure) WithIrradiance(r Irradiance) Figure {
	f.Irradiance = &r
	if r.Note != "" && f.DataAvailability >= LeastData {
		f.Note, f.Value = r.Note, math.NaN()
	}
	return f
}

// WithCovered adds the share of the due intervals that the figure is made of;
// below [LeastData] it is not reportable. what is what is missing in the others.
func (f Figure) WithCovered(share float64, what string) Figure {
	f.Covered = share
	if f.Note == "" && share < LeastData {
		f.Note, f.Value = fmt.Sprintf("%s covers only %s of the insolation that is due; %s are needed.", what, display.Percent(math.Floor(100*share)/100), display.Percent(LeastData)), math.NaN()
	}
	return f
}

// MaxPerformanceRatio is the highest plausible performance ratio: cold modules
// and measurement uncertainty bring a ratio slightly above 1.
const MaxPerformanceRatio = 1.05

// CheckRatio withholds a performance ratio that is not above 0 and at most
// [MaxPerformanceRatio], and states the likely reason by what its irradiance
// and rating rest on.
func (f Figure) CheckRatio() Figure {
	if f.Note != "" || f.Value > 0 && f.Value <= MaxPerformanceRatio {
		return f
	}
	value := f.Value
	f.Value = math.NaN()
	if value <= 0 {
		f.Suspect = SuspectOutage
		f.Note = fmt.Sprintf("%.2f is implausible: the plant produced nothing under measured irradiance. Likely reason: an outage, or a sensor that reads light in the dark.", value)
		return f
	}
	var reasons []string
	suspect := func(s Suspect, reason string) {
		if f.Suspect == "" {
			f.Suspect = s
		}
		reasons = append(reasons, reason)
	}
	if r := f.Irradiance; r != nil {
		for _, s := range r.Sensors {
			if s.Used && s.Health != Healthy {
				suspect(SuspectSensor, fmt.Sprintf("the irradiance sensor of %s is %s", s.ID, s.Health))
			}
		}
		if r.Inferred && !r.Transposed && r.Role == PlaneOfArray {
			suspect(SuspectHorizontal, "the irradiance is horizontal, not in the plane of the modules, which is assumed")
		}
	}
	if r := f.Rating; r != nil && r.Source != RatingSet {
		suspect(SuspectRating, "the "+r.side()+" rating, which is inferred ("+r.Source.Description()+"), is too low")
	}
	if len(reasons) == 0 {
		suspect(SuspectSensor, "an irradiance sensor that reads low (dirty, shaded, badly calibrated), or a wrong rating")
	}
	f.Note = fmt.Sprintf("%.2f is implausible: a performance ratio is at most %.2f. Likely reason: %s.", value, MaxPerformanceRatio, strings.Join(reasons, "; or "))
	return f
}

func (r RatingBasis) side() string {
	if r.DC {
		return "DC"
	}
	return "AC"
}

// Description is the rating with its side and, if it is inferred, its source.
func (r RatingBasis) Description() string {
	words := fmt.Sprintf("%s %s", display.Power(r.KW), r.side())
	if r.Source != RatingSet {
		words += ", inferred: " + r.Source.Description()
	}
	return words
}

// Description is the source as it is written in sentences.
func (s RatingSource) Description() string {
	return map[RatingSource]string{RatingSet: "given", RatingSiteShare: "share of the site's rating", RatingRatio: "DC/AC ratio of other units",
		RatingCapacity: "the capacity", RatingEstimate: "the highest measured power", RatingUnknown: "unknown"}[s]
}

// Description is the source of the irradiance in a sentence's part, such as "plane of
// array, class A, ±3 %".
func (r Irradiance) Description() string {
	if r.Note != "" {
		return "none"
	}
	words := r.Role.Description()
	if r.Transposed {
		words += ", transposed to the plane of the modules (DISC and Perez)"
	}
	if r.Inferred {
		words += ", role inferred"
	}
	if r.Class != "" {
		words += ", class " + r.Class
	} else {
		words += ", class unknown"
	}
	if !math.IsNaN(r.Uncertainty) {
		words += ", ±" + display.Percent(r.Uncertainty)
	}
	return words
}
