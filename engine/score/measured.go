package score

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

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
	Missed        []MissedLoss
	judged        []judged
}

// MissedLoss is an injected loss that no finding announced, with the other findings
// that lie within it and that the plant does not have without it.
type MissedLoss struct {
	Tier, Case, Kind string
	Truth            simulate.Truth
	Instead          []diagnose.Finding
}

// judged is a finding of which it is known whether it is right.
type judged struct {
	sample
	tier       string // of the case
	confidence float64
}

// MeasuredRow is a line of the table.
type MeasuredRow struct {
	Tier, Kind   string
	Cases        int
	Found        int // announced on the unit while it lasted, under its family or a similar one
	Named        int // under its own
	EnergyRecall float64
	DelayDays    float64 // median of those found, in days
	UsableDays   float64 // the same in usable days of the unit, of steps
	Visible      int     // cases not below what the plant's noise lets be seen
	VisibleFound int
	Plants       map[string][2]int // found and cases by plant
	lost, caught float64
	delays       []float64
	usable       []float64
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

var tiers = []string{tierOfLight, tierOfPeers, tierOfPower}

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

// replayed is a case with what was found in it, without its telemetry.
type replayed struct {
	Case
	tier     string
	findings []diagnose.Finding
	sizes    map[string]detect.Detectability
	years    float64
	units    int
}

// MeasuredDirs replays the cases of directories, each with one injected loss or
// untouched. A case of one or two units with irradiance is replayed a second time with
// power alone. Of cases with the same name and tier, the first counts. With a folder for
// replays, what detection found is kept there, and taken from there instead of being
// searched again.
func MeasuredDirs(ctx context.Context, dirs []string, replays string, jobs int) (*Measured, error) {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(jobs, 1))
	var mu sync.Mutex
	var done []replayed
	seen := map[string]bool{}
	for _, dir := range dirs {
		files, err := readTruth(dir)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if seen[f.Name] {
				continue
			}
			seen[f.Name] = true
			g.Go(func() error {
				if err := ctx.Err(); err != nil {
					return fmt.Errorf("replay measured plants: %w", err)
				}
				some, err := f.replay(ctx, dir, replays)
				if err != nil {
					return fmt.Errorf("replay case %s: %w", f.Name, err)
				}
				mu.Lock()
				defer mu.Unlock()
				done = append(done, some...)
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	slices.SortFunc(done, func(a, b replayed) int { return cmp.Or(cmp.Compare(a.tier, b.tier), cmp.Compare(a.Name, b.Name)) })
	return summarise(done), nil
}

// replay returns a case with what is found in it, on each of its tiers.
func (f caseFile) replay(ctx context.Context, dir, replays string) (out []replayed, err error) {
	described, err := f.described()
	if err != nil {
		return nil, err
	}
	all, err := keptReplays(replays, f.Name)
	if err != nil {
		return nil, err
	}
	if all == nil {
		c, err := f.read(dir)
		if err != nil {
			return nil, err
		}
		variants := []Case{c}
		if c.tier() == tierOfLight {
			variants = append(variants, c.withoutWeather())
		}
		for _, v := range variants {
			report, err := detect.Run(ctx, v.Input)
			if err != nil {
				return nil, err
			}
			all = append(all, keptOf(v, report))
		}
		if err := keepReplays(replays, f.Name, all); err != nil {
			return nil, err
		}
	}
	for _, k := range all {
		r := replayed{Case: described, tier: k.Tier, sizes: k.Sizes, years: k.Years, units: len(described.Input.Units)}
		r.findings = diagnose.Explain(described.Input, k.report())
		out = append(out, r)
	}
	return out, nil
}

// withoutWeather returns the case with power alone.
func (c Case) withoutWeather() Case {
	units := slices.Clone(c.Input.Units)
	for i := range units {
		f := units[i].Frame
		f.Columns = slices.DeleteFunc(slices.Clone(f.Columns), func(c series.Column) bool {
			return c.Quantity == series.IrradianceWM2 || c.Quantity == series.TemperatureC
		})
		units[i].Frame = f
	}
	c.Input.Units = units
	return c
}

// summarise makes the tables from replayed cases.
func summarise(done []replayed) *Measured {
	m := &Measured{UnitYears: map[string]float64{}, Detectability: map[string]detect.Detectability{}}
	own := map[string][]diagnose.Finding{} // of the plants as they are, by tier and plant
	for i := range done {
		if r := &done[i]; r.Clean {
			key := r.tier + " " + r.plant()
			own[key] = append(append([]diagnose.Finding{}, own[key]...), r.findings...)
			m.takeClean(r)
		}
	}
	rows := map[[2]string]*MeasuredRow{}
	for i := range done {
		if r := &done[i]; !r.Clean {
			findings, known := own[r.tier+" "+r.plant()]
			m.take(r, findings, known, rows)
		}
	}
	for _, r := range rows {
		r.EnergyRecall, r.DelayDays, r.UsableDays = share(r.caught, r.lost), quantile(r.delays, 0.5), quantile(r.usable, 0.5)
		m.Rows = append(m.Rows, *r)
	}
	slices.SortFunc(m.Rows, func(a, b MeasuredRow) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Tier, b.Tier)) })
	slices.SortFunc(m.Announcements, func(a, b Announcement) int {
		return cmp.Or(cmp.Compare(a.Tier, b.Tier), cmp.Compare(a.Plant, b.Plant), a.Finding.Start.Compare(b.Finding.Start))
	})
	return m
}

