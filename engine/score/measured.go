package score

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/diagnose"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
)

// Measured is how injected losses were found in measured plants, by kind, size
// and tier, and what was announced on the plants as they are.
type Measured struct {
	Rows          []MeasuredRow
	Announcements []Announcement
	UnitYears     map[string]float64 // of untouched telemetry, by tier and plant, such as "peers upm"
	Detectability map[string]detect.Detectability
	sure          []belief
	right         map[string][2]int // right and all, by family and basis
}

// MeasuredRow is a line of the table.
type MeasuredRow struct {
	Tier, Kind   string
	Cases        int
	Found        int // announced on the unit while it lasted, under its family or a similar one
	Named        int // under its own
	EnergyRecall float64
	DelayDays    float64           // median of those found, in days
	Plants       map[string][2]int // found and cases by plant
	lost, caught float64
	delays       []float64
}

// Announcement is a finding on a plant as it is.
type Announcement struct {
	Tier, Plant string
	Finding     diagnose.Finding
	Assessment  Assessment
	Reason      string
}

// The tiers of a case, by what it has.
const (
	tierOfPeers = "peers"
	tierOfLight = "irradiance"
	tierOfPower = "power alone"
)

// tier names the best reference that the case provides for its units.
func (c Case) tier() string {
	if len(c.Input.Units) >= 3 {
		return tierOfPeers
	}
	for _, u := range c.Input.Units {
		for _, g := range u.Frame.Values(series.IrradianceWM2) {
			if g > 50 {
				return tierOfLight
			}
		}
	}
	return tierOfPower
}

// plant is the first part of a case's name.
func (c Case) plant() string {
	name, _, _ := strings.Cut(c.Name, "/")
	return name
}

// MeasuredCases replays cases with one injected loss each, and untouched ones.
func MeasuredCases(ctx context.Context, cases iter.Seq2[Case, error], jobs int) (*Measured, error) {
	m := &Measured{UnitYears: map[string]float64{}, Detectability: map[string]detect.Detectability{}, right: map[string][2]int{}}
	rows := map[[2]string]*MeasuredRow{}
	var mu sync.Mutex
	var first error
	todo := make(chan Case)
	var wait sync.WaitGroup
	for range max(jobs, 1) {
		wait.Go(func() {
			for c := range todo {
				findings, report, err := c.Findings(ctx)
				mu.Lock()
				if err != nil {
					first = cmp.Or(first, err)
				} else {
					m.take(c, findings, report, rows)
				}
				mu.Unlock()
			}
		})
	}
	for c, err := range cases {
		if err != nil {
			mu.Lock()
			first = cmp.Or(first, err)
			mu.Unlock()
			break
		}
		todo <- c
	}
	close(todo)
	wait.Wait()
	if first != nil {
		return nil, fmt.Errorf("replay measured plants: %w", first)
	}
	for _, r := range rows {
		r.EnergyRecall, r.DelayDays = share(r.caught, r.lost), quantile(r.delays, 0.5)
		m.Rows = append(m.Rows, *r)
	}
	slices.SortFunc(m.Rows, func(a, b MeasuredRow) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Tier, b.Tier)) })
	slices.SortFunc(m.Announcements, func(a, b Announcement) int {
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Plant, b.Plant), a.Finding.Start.Compare(b.Finding.Start))
	})
	return m, nil
}

// take books a replayed case.
func (m *Measured) take(c Case, findings []diagnose.Finding, report detect.Report, rows map[[2]string]*MeasuredRow) {
	tier, plant := c.tier(), c.plant()
	if c.Clean {
		m.UnitYears[tier+" "+plant] += c.inverterYears()
		for _, f := range findings {
			if f.Family != detect.Clipping {
				assessment, reason := assessmentOf(plant, &f)
				m.Announcements = append(m.Announcements, Announcement{tier, plant, f, assessment, reason})
				// Whether a gap hides an outage is not known.
				if right := assessment != AssessmentFalse; assessment != AssessmentUnknown && f.Family != detect.CommunicationGap {
					m.sure = append(m.sure, belief{f.Confidence, right})
					m.count(&f, right)
				}
			}
		}
		for id, s := range report.Detectability {
			m.Detectability[tier+" "+plant+" "+id] = s
		}
		return
	}
	for t := range c.Truth {
		truth := &c.Truth[t]
		if truth.Cause != "injected" {
			continue
		}
		key := [2]string{tier, measuredKind(truth)}
		r := rows[key]
		if r == nil {
			r = &MeasuredRow{Tier: tier, Kind: key[1], Plants: map[string][2]int{}}
			rows[key] = r
		}
		one := cover(truth, findings, c.Input.Now)
		for i := range findings {
			f := &findings[i]
			if slices.ContainsFunc(f.Units, truth.Concerns) && began(truth, f, c.Input.Now) {
				m.count(f, string(f.Family) == truth.Family)
			}
		}
		at := r.Plants[plant]
		at[1]++
		r.Cases++
		weight := truth.LossFraction * endOf(truth, c.Input.Now).Sub(truth.From).Hours()
		if truth.Family == string(detect.StuckSensor) {
			weight = 1
		}
		r.lost, r.caught = r.lost+weight, r.caught+weight*one.share
		if one.found {
			r.Found++
			at[0]++
			r.delays = append(r.delays, one.delay.Hours()/24)
			m.sure = append(m.sure, belief{one.confidence, one.named})
		}
		if one.named {
			r.Named++
		}
		r.Plants[plant] = at
	}
}

