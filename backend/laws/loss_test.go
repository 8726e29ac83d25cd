package laws

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
)

// faulty is a simulated plant with one fault, and the same plant without it.
type faulty struct {
	seed       uint64
	site, twin *simulate.Site
	fault      simulate.Fault
	start, now time.Time // local midnights
	zone       *time.Location
	zoneName   string
}

const faultStep = 15 * time.Minute

func drawFault(seed uint64) *faulty {
	r := rand.New(rand.NewPCG(seed, 77))
	k := r.IntN(3)
	f := &faulty{seed: seed, zoneName: []string{"Europe/Berlin", "America/Phoenix", "Asia/Kolkata"}[k]}
	var err error
	if f.zone, err = time.LoadLocation(f.zoneName); err != nil {
		panic(err)
	}
	f.start = time.Date(2026, 6, 1, 0, 0, 0, 0, f.zone)
	f.now = f.start.AddDate(0, 0, 14)
	f.site = simulate.Clean(seed, f.start.AddDate(0, 0, -2), 3).Sites[k]
	f.twin = simulate.Clean(seed, f.start.AddDate(0, 0, -2), 3).Sites[k]
	f.fault = simulate.Fault{ID: "f", Kind: oneOf(r, simulate.UnitOutage, simulate.UnitOutage, simulate.StringLoss, simulate.Curtailment), Units: []string{f.site.Units[r.IntN(3)].AssetID},
		From: f.start.AddDate(0, 0, 11).Add(time.Duration(8+r.IntN(6)) * time.Hour), Severity: 0.5}
	f.fault.To = f.fault.From.Add(time.Duration(20+r.IntN(24)) * time.Hour)
	f.site.SetFaults([]simulate.Fault{f.fault})
	return f
}

func (f *faulty) String() string {
	return fmt.Sprintf("seed %d (%s of %v from %v to %v; SUNLOOP_TEST_LAWS_SEED=%d repeats it)", f.seed, f.fault.Kind, f.fault.Units, f.fault.From.In(f.zone), f.fault.To.In(f.zone), f.seed)
}

// energy is what the affected units of a simulated site produced.
func (f *faulty) energy(s *simulate.Site, from, to time.Time) (kwh float64) {
	for _, id := range f.fault.Units {
		for _, v := range s.Frames(from, to, faultStep)[id].Values(series.PowerKW) {
			if v > 0 {
				kwh += v * faultStep.Hours()
			}
		}
	}
	return kwh
}

func (f *faulty) upload(h *installation, kind string, from, to time.Time) error {
	var b bytes.Buffer
	if err := f.site.WriteCSV(&b, from, to, faultStep); err != nil {
		return err
	}
	_, err := h.upload(kind, api.UploadRequest{SiteID: f.site.ID, Location: fmt.Sprintf("%.2f,%.2f", f.site.Location.LatitudeDeg, f.site.Location.LongitudeDeg), Timezone: f.zoneName}, b.String())
	return err
}

// lost is the energy that the KPIs of a window name as lost, with their waterfall.
func (f *faulty) lost(h *installation, v *tally, from, to time.Time) float64 {
	k, err := h.KPIs(h.t.Context(), api.KPIQuery{CustomerID: customer, SiteID: f.site.ID, From: api.At(from), To: api.At(to)})
	if err != nil {
		h.t.Errorf("%v: KPIs: %v", f, err)
		return math.NaN()
	}
	e, _ := figure(k, "energy_lost")
	if l := k.Losses; l != nil {
		sum := 0.0
		for _, c := range l.ByCause {
			sum += c.LostKWh
			v.hold("losses are not negative", c.LostKWh >= 0, "%v: %s lost %.3f kWh from %v to %v", f, c.FaultFamily, c.LostKWh, from, to)
		}
		v.hold("waterfalls close", near(l.ExpectedKWh-sum-l.UnexplainedKWh, l.ActualKWh), "%v: expected %.3f less %.3f by causes less %.3f unexplained is not %.3f kWh, from %v to %v", f, l.ExpectedKWh, sum, l.UnexplainedKWh, l.ActualKWh, from, to)
		if made, ok := figure(k, "energy"); ok && made.Value != nil {
			v.hold("waterfalls end at the energy", near(*made.Value, l.ActualKWh), "%v: energy %.3f kWh, the waterfall ends at %.3f, from %v to %v", f, *made.Value, l.ActualKWh, from, to)
		}
		if e.Value != nil {
			v.hold("waterfalls have the lost energy", math.Abs(sum-*e.Value) <= 0.01+0.001*sum, "%v: causes lost %.3f kWh, energy_lost is %.3f, from %v to %v", f, sum, *e.Value, from, to)
		}
		return sum
	}
	return value(e)
}

// TestLosses holds what findings and KPIs name as lost against simulated faults.
func TestLosses(t *testing.T) {
	v := newTally()
	for _, seed := range seeds(t, 3) {
		f := drawFault(seed)
		h := open(t, f.fault.From, 0)
		f.run(h, v)
		h.down()
	}
	v.report(t)
}