// takeClean books a plant as it is.
func (m *Measured) takeClean(r *replayed) {
	tier, plant := r.tier, r.plant()
	m.UnitYears[tier+" "+plant] += r.years
	for _, f := range r.findings {
		if f.Family == detect.Clipping {
			continue
		}
		assessment, reason := assessmentOf(plant, &f)
		m.Announcements = append(m.Announcements, Announcement{tier, plant, f, assessment, reason})
		// Whether a gap hides an outage is not known.
		if assessment != AssessmentUnknown && f.Family != detect.CommunicationGap {
			m.judge(r, &f, assessment != AssessmentFalse)
		}
	}
	for id, s := range r.sizes {
		m.Detectability[tier+" "+plant+" "+id] = s
	}
}

// take books a case with an injected loss, on a plant of which own are the findings
// without it. If these are not known, nothing is judged.
func (m *Measured) take(r *replayed, own []diagnose.Finding, known bool, rows map[[2]string]*MeasuredRow) {
	tier, plant, now := r.tier, r.plant(), r.Input.Now
	for t := range r.Truth {
		truth := &r.Truth[t]
		if truth.Cause != "injected" {
			continue
		}
		key := [2]string{tier, measuredKind(truth)}
		row := rows[key]
		if row == nil {
			row = &MeasuredRow{Tier: tier, Kind: key[1], Plants: map[string][2]int{}}
			rows[key] = row
		}
		one := cover(truth, r.findings, now)
		at := row.Plants[plant]
		at[1]++
		row.Cases++
		weight := truth.LossFraction * endOf(truth, now).Sub(truth.From).Hours()
		if truth.Family == string(detect.StuckSensor) {
			weight = 1
		}
		visible := m.visible(tier, plant, truth)
		if visible {
			row.Visible++
		}
		row.lost, row.caught = row.lost+weight, row.caught+weight*one.share
		if one.found {
			row.Found++
			at[0]++
			row.delays = append(row.delays, one.delay.Hours()/24)
			if one.usable > 0 {
				row.usable = append(row.usable, float64(one.usable))
			}
			if visible {
				row.VisibleFound++
			}
		}
		if one.named {
			row.Named++
		}
		if !one.found {
			m.Missed = append(m.Missed, MissedLoss{tier, r.Name, key[1], *truth, r.within(truth, own)})
		}
		row.Plants[plant] = at
	}
	for i := range r.findings {
		f := &r.findings[i]
		if !known || f.Family == detect.Clipping || f.Family == detect.CommunicationGap {
			continue
		}
		if right := r.explains(f); right || !amongst(own, f, now) {
			m.judge(r, f, right)
		}
	}
}