// measuredKind is the kind of an injected loss with its class of size.
func measuredKind(t *simulate.Truth) string {
	size := t.Severity
	days := endOf(t, t.To).Sub(t.From).Hours() / 24
	least := func(name string, small bool, limit string) string {
		if small {
			return name + ", below " + limit
		}
		return name + ", " + limit + " and more"
	}
	switch detect.Family(t.Family) {
	case detect.StringOutage:
		switch {
		case size > 0.24:
			return "string 25-30 %"
		case size > 0.16:
			return "string 16.7-20 %"
		case size > 0.09:
			return "string 10-12.5 %"
		}
		return fmt.Sprintf("string %.0f %%", 100*size)
	case detect.PartialShading:
		return least("shade", t.LossFraction < 0.02, "2 % of the energy")
	case detect.ThermalDerating:
		return least("derating", t.LossFraction < 0.04, "4 % of the energy")
	case detect.Soiling:
		return least("soiling", size*days < 0.07, "7 % in all")
	}
	return t.Family
}

// covered is how a loss was found.
type covered struct {
	share        float64 // of its lost energy, inside findings of its family or a similar one
	found, named bool
	delay        time.Duration
	confidence   float64
}

// cover holds a loss against the findings on its unit that began with it: one
// that was open long before is not found by it.
func cover(t *simulate.Truth, findings []diagnose.Finding, now time.Time) (out covered) {
	for i := range findings {
		f := &findings[i]
		if !slices.ContainsFunc(f.Units, t.Concerns) || coarse[f.Family] == "" || coarse[f.Family] != coarse[detect.Family(t.Family)] && string(f.Family) != t.Family {
			continue
		}
		if !began(t, f, now) {
			continue
		}
		inside := overlapShare(t, f, now)
		if math.IsNaN(inside) { // a loss that cost nothing
			inside = 1
		}
		out.share = min(out.share+inside, 1)
		if d := f.DetectedAt.Sub(t.From); !out.found || d < out.delay {
			out.found, out.delay, out.confidence = true, d, f.Confidence
		}
		out.named = out.named || string(f.Family) == t.Family
	}
	return out
}

// began reports whether a finding began with a loss and was announced after it.
func began(t *simulate.Truth, f *diagnose.Finding, now time.Time) bool {
	to := endOf(t, now)
	slack := max(24*time.Hour, to.Sub(t.From)/4)
	return !f.Start.Before(t.From.Add(-slack)) && f.Start.Before(to) && ended(f, now).After(t.From) && !f.DetectedAt.Before(t.From)
}

// count books a finding with a basis for the calibration.
func (m *Measured) count(f *diagnose.Finding, right bool) {
	if f.Basis == "" {
		return
	}
	key := diagnose.TierKey(f.Family, f.Basis)
	n := m.right[key]
	n[1]++
	if right {
		n[0]++
	}
	m.right[key] = n
}

// CalibrationError is how far confidences are from the share that was right, of
// findings on injected losses and on untouched plants together.
func (m *Measured) CalibrationError() float64 {
	_, e := trust(m.sure)
	return e
}

// Markdown returns the table of the losses, as docs/faults.md has it.
func (m *Measured) Markdown() string {
	var b strings.Builder
	b.WriteString("| loss | tier | cases | found | named right | energy recall | median delay, days | found by plant |\n|---|---|---|---|---|---|---|---|\n")
	for _, r := range m.Rows {
		fmt.Fprintf(&b, "| %s | %s | %d | %s | %s | %s | %s | %s |\n", r.Kind, r.Tier, r.Cases, number(share(float64(r.Found), float64(r.Cases)), 2),
			number(share(float64(r.Named), float64(r.Cases)), 2), number(r.EnergyRecall, 2), number(r.DelayDays, 1), r.byPlant())
	}
	return b.String()
}

