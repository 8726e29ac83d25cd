package laws

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/tui/plain"
)

// near reports whether two energies agree except for rounding of the wire.
func near(got, want float64) bool {
	return math.Abs(got-want) <= 0.002+1e-4*math.Abs(want)
}

// read returns the records of a unit between two minutes.
func (p *plant) read(h *installation, u *unit, from, to int, resolution string) ([]api.Record, error) {
	r, err := h.Inverter(h.t.Context(), api.RecordsQuery{CustomerID: customer, SiteID: p.site, AssetID: u.id, Start: api.At(p.at(from)), End: api.LastBefore(p.at(to)), Resolution: resolution})
	if err != nil {
		return nil, err
	}
	return r.Records, nil
}

func energyOf(records []api.Record) (kwh float64) {
	for _, r := range records {
		kwh += r.KWh
	}
	return kwh
}

func (p *plant) ref() api.SiteRef { return api.SiteRef{CustomerID: customer, SiteID: p.site} }

func (p *plant) kpis(h *installation, from, to int) (*api.KPIs, error) {
	return h.KPIs(h.t.Context(), api.KPIQuery{CustomerID: customer, SiteID: p.site, From: api.At(p.at(from)), To: api.At(p.at(to))})
}

// figure returns a figure of a window.
func figure(k *api.KPIs, name string) (api.KPI, bool) {
	i := slices.IndexFunc(k.Figures, func(f api.KPI) bool { return f.Name == name })
	if i < 0 {
		return api.KPI{}, false
	}
	return k.Figures[i], true
}

func value(f api.KPI) float64 {
	if f.Value == nil {
		return math.NaN()
	}
	return *f.Value
}

// TestEnergy holds the energies of drawn plants on all surfaces against the energy
// that was drawn.
func TestEnergy(t *testing.T) {
	v := newTally()
	// 1054: hours of UTC reach over a midnight at half past.
	// 1072: constant powers of which one is within 1 % of the sum of two others.
	for _, seed := range seeds(t, 8, 9, 11, 14, 23, 1054, 1072) {
		p := draw(seed)
		h := open(t, p.start.AddDate(0, 0, -1), 0)
		if p.feed(h, v) {
			p.hold(h, v)
		}
		h.down()
	}
	v.report(t)
}

// feed uploads the files of a plant. While they come in the order of time, the
// energy of today must be the truth after each of them, and never fall.
func (p *plant) feed(h *installation, v *tally) bool {
	capacity := 0.0
	for _, u := range p.units {
		capacity += u.rating
	}
	if !p.ordered {
		h.set(p.at(p.end))
	}
	day, before, end := -1, 0.0, 0
	for i, f := range p.parts {
		end = max(end, f.end) // an overlap brings data of the past
		if p.ordered {
			h.set(p.at(end))
		}
		_, err := h.upload(f.kind, api.UploadRequest{SiteID: p.site, Location: p.place.location, Timezone: p.place.zone, CapacityKW: capacity}, p.csv(f))
		if err != nil {
			h.t.Errorf("%v: upload %d: %v", p, i, err)
			return false
		}
		if i == 0 {
			for _, u := range p.units {
				_, _ = h.SetAsset(h.t.Context(), api.Asset{AssetID: u.id, SiteID: p.site, CustomerID: customer, RatedPowerKW: u.rating})
			}
		}
		if !p.ordered || f.kind != api.UploadNowcast {
			continue
		}
		s, err := h.SiteSummary(h.t.Context(), p.ref())
		if err != nil {
			h.t.Errorf("%v: summary: %v", p, err)
			return false
		}
		today := p.today(end - 1)
		if end == p.days[today+1] { // midnight: the summary is of the next day
			continue
		}
		if today != day {
			day, before = today, 0
		}
		got, want := s.Summary.TotalKWhToday, p.truth(p.days[today], end)
		law := "today is the energy so far after each upload"
		if p.overlap > 0 {
			law = "today is the energy so far while steps overlap"
		}
		v.hold(law, near(got, want), "%v: after the file to %v: today is %.3f kWh, the truth %.3f", p, p.at(end).In(p.zone), got, want)
		v.hold("today never falls", got >= before-1e-6, "%v: after the file to %v: today fell from %.3f to %.3f kWh", p, p.at(end).In(p.zone), before, got)
		before = got
	}
	h.set(p.at(p.end))
	return true
}

