package kpi

import (
	"fmt"
	"math"
	"time"
)

// Figure is a key figure as it is shown: with its unit, the window it is of and
// where its formula is from.
type Figure struct {
	Name             string
	Value            float64 // NaN where it is not reportable
	Unit             string
	From, To         time.Time
	Source           string
	DataAvailability float64 // share of the data due in the window that arrived, 0 to 1
	Note             string  // why it is not reportable, in a sentence; empty if it is
}

// Reportable reports whether the figure may be shown as a value.
func (f Figure) Reportable() bool { return f.Note == "" }

// LeastData is the data availability below which no figure is reportable.
const LeastData = 0.9

// definition of a figure: its unit and source.
type definition struct{ unit, source string }

var definitions = map[string]definition{
	"specific_yield":              {"kWh/kWp", "IEC 61724-1, final yield"},
	"reference_yield":             {"h", "IEC 61724-1"},
	"performance_ratio":           {"1", "IEC 61724-1"},
	"corrected_performance_ratio": {"1", "Dierauf et al. 2013, NREL/TP-5200-57991"},
	"energy_performance_index":    {"1", "IEC 61724-3"},
	"energy_availability":         {"1", "Anderson and Blumenthal 2020 (RdTools)"},
	"time_availability":           {"1", "Sandia SAND2015-10223, raw"},
	"contractual_availability":    {"1", "Sandia SAND2015-10223, contractual"},
	"soiling_ratio":               {"1", "Deceglie et al. 2018 (RdTools SRR)"},
	"performance_loss_rate":       {"%/a", "Jordan et al. 2018 (RdTools year on year)"},
	"capacity_factor":             {"1", "energy over AC rating times hours"},
	"mtbf":                        {"h", "operating hours over failures"},
	"mttr_mean":                   {"h", "restored less detected, mean"},
	"mttr_median":                 {"h", "restored less detected, median"},
	"mtta_mean":                   {"h", "acknowledged less detected, mean"},
	"energy_lost":                 {"kWh", "expected less measured over events"},
	"revenue_lost":                {"currency", "energy lost times the tariff of its hour"},
	"energy_at_risk":              {"kW", "loss fraction times mean daylight power of the next 24 h"},
	"data_availability":           {"1", "samples received over samples due, by day"},
}

// NewFigure returns a value with its definition. Below [LeastData] of the data,
// or if the value could not be computed, the figure is not reportable and
// states the reason; data availability itself is always reportable. It panics
// if the name has no definition.
func NewFigure(name string, value float64, from, to time.Time, dataAvailability float64) Figure {
	d, ok := definitions[name]
	if !ok {
		panic("kpi: no figure is called " + name)
	}
	f := Figure{Name: name, Value: value, Unit: d.unit, From: from, To: to, Source: d.source, DataAvailability: dataAvailability}
	switch {
	case name == "data_availability":
	case math.IsNaN(dataAvailability):
		f.Note = "It is not known how much of the data arrived."
	case dataAvailability < LeastData:
		f.Note = fmt.Sprintf("Only %.0f %% of the data arrived; %.0f %% are needed.", math.Floor(100*dataAvailability), 100*LeastData)
	case math.IsNaN(value):
		f.Note = "The data do not hold what it is made of."
	}
	if f.Note != "" {
		f.Value = math.NaN()
	}
	return f
}