// MarkdownAnnouncements returns the announcements on the plants as they are: their
// number a unit-year by tier and family, and each of them with its assessment.
func (m *Measured) MarkdownAnnouncements() string {
	var b strings.Builder
	b.WriteString("| tier | unit-years | family | announced | a unit-year | true or plausible | false | unknown |\n|---|---|---|---|---|---|---|---|\n")
	m.eachFamily(func(tier string, years float64, family string, some []Announcement) {
		n := map[Assessment]int{}
		for _, a := range some {
			n[a.Assessment]++
		}
		fmt.Fprintf(&b, "| %s | %.1f | %s | %d | %.2f | %d | %d | %d |\n", tier, years, family, len(some), float64(len(some))/years,
			n[AssessmentTrue]+n[AssessmentPlausible], n[AssessmentFalse], n[AssessmentUnknown])
	})
	b.WriteString("\n| tier | plant | announcement | assessment | reason |\n|---|---|---|---|---|\n")
	for _, a := range m.Announcements {
		if a.Finding.Family == detect.CommunicationGap {
			continue
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", a.Tier, a.Plant, strings.ReplaceAll(a.Finding.Summary, "|", "/"), a.Assessment, a.Reason)
	}
	return b.String()
}

// MarkdownReliability returns the share of right findings by confidence, and the
// calibration error.
func (m *Measured) MarkdownReliability() string {
	var b strings.Builder
	b.WriteString("| confidence | findings | mean confidence | right |\n|---|---|---|---|\n")
	for _, r := range m.Reliability() {
		if r.n > 0 {
			fmt.Fprintf(&b, "| %.1f to %.1f | %d | %s | %s |\n", r.from, r.to, r.n, number(r.mean, 2), number(r.right, 2))
		}
	}
	fmt.Fprintf(&b, "\nCalibration error %s.\n", number(m.CalibrationError(), 2))
	return b.String()
}

// eachFamily calls f for each tier and family with announcements on the plants as
// they are.
func (m *Measured) eachFamily(f func(tier string, years float64, family string, some []Announcement)) {
	for _, tier := range []string{tierOfLight, tierOfPeers, tierOfPower} {
		years, by := 0.0, map[string][]Announcement{}
		for name, y := range m.UnitYears {
			if strings.HasPrefix(name, tier+" ") {
				years += y
			}
		}
		if years == 0 {
			continue
		}
		for _, a := range m.Announcements {
			if a.Tier == tier {
				by[string(a.Finding.Family)] = append(by[string(a.Finding.Family)], a)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(by)) {
			f(tier, years, name, by[name])
		}
	}
}

// byPlant lists the found cases of each plant.
func (r MeasuredRow) byPlant() string {
	var plants []string
	for name, n := range r.Plants {
		plants = append(plants, fmt.Sprintf("%s %d/%d", name, n[0], n[1]))
	}
	slices.Sort(plants)
	return strings.Join(plants, ", ")
}

// Write prints the tables for people.
func (m *Measured) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	fmt.Fprintln(t, "loss\ttier\tcases\tfound\tnamed right\tenergy recall\tmedian delay, days\tby plant")
	for _, r := range m.Rows {
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\n", r.Kind, r.Tier, r.Cases, number(share(float64(r.Found), float64(r.Cases)), 2),
			number(share(float64(r.Named), float64(r.Cases)), 2), number(r.EnergyRecall, 2), number(r.DelayDays, 1), r.byPlant())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nAnnounced on the plants as they are, a unit-year")
	t = tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	m.eachFamily(func(tier string, years float64, family string, some []Announcement) {
		fmt.Fprintf(t, "%s\t%.1f unit-years\t%s\t%d\t%.2f\n", tier, years, family, len(some), float64(len(some))/years)
	})
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nEach of them")
	for _, a := range m.Announcements {
		fmt.Fprintf(w, "%s, %s: %s [%s: %s]\n", a.Tier, a.Plant, a.Finding.Summary, a.Assessment, a.Reason)
	}
	fmt.Fprintln(w, "\nWhat can be seen")
	var names []string
	for name := range m.Detectability {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(w, "%s: %s.\n", name, m.Detectability[name].Text())
	}
	fmt.Fprintln(w, "\nReliability")
	for _, r := range m.Reliability() {
		if r.n > 0 {
			fmt.Fprintln(w, r)
		}
	}
	_, err := fmt.Fprintf(w, "\nCalibration error %s\n", number(m.CalibrationError(), 2))
	return err
}