// today is the day with the minute before another.
func (p *plant) today(minute int) int {
	day := 0
	for i := range len(p.days) - 1 {
		if p.days[i] <= minute {
			day = i
		}
	}
	return day
}

// hold checks all surfaces.
func (p *plant) hold(h *installation, v *tally) {
	r := rand.New(rand.NewPCG(p.seed, 99))
	last := p.days[len(p.days)-1]
	for _, u := range p.units {
		p.holdRecords(h, v, r, u, last)
	}
	want := 0.0 // at the last midnight, the summary is of the next day
	if today := p.today(p.end); p.end < p.days[today+1] {
		want = p.truth(p.days[today], p.end)
	}
	s, err := h.SiteSummary(h.t.Context(), p.ref())
	if err != nil {
		h.t.Errorf("%v: summary: %v", p, err)
		return
	}
	v.hold("site summary is the truth", near(s.Summary.TotalKWhToday, want), "%v: today %.3f kWh, the truth %.3f", p, s.Summary.TotalKWhToday, want)
	fleet, err := h.Fleet(h.t.Context(), api.ListQuery{CustomerID: customer})
	if err != nil || len(fleet.Sites) != 1 {
		h.t.Errorf("%v: fleet: %v", p, err)
		return
	}
	v.hold("fleet is the sum of its sites", fleet.Sites[0].Summary.TotalKWhToday == s.Summary.TotalKWhToday, "%v: fleet %.6f kWh, site %.6f", p, fleet.Sites[0].Summary.TotalKWhToday, s.Summary.TotalKWhToday)
	for _, f := range s.Summary.Figures {
		v.hold("each figure of today states its window, formula and time", f.Unit != "" && f.Formula != "" && !f.AsOf.IsZero() && f.Revision == 0 && (f.Value != nil || f.Note != ""), "%v: %+v", p, f)
	}
	p.holdPlain(v, s.Summary, want)
	p.holdKPIs(h, v)
	p.holdNowcast(h, v)
	p.holdLater(h, v)
	p.holdRollup(h, v)
}

// holdRecords checks the records of a unit at each resolution, whole and in pieces.
func (p *plant) holdRecords(h *installation, v *tally, r *rand.Rand, u *unit, last int) {
	want := u.truth(0, last)
	for _, resolution := range []string{"", api.Resolution5Min, api.Resolution15Min, api.ResolutionHour, api.ResolutionDaily} {
		records, err := p.read(h, u, 0, last, resolution)
		if err != nil {
			h.t.Errorf("%v: records of %s: %v", p, u.id, err)
			return
		}
		got := energyOf(records)
		// The energy that a counter shows for a gap belongs to its day: a gap has no
		// records.
		least := want
		if u.counted && resolution != api.ResolutionDaily {
			least = 0
			for m := range last {
				if u.covered[m] {
					least += u.powerKW[m] / 60
				}
			}
		}
		name := resolution
		if name == "" {
			name = "as measured"
		}
		law := "records " + name + " sum to the truth"
		if p.coarser && resolution != api.ResolutionDaily {
			law = "records sum to the truth where coarser data overlap"
		}
		v.hold(law, near(got, max(least, min(got, want))), "%v: %s: %d records sum to %.3f kWh, the truth is %.3f to %.3f", p, u.id, len(records), got, least, want)
		for _, d := range records {
			if resolution != api.ResolutionDaily {
				break
			}
			from := int(d.Timestamp.Sub(p.start) / time.Minute)
			i := slices.Index(p.days, from)
			if v.hold("daily records begin at midnight", i >= 0 && i < len(p.days)-1, "%v: %s: a daily record at %v", p, u.id, d.Timestamp); i >= 0 && i < len(p.days)-1 {
				v.hold("each day is the truth", near(d.KWh, u.truth(p.days[i], p.days[i+1])), "%v: %s on %s: %.3f kWh, the truth is %.3f", p, u.id, p.at(from).In(p.zone).Format(time.DateOnly), d.KWh, u.truth(p.days[i], p.days[i+1]))
			}
		}
	}
	for _, resolution := range []string{"", api.ResolutionHour} {
		whole, err := p.read(h, u, 0, last, resolution)
		if err != nil {
			h.t.Errorf("%v: records of %s: %v", p, u.id, err)
			return
		}
		total, cuts := 0.0, []int{0, last}
		for range 4 {
			at := r.IntN(last)
			if resolution == api.ResolutionHour {
				at -= at % 60
			}
			cuts = append(cuts, at)
		}
		slices.Sort(cuts)
		for i := range len(cuts) - 1 {
			if cuts[i] == cuts[i+1] {
				continue
			}
			piece, err := p.read(h, u, cuts[i], cuts[i+1], resolution)
			if err != nil {
				h.t.Errorf("%v: records of %s: %v", p, u.id, err)
				return
			}
			total += energyOf(piece)
		}
		v.hold("any split of a read sums alike", near(total, energyOf(whole)), "%v: %s %s: in pieces at minutes %v %.3f kWh, whole %.3f", p, u.id, resolution, cuts, total, energyOf(whole))
	}
}