// within returns the findings that overlap a loss on its unit and are not among those
// of the plant without it.
func (r *replayed) within(t *simulate.Truth, own []diagnose.Finding) (out []diagnose.Finding) {
	now := r.Input.Now
	for i := range r.findings {
		f := &r.findings[i]
		if slices.ContainsFunc(f.Units, t.Concerns) && f.Start.Before(endOf(t, now)) && ended(f, now).After(t.From) && f.Family != detect.Clipping && !amongst(own, f, now) {
			out = append(out, *f)
		}
	}
	return out
}

// explains reports whether an injected loss makes a finding right.
func (r *replayed) explains(f *diagnose.Finding) bool {
	return slices.ContainsFunc(r.Truth, func(t simulate.Truth) bool {
		return t.Cause == "injected" && t.Family == string(f.Family) && slices.ContainsFunc(f.Units, t.Concerns) && began(&t, f, r.Input.Now)
	})
}

// amongst reports whether a finding is one of those that a plant has without an
// injected loss, perhaps with other bounds.
func amongst(own []diagnose.Finding, f *diagnose.Finding, now time.Time) bool {
	return slices.ContainsFunc(own, func(o diagnose.Finding) bool {
		return o.Family == f.Family && slices.ContainsFunc(o.Units, func(id string) bool { return slices.Contains(f.Units, id) }) &&
			(o.Start.Sub(f.Start).Abs() <= assessmentSlack(f.Family) || o.Start.Before(ended(f, now)) && f.Start.Before(ended(&o, now)))
	})
}

// judge books whether a finding is right.
func (m *Measured) judge(r *replayed, f *diagnose.Finding, right bool) {
	m.judged = append(m.judged, judged{
		sample: sample{family: f.Family, basis: diagnose.TierOf(f.Event, r.units), sum: diagnose.EvidenceSum(f.Event), right: right},
		tier:   r.tier, confidence: f.Confidence,
	})
}

// visible reports whether the noise of a plant lets a loss be seen: false for strings
// below the size that is detected there five times in six.
func (m *Measured) visible(tier, plant string, t *simulate.Truth) bool {
	if t.Family != string(detect.StringOutage) || len(t.Units) == 0 {
		return true
	}
	d, ok := m.Detectability[tier+" "+plant+" "+t.Units[0]]
	return !ok || !(t.Severity < d.Detectable)
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
	usable       int // usable days until then, of a step
}

// cover holds a loss against the findings on its unit that began with it: one
// that was open long before is not found by it.
func cover(t *simulate.Truth, findings []diagnose.Finding, now time.Time) (out covered) {
	for i := range findings {
		f := &findings[i]
		if !slices.ContainsFunc(f.Units, t.Concerns) || !resembles(f.Family, detect.Family(t.Family)) {
			continue
		}
		if !began(t, f, now) {
			continue
		}
		part := partFor(f, t)
		inside := overlapShare(t, part, now)
		if math.IsNaN(inside) { // a loss that cost nothing
			inside = 1
		}
		out.share = min(out.share+inside, 1)
		if d := part.DetectedAt.Sub(t.From); !out.found || d < out.delay {
			out.found, out.delay, out.usable = true, d, f.UsableDays
		}
		out.named = out.named || string(f.Family) == t.Family
	}
	return out
}

// resembles reports whether a finding of family f finds a loss of family t, if under
// another name: those of a coarse group, and the two kinds of constant power, as a limit
// that is set on the rising curve and lifted at once gives the same readings as a
// reading that froze.
func resembles(f, t detect.Family) bool {
	constant := func(f detect.Family) bool { return f == detect.Curtailment || f == detect.StuckSensor }
	return f == t || coarse[f] != "" && coarse[f] == coarse[t] || constant(f) && constant(t)
}

// began reports whether a finding began with a loss and was announced after it.
func began(t *simulate.Truth, f *diagnose.Finding, now time.Time) bool {
	to, part := endOf(t, now), partFor(f, t)
	slack := max(24*time.Hour, to.Sub(t.From)/4)
	return !part.Start.Before(t.From.Add(-slack)) && part.Start.Before(to) && endedAt(part.End, now).After(t.From) && !part.DetectedAt.Before(t.From)
}