func (f *faulty) run(h *installation, v *tally) {
	if err := f.upload(h, api.UploadTrain, f.start, f.fault.From); err != nil {
		h.t.Errorf("%v: upload: %v", f, err)
		return
	}
	before := map[string]float64{}
	for at := f.fault.From; at.Before(f.now); {
		to := at.Add(5 * time.Hour)
		if to.After(f.now) {
			to = f.now
		}
		h.set(to)
		if err := f.upload(h, api.UploadNowcast, at, to); err != nil {
			h.t.Errorf("%v: upload: %v", f, err)
			return
		}
		run, err := h.Detect(h.t.Context(), api.AssetRef{AssetID: f.fault.Units[0]}, 48)
		if err != nil {
			h.t.Errorf("%v: detect: %v", f, err)
			return
		}
		found, err := h.Findings(h.t.Context(), api.ListQuery{CustomerID: customer})
		if err == nil {
			f.holdAgreement(h, v, run, found.MLEnhancedActivities, fmt.Sprintf("%v: at %v", f, to.In(f.zone)))
			for _, x := range found.MLEnhancedActivities {
				v.hold("active losses never fall", !x.Active || x.LostKWh >= before[x.SummaryID]-0.001, "%v: at %v: %s fell from %.3f to %.3f kWh", f, to.In(f.zone), x.FaultFamily, before[x.SummaryID], x.LostKWh)
				before[x.SummaryID] = x.LostKWh
			}
		}
		at = to
	}
	f.hold(h, v)
}

// holdAgreement checks that the run of a unit, the findings and the alerts say the
// same of each fault.
func (f *faulty) holdAgreement(h *installation, v *tally, run *api.DetectResponse, found []api.Finding, where string) {
	list, err := h.Alerts(h.t.Context(), api.ListQuery{CustomerID: customer, SiteID: f.site.ID}, "")
	if err != nil {
		h.t.Errorf("%s: alerts: %v", where, err)
		return
	}
	for _, x := range found {
		if unit := run.AssetID; x.Active && (x.AssetID == unit || slices.Contains(x.AssetIDs, unit)) {
			i := slices.IndexFunc(run.Analysis.Anomalies, func(a api.Anomaly) bool { return a.SummaryID == x.SummaryID })
			if v.hold("a run has the active findings of its unit", i >= 0 && run.Analysis.Status == api.AnomalyDetected, "%s: %s of %+v", where, x.FaultFamily, run.Analysis); i >= 0 {
				a := run.Analysis.Anomalies[i]
				v.hold("a run and its findings agree", a.FaultFamily == x.FaultFamily && a.SeverityLabel == x.SeverityLabel && a.StartedAt.Equal(x.StartedAt.Time) && near(a.LostKWh, x.LostKWh), "%s: %+v and %+v", where, a, x)
			}
		}
		i := slices.IndexFunc(list.Alerts, func(a api.Alert) bool { return a.Metadata != nil && a.Metadata.SummaryID == x.SummaryID })
		if v.hold("each finding has an alert", i >= 0 || !x.Active, "%s: %s from %v", where, x.FaultFamily, x.StartedAt); i >= 0 {
			a := list.Alerts[i]
			v.hold("an alert and its finding agree", a.AlertType == x.FaultFamily && a.Resolved == !x.Active && a.Timestamp.Equal(x.StartedAt.Time), "%s: %+v and %+v", where, a, x)
		}
	}
}

func (f *faulty) hold(h *installation, v *tally) {
	found, err := h.Findings(h.t.Context(), api.ListQuery{CustomerID: customer})
	if errors.Is(err, api.ErrNoSummaries) {
		found, err = &api.FindingsResponse{}, nil
	}
	if err != nil {
		h.t.Errorf("%v: findings: %v", f, err)
		return
	}
	total := 0.0
	for _, x := range found.MLEnhancedActivities {
		total += x.LostKWh
		v.hold("losses are not negative", x.LostKWh >= 0, "%v: %s lost %.3f kWh", f, x.FaultFamily, x.LostKWh)
	}
	from := f.start.AddDate(0, 0, 10)
	window, parts := f.lost(h, v, from, f.now), 0.0
	for day := from; day.Before(f.now); day = day.AddDate(0, 0, 1) {
		next := day.AddDate(0, 0, 1)
		lost := f.lost(h, v, day, next)
		parts += lost
		healthy := f.energy(f.twin, day, next)
		v.hold("losses of a day are at most the expected energy", lost <= 1.25*healthy+0.5, "%v: on %s %.3f kWh were lost of %.3f", f, day.Format(time.DateOnly), lost, healthy)
		if f.fault.Kind == simulate.UnitOutage {
			truth := healthy - f.energy(f.site, day, next)
			v.hold("the loss of an outage is that of its day", math.Abs(lost-truth) <= 0.3*truth+0.05*healthy+0.5, "%v: on %s %.3f kWh are lost, the truth is %.3f", f, day.Format(time.DateOnly), lost, truth)
		}
		pieces := 0.0
		for at := day; at.Before(next); at = at.Add(8 * time.Hour) {
			end := at.Add(8 * time.Hour)
			if end.After(next) {
				end = next
			}
			pieces += f.lost(h, v, at, end)
		}
		v.hold("losses of parts of a day sum to the day's", math.Abs(pieces-lost) <= 0.01+0.001*lost, "%v: on %s %.3f kWh, its parts %.3f", f, day.Format(time.DateOnly), lost, pieces)
		night := f.lost(h, v, day.Add(23*time.Hour), next.Add(2*time.Hour))
		v.hold("no losses at night", night == 0 || math.IsNaN(night), "%v: %.3f kWh in the night after %s", f, night, day.Format(time.DateOnly))
	}
	v.hold("losses of days sum to the window's", math.Abs(window-parts) <= 0.01+0.001*window, "%v: window %.3f kWh, days %.3f", f, window, parts)
	v.hold("losses of findings sum to the window's", math.Abs(window-total) <= 0.02+0.01*total, "%v: window %.3f kWh, findings %.3f", f, window, total)
	if f.fault.Kind == simulate.UnitOutage {
		v.hold("an outage is found", len(found.MLEnhancedActivities) > 0, "%v: no finding", f)
	}
}