var energyWords = regexp.MustCompile(`(([\d.,]+) ([kMG]?Wh)) today`)

// holdPlain checks the lines for scripts and screen readers.
func (p *plant) holdPlain(v *tally, s api.SiteSummary, want float64) {
	line := plain.Vitals(s)
	m := energyWords.FindStringSubmatch(line)
	if !s.HasEnergy() {
		v.hold("plain shows that the energy is unknown", m == nil && strings.Contains(line, "energy of today unknown"), "%v: %q", p, line)
		return
	}
	v.hold("plain shows the summary's energy", m != nil && m[1] == display.Energy(s.TotalKWhToday), "%v: %q for %.3f kWh", p, line, s.TotalKWhToday)
	if m != nil {
		n, err := strconv.ParseFloat(m[2], 64)
		n *= map[string]float64{"Wh": 1e-3, "kWh": 1, "MWh": 1e3, "GWh": 1e6}[m[3]]
		v.hold("plain is the truth", err == nil && math.Abs(n-want) <= 0.06+0.0051*math.Abs(n), "%v: %q, the truth is %.3f kWh", p, line, want)
	}
}

// holdKPIs checks windows of days, and that they sum. A figure of a day with gaps may
// be withheld.
func (p *plant) holdKPIs(h *installation, v *tally) {
	today := p.today(p.end)
	total := 0.0
	for i := range today {
		k, err := p.kpis(h, p.days[i], p.days[i+1])
		if err != nil {
			h.t.Errorf("%v: KPIs: %v", p, err)
			return
		}
		holdSurfaces(v, *k, fmt.Sprintf("%v: day %d", p, i))
		e, _ := figure(k, "energy")
		total += value(e)
		want, share := p.truth(p.days[i], p.days[i+1]), p.share(p.days[i], p.days[i+1])
		if k.DataAvailability != nil && share == 1 {
			v.hold("a change of the step is no loss of data", *k.DataAvailability > 0.99, "%v: day %d: data availability %.3f", p, i, *k.DataAvailability)
		}
		if e.Value == nil {
			v.hold("a KPI is withheld for missing data alone", e.Note != "" && share < 1, "%v: KPIs of day %d with samples of %.3f of it: %q", p, i, share, e.Note)
			continue
		}
		v.hold("KPI of a day is the truth", near(value(e), want), "%v: KPIs of day %d: %.3f kWh, the truth is %.3f", p, i, value(e), want)
		var table bytes.Buffer
		_ = plain.Figures(*k).Write(&table, "")
		v.hold("plain figures are the KPIs'", strings.Contains(table.String(), plain.Number(value(e))), "%v: %s in %q", p, plain.Number(value(e)), table.String())
	}
	if today == 0 {
		return
	}
	k, err := p.kpis(h, 0, p.days[today])
	if err != nil {
		h.t.Errorf("%v: KPIs: %v", p, err)
		return
	}
	if e, _ := figure(k, "energy"); e.Value != nil && !math.IsNaN(total) {
		v.hold("KPIs of days sum to those of the window", near(value(e), total), "%v: window %.3f kWh, days %.3f", p, value(e), total)
	}
	pr, ok := figure(k, "performance_ratio")
	v.hold("PR is plausible or withheld", !ok || pr.Value == nil && pr.Note != "" || value(pr) > 0 && value(pr) <= 1.05, "%v: PR %v, note %q", p, value(pr), pr.Note)
}

