package score

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/diagnose"
	"app.sunloop/engine/simulate"
)

// plantCases are a plant as it is, which has a finding that is right, one that is wrong
// and one of which nothing is known, and two cases with an injected string loss.
func plantCases() []replayed {
	const plant = "pvod09" // the days are those of assessments.csv
	day := func(date string) time.Time {
		at, err := time.Parse(time.DateOnly, date)
		if err != nil {
			panic(err)
		}
		return at.Add(4 * time.Hour)
	}
	now := day("2019-07-01")
	of := func(family detect.Family, from string, days int, confidence float64) diagnose.Finding {
		start := day(from)
		end := start.AddDate(0, 0, days)
		return diagnose.Finding{Event: detect.Event{Family: family, Units: []string{"plant"}, Start: start, DetectedAt: start.AddDate(0, 0, min(days, 4)), End: &end}, Confidence: confidence}
	}
	own := []diagnose.Finding{
		of(detect.InverterOutage, "2018-11-04", 1, 0.5),   // false
		of(detect.IrradianceSensor, "2019-06-04", 9, 0.9), // true
		of(detect.Soiling, "2019-03-25", 30, 0.7),         // unknown
	}
	injected := func(from string, size float64) simulate.Truth {
		t := simulate.Truth{Family: string(detect.StringOutage), LossFraction: size, Visible: true}
		t.Kind, t.Units, t.From, t.To, t.Severity, t.Cause = simulate.StringLoss, []string{"plant"}, day(from), day(from).AddDate(0, 0, 60), size, "injected"
		return t
	}
	step := of(detect.StringOutage, "2019-01-10", 60, 0.8)
	step.Basis, step.UsableDays = "irradiance", 3
	stray := of(detect.PartialShading, "2019-01-20", 20, 0.6)
	stray.Basis = "irradiance"
	one := func(name string, clean bool, findings []diagnose.Finding, truth ...simulate.Truth) replayed {
		return replayed{
			Case: Case{Name: plant + "/" + name, Clean: clean, Truth: truth, Input: detect.Input{Now: now}}, tier: tierOfLight, findings: findings, years: 1, units: 1,
			sizes: map[string]detect.Detectability{"plant": {Basis: "irradiance", Detectable: 0.15}},
		}
	}
	return []replayed{
		one("clean", true, own),
		one("string-1", false, append(slices.Clone(own), step, stray), injected("2019-01-09", 0.25)),
		one("string-2", false, own, injected("2019-03-09", 0.1)),
	}
}

// What is right is known of the findings that an injected loss caused and of those of the
// unchanged plant with an assessment, each counted once.
func TestMeasuredFindingsAreJudgedOnce(t *testing.T) {
	m := summarise(plantCases())
	var got []string
	for _, j := range m.judged {
		word := "wrong "
		if j.right {
			word = "right "
		}
		got = append(got, word+string(j.family)+" on "+j.basis)
	}
	want := []string{"wrong inverter_outage on few units", "right irradiance_sensor on few units", "right string_outage on irradiance", "wrong partial_shading on irradiance"}
	if !slices.Equal(got, want) {
		t.Errorf("judged %q, want %q", got, want)
	}
	// Confidences 0.5 wrong, 0.9 right, 0.8 right, 0.6 wrong, in four bins.
	if e, n := m.CalibrationError(""); math.Abs(e-(0.5+0.1+0.2+0.6)/4) > 1e-9 || n != 4 {
		t.Errorf("calibration error %v of %d findings", e, n)
	}
	if alone := summarise(plantCases()[1:]); len(alone.judged) != 0 || len(alone.Rows) != 2 {
		t.Errorf("without the unchanged plant %d findings are judged, of %d rows", len(alone.judged), len(alone.Rows))
	}
	if _, n := m.CalibrationError(tierOfPower); n != 0 {
		t.Errorf("%d findings by power alone", n)
	}
}

func TestResembles(t *testing.T) {
	for _, c := range []struct {
		found, lost detect.Family
		want        bool
	}{
		{detect.StuckSensor, detect.Curtailment, true},
		{detect.Curtailment, detect.StuckSensor, true},
		{detect.ThermalDerating, detect.Curtailment, true},
		{detect.ThermalDerating, detect.StuckSensor, false},
		{detect.StringOutage, detect.Curtailment, false},
		{detect.TimeShift, detect.TimeShift, true},
		{detect.TimeShift, detect.CommunicationGap, false},
	} {
		if got := resembles(c.found, c.lost); got != c.want {
			t.Errorf("resembles(%s, %s) = %v", c.found, c.lost, got)
		}
	}
}

// The table of goals says what was measured, and how many cases the noise of their plant
// lets be seen.
func TestGoals(t *testing.T) {
	m := summarise(plantCases())
	text := m.MarkdownGoals()
	for _, want := range []string{
		"| strings of 25 to 30 %: found | irradiance | at least 0.92 | 1.00 | yes | 1 case |",
		"| strings of 10 to 12.5 %: found | irradiance | at least 0.65 | 0.00 | no | 1 case, - of the 0 above the plant's noise |",
		"| median delay of strings, usable days | irradiance | at most 3 | 3.00 | yes | 1 found |",
		"| false steps a unit-year | irradiance | at most 0.2 | 0.00 | yes | 1.0 unit-years |",
		"| announcements a unit-year that are not real stops | irradiance | at most 1.2 | 2.00 | no | 1.0 unit-years; 2.00 that the data do not confirm |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line %q in\n%s", want, text)
		}
	}
	var out strings.Builder
	if err := m.Write(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "Calibration error 0.350 of 4 findings; irradiance 0.350 of 4") {
		t.Errorf("no calibration error in\n%s", out.String())
	}
}