// holdNowcast checks the series of the last day, which has no points in gaps.
func (p *plant) holdNowcast(h *installation, v *tally) {
	if p.gaps {
		return
	}
	n, err := h.Nowcast(h.t.Context(), api.NowcastRequest{CustomerID: customer, SiteID: p.site, TimeRange: api.Range24h})
	if err != nil {
		h.t.Errorf("%v: nowcast: %v", p, err)
		return
	}
	got, first := 0.0, math.MaxInt
	for _, point := range n.Data.TimeSeries {
		got += point.TotalPowerKW * float64(n.Data.StepMinutes) / 60
		first = min(first, int(point.Timestamp.Sub(p.start)/time.Minute))
	}
	if first == math.MaxInt {
		first = p.end
	}
	end := p.end
	if n.Data.StepMinutes > 0 && len(n.Data.TimeSeries) > 0 {
		end = int(n.Data.TimeSeries[len(n.Data.TimeSeries)-1].Timestamp.Sub(p.start)/time.Minute) + n.Data.StepMinutes
	}
	want := p.truth(first, end)
	v.hold("the live chart is the truth", near(got, want), "%v: %d points of %d min from minute %d to %d sum to %.3f kWh, the truth is %.3f", p, len(n.Data.TimeSeries), n.Data.StepMinutes, first, end, got, want)
	v.hold("the live chart reaches over its day", first <= max(p.end-24*60, 0)+max(n.Data.StepMinutes, 60), "%v: it begins at minute %d of %d", p, first, p.end)
}

// holdRollup checks the partner's rollup of whole days, which is made again an hour
// after the last one at the latest.
func (p *plant) holdRollup(h *installation, v *tally) {
	if p.today(p.end) == 0 {
		return
	}
	var got, want float64
	var period api.RollupPeriod
	var figures []api.RollupFigure
	for range 200 {
		r, err := h.KPIRollup(h.t.Context(), p.ref())
		if err == nil {
			period = r.Period
			figures = r.Figures
			got, want = r.EnergyBalance.SolarProductionKWh, p.truth(p.minute(period.Start, 0), p.minute(period.End, 1))
			if near(got, want) {
				break
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	for _, f := range figures {
		v.hold("each figure of the rollup states its window, formula and revision", f.Unit != "" && f.Formula != "" && !f.AsOf.IsZero() && f.Revision > 0 && !f.From.IsZero() && (f.Value != nil || f.Note != ""), "%v: %+v", p, f)
		if f.Name == "energy" && f.Value != nil {
			v.hold("the rollup's figure is its balance", near(*f.Value, got), "%v: %v and %v kWh", p, *f.Value, got)
		}
	}
	v.hold("the rollup is the truth", period.Days > 0 && near(got, want), "%v: the rollup from %s to %s has %.3f kWh, the truth is %.3f", p, period.Start, period.End, got, want)
}

// minute is the minute at which a day begins, or one some days later.
func (p *plant) minute(day api.Date, later int) int {
	t, err := time.ParseInLocation(time.DateOnly, string(day), p.zone)
	if err != nil {
		return 0
	}
	return int(t.AddDate(0, 0, later).Sub(p.start) / time.Minute)
}

// snapshot is what the surfaces say of the closed days and of today.
func (p *plant) snapshot(h *installation) (map[string]string, error) {
	out := map[string]string{}
	today := p.today(p.end)
	for _, u := range p.units {
		records, err := p.read(h, u, 0, p.days[len(p.days)-1], api.ResolutionDaily)
		if err != nil {
			return nil, err
		}
		for i, r := range records {
			if i < today {
				out[fmt.Sprintf("day %d of %s", i, u.id)] = fmt.Sprintf("%v %v", r.Timestamp, r.KWh)
			}
		}
	}
	if today > 0 {
		k, err := p.kpis(h, 0, p.days[today])
		if err != nil {
			return nil, err
		}
		for _, f := range k.Figures {
			text, err := json.Marshal([]any{f.Value, f.Low, f.High, f.DataAvailability, f.Note, f.Revision})
			if err != nil {
				return nil, err
			}
			out["KPI "+f.Name] = string(text)
		}
	}
	return out, nil
}

// holdLater checks that closed days stay as they are, after a restart and on a
// later day.
func (p *plant) holdLater(h *installation, v *tally) {
	before, err := p.snapshot(h)
	if err != nil {
		h.t.Errorf("%v: %v", p, err)
		return
	}
	for _, change := range []struct {
		law string
		do  func()
	}{
		{"a restart changes nothing", h.restart},
		{"closed windows do not drift", func() { h.set(p.at(p.end).Add(49 * time.Hour)) }},
	} {
		change.do()
		after, err := p.snapshot(h)
		if err != nil {
			h.t.Errorf("%v: %v", p, err)
			return
		}
		for name, text := range before {
			v.hold(change.law, after[name] == text, "%v: %s was %s, is %s", p, name, text, after[name])
		}
	}
}