// Several steps of a plant within two days are one happening.
func TestFalseStepsByHappening(t *testing.T) {
	step := func(plant string, hours int) Announcement {
		f := diagnose.Finding{Event: detect.Event{Family: detect.StringOutage, Start: noon.Add(time.Duration(hours) * time.Hour)}}
		return Announcement{Tier: tierOfPeers, Plant: plant, Finding: f, Assessment: AssessmentUnknown}
	}
	m := &Measured{UnitYears: map[string]float64{"peers a": 2, "peers b": 2}, Announcements: []Announcement{step("a", 0), step("b", 3), step("a", 30), step("a", 400)}}
	if got, _ := falseSteps(m, tierOfPeers); got != 0.75 {
		t.Errorf("%v steps a unit-year, want 3 in 4", got)
	}
}

// Lines of the calibration are fitted by family and basis, and pulled towards the usual
// share of the basis if there are few events.
func TestMeasuredCalibration(t *testing.T) {
	m := &Measured{}
	add := func(family detect.Family, basis string, sum float64, right bool, times int) {
		for range times {
			m.judged = append(m.judged, judged{sample: sample{family: family, basis: basis, sum: sum, right: right}})
		}
	}
	add(detect.StringOutage, "irradiance", 2, true, 10)
	add(detect.StringOutage, "irradiance", 2, false, 10)
	add(detect.StringOutage, "irradiance", 4, true, 20)
	add(detect.ThermalDerating, "irradiance", 3, false, 1)
	add(detect.InverterOutage, diagnose.FewUnits, 3, true, 30)
	add(detect.StringOutage, "", 3, false, 30) // of fleets: not fitted here
	var c diagnose.Calibration
	if err := json.Unmarshal(m.Calibration(diagnose.Calibrated(), nil), &c); err != nil {
		t.Fatal(err)
	}
	at := func(key string, sum float64) float64 {
		line, ok := c.Tiers[key]
		if !ok {
			t.Fatalf("no line %q", key)
		}
		return 1 / (1 + math.Exp(-line.A-line.B*sum))
	}
	if p := at("string_outage on irradiance", 2); p < 0.4 || p > 0.65 {
		t.Errorf("weak evidence gives %.2f, want about a half", p)
	}
	if p := at("string_outage on irradiance", 4); p < 0.85 {
		t.Errorf("strong evidence gives %.2f, want nearly one", p)
	}
	if p := at("thermal_derating on irradiance", 3); p < 0.3 || p > 0.7 {
		t.Errorf("one wrong event gives %.2f, want between it and the usual", p)
	}
	if p := at("inverter_outage on few units", 3); p < 0.95 {
		t.Errorf("always right gives %.2f", p)
	}
	if len(c.Tiers) != 3 {
		t.Errorf("%d lines, want 3: %v", len(c.Tiers), c.Tiers)
	}
	if len(c.Families) != len(diagnose.Calibrated().Families) {
		t.Error("the lines of fleets have changed")
	}
}

// A case with irradiance is replayed with and without it, a case that occurs twice once,
// and what was kept of a replay is not searched again and diagnosed as before.
func TestMeasuredDirs(t *testing.T) {
	site := simulate.Clean(3, Start, 1).Sites[0]
	from := site.Start.AddDate(0, 0, 10)
	site.SetFaults([]simulate.Fault{{Kind: simulate.UnitOutage, From: from, To: from.AddDate(0, 0, 2), Cause: "injected"}})
	c := newCase("plant/outage-1", simulate.Case{Site: site, Step: time.Hour, Until: site.Start.AddDate(0, 0, 20)})
	clean := newCase("plant/clean", simulate.Case{Site: simulate.Clean(3, Start, 1).Sites[0], Step: time.Hour, Until: site.Start.AddDate(0, 0, 20)})
	clean.Clean = true
	dir, kept := t.TempDir(), t.TempDir()
	if err := WriteDir(dir, []Case{clean, c}); err != nil {
		t.Fatal(err)
	}
	m, err := MeasuredDirs(t.Context(), []string{dir, dir}, kept, 1)
	if err != nil {
		t.Fatal(err)
	}
	years := clean.inverterYears()
	if len(m.UnitYears) != 2 || m.UnitYears["irradiance plant"] != years || m.UnitYears["power alone plant"] != years {
		t.Errorf("unit-years %v, want %v of each tier", m.UnitYears, years)
	}
	if len(m.Rows) != 2 || m.Rows[0].Found != 1 || m.Rows[0].Cases != 1 || m.Rows[1].Found != 1 {
		t.Errorf("rows %+v", m.Rows)
	}
	if err := os.Remove(filepath.Join(dir, "plant-outage-1.csv")); err != nil {
		t.Fatal(err)
	}
	again, err := MeasuredDirs(t.Context(), []string{dir}, kept, 1)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := m.MarkdownGoals()+m.Markdown()+m.MarkdownReliability(), again.MarkdownGoals()+again.Markdown()+again.MarkdownReliability(); a != b {
		t.Errorf("first\n%s\nfrom what was kept\n%s", a, b)
	}
	if _, err := MeasuredDirs(t.Context(), []string{dir}, "", 1); err == nil {
		t.Error("a case without telemetry was replayed")
	}
}
