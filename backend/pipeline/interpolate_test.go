package pipeline

import (
	"encoding/csv"
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/interpolate"
	"app.sunloop/internal/longtest"
)

// TestRealGapsAreFilled imports a year with holes and looks at what filled
// them.
func TestRealGapsAreFilled(t *testing.T) {
	longtest.Mark(t)
	file := austria(t)
	p := newPlant(t, time.Date(2022, 4, 29, 7, 20, 0, 0, time.UTC), nil)
	p.start()
	req := request(api.UploadTrain)
	req.Location, req.CapacityKW = "47,15", 54.6
	if _, err := p.Upload(t.Context(), api.Unlimited("test"), req, strings.NewReader(string(file))); err != nil {
		t.Fatal(err)
	}
	var got []api.InterpolationResult
	p.await("the interpolation", func() bool {
		var err error
		got, _, err = p.Domain.Models.Interpolations(t.Context(), api.Unlimited("test"), api.ListQuery{CustomerID: req.CustomerID, SiteID: req.SiteID, Page: api.Page{Limit: 10}})
		return err == nil
	})
	r := got[0]
	if r.GapStatistics.TotalGaps < 10 || r.GapStatistics.LargestGapMinutes < 60 || !(r.GapStatistics.CoverageImprovementPercent > 1 && r.GapStatistics.CoverageImprovementPercent < 30) {
		t.Errorf("gaps %+v", r.GapStatistics)
	}
	if m := r.PerformanceMetrics; !(*m.RMSEKW > 0 && *m.MAEKW > 0 && *m.MAEKW <= *m.RMSEKW && *m.R2Score > 0.5 && *m.NRMSEPercent < 20) {
		t.Errorf("metrics %+v", m)
	}
	if len(r.ByGapLength) == 0 || r.Methods[r.Method] == 0 || len(r.AssetIDs) != 1 {
		t.Errorf("result %+v", r)
	}
	key, ok := p.Objects.Key(r.FilledValues)
	if !ok {
		t.Fatalf("filled values at %q", r.FilledValues)
	}
	table, err := p.ReadObject(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(table))).ReadAll()
	if err != nil || len(rows) < 100 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	for _, row := range rows[1:] {
		var kw [3]float64
		for i := range kw {
			if kw[i], err = strconv.ParseFloat(row[2+i], 64); err != nil {
				t.Fatal(err)
			}
		}
		if !(0 <= kw[0] && kw[0] <= kw[1] && kw[1] <= kw[2] && kw[2] <= 54.6) {
			t.Fatalf("filled with %v", row)
		}
	}
	p.gapsAreThose(req.CustomerID, r, len(rows)-1)
	// What filled is in the registry, with the figures of a network that is there.
	m, err := p.Domain.Models.InProduction(t.Context(), req.SiteID, api.ModelInterpolation)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(api.Hyperparameters{Layers: []int{16, 16}, LearningRate: 0.004, Optimizer: "adam"}, m.Hyperparameters); diff != "" {
		t.Error(diff)
	}
	k := m.TrainingMetrics
	if k.Epochs < 1 || k.EarlyStopEpoch < 1 || k.EarlyStopEpoch > k.Epochs || len(k.Curve) != k.Epochs || math.Abs(k.Curve[k.EarlyStopEpoch-1].ValidationLoss/k.ValidationLoss-1) > 1e-3 || !(k.TrainLoss > 0) || !(k.ValidationLoss > 0) || !(m.ModelAccuracy > 0.8 && m.ModelAccuracy < 1) {
		t.Errorf("registered as %+v", m.Model)
	}
	artefact, err := p.ReadArtefact(t.Context(), m.Artefacts)
	if err != nil {
		t.Fatal(err)
	}
	filler, err := interpolate.Decode(artefact)
	if err != nil || artefact.Hash() != m.Hash || filler.Report().Neural.Epochs != k.Epochs {
		t.Errorf("its artefact: %v", err)
	}
	share := 0.0
	for _, s := range m.Members {
		share += s
	}
	if math.Abs(share-1) > 0.01 {
		t.Errorf("methods %v", m.Members)
	}
	// The same data again: the same model, no other one.
	if err := p.Filler.RunJob(t.Context(), store.Claimed{Job: p.NewJob(sitedata.JobInterpolate, sitedata.Payload{SiteID: req.SiteID})}); err != nil {
		t.Fatal(err)
	}
	list, _, err := p.Domain.Models.Models(t.Context(), admin, api.ListQuery{SiteID: req.SiteID})
	if err != nil || len(list) != 2 || list[0].ModelType != api.ModelForecasting || list[1].ModelType != api.ModelInterpolation {
		t.Errorf("registry %+v, %v", list, err)
	}
}

// silence uploads a history in which a unit says nothing of its power for two
// days, and answers what filled it, what it made by hour and what it was said to
// have made.
func silence(t *testing.T, units int, irradiance bool) (r api.InterpolationResult, wrong, sum float64) {
	t.Helper()
	p := newPlant(t, day0, quickTraining)
	s := fleet(75, units)
	silent := s.Units[units/2].AssetID
	from, to := day0.AddDate(0, 0, -20), day0.AddDate(0, 0, -18)
	made := map[string]float64{}
	var file strings.Builder
	for line := range strings.Lines(string(csvOf(t, s, day0.AddDate(0, 0, -75), day0, time.Hour))) {
		fields := strings.Split(strings.TrimSpace(line), ",")[:3]
		at, err := time.Parse(time.RFC3339, fields[0])
		if err != nil {
			file.WriteString(strings.Join(append(fields, "irradiance_wm2"), ",") + "\n")
			continue
		}
		kW, err := strconv.ParseFloat(fields[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		sun := ""
		if irradiance {
			sun = strconv.FormatFloat(9.5*kW, 'f', 0, 64)
		}
		if fields[1] == silent && !at.Before(from) && at.Before(to) {
			made[at.UTC().Format(time.RFC3339)], fields[2] = kW, ""
		}
		file.WriteString(strings.Join(append(fields, sun), ",") + "\n")
	}
	if len(made) != 48 {
		t.Fatalf("%d hours hidden of\n%.300s", len(made), file.String())
	}
	p.start()
	p.upload(request(api.UploadTrain), []byte(file.String()))
	var got []api.InterpolationResult
	p.await("the interpolation", func() bool {
		var err error
		got, _, err = p.Domain.Models.Interpolations(t.Context(), admin, api.ListQuery{CustomerID: "acme", SiteID: "South", Page: api.Page{Limit: 10}})
		return err == nil
	})
	r = got[0]
	key, _ := p.Objects.Key(r.FilledValues)
	table, err := p.ReadObject(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(table))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows[1:] {
		was, hidden := made[row[0]]
		kw, err := strconv.ParseFloat(row[3], 64)
		if err != nil {
			t.Fatal(err)
		}
		if hidden && (units == 1 || row[1] == silent) {
			wrong, sum = wrong+math.Abs(kw-was), sum+was
			delete(made, row[0])
		}
	}
	// The sample before the gap may stand for its first hour.
	if len(made) > 1 {
		t.Errorf("%d hours not filled", len(made))
	}
	t.Logf("error of %.1f %% of %.0f kWh, mostly by %s", 100*wrong/sum, sum, r.Method)
	return r, wrong, sum
}

// A unit that was silent while its siblings were not is filled from them, and
// close to what it made.
// gapsAreThose fails unless the gaps of a run, asked for whole, hold its values,
// and asked for in part are the longest.
func (p *plant) gapsAreThose(customer string, r api.InterpolationResult, values int) {
	p.t.Helper()
	ask := func(id string, limit int) api.GapsResponse {
		p.t.Helper()
		g, err := p.Filler.Gaps(p.t.Context(), api.Unlimited("test"), id, api.ListQuery{CustomerID: customer, Page: api.Page{Limit: limit}})
		if err != nil {
			p.t.Fatal(err)
		}
		return g
	}
	all := ask(r.ResultID, 100_000)
	if all.TotalGaps != all.Count || all.Count != len(all.Gaps) || all.TotalGaps < r.GapStatistics.TotalGaps || all.ResultID != r.ResultID || all.SiteID != r.SiteID {
		p.t.Errorf("%d gaps of %d, the run says %d", all.Count, all.TotalGaps, r.GapStatistics.TotalGaps)
	}
	sum := 0
	for i, g := range all.Gaps {
		sum += len(g.P50KW)
		energy := 0.0
		for k, kw := range g.P50KW {
			energy += kw * g.StepMinutes / 60
			if g.P10KW[k] > kw || kw > g.P90KW[k] {
				p.t.Fatalf("gap %+v", g)
			}
		}
		if g.Minutes != g.StepMinutes*float64(len(g.P50KW)) || g.End.Sub(g.Start.Time).Minutes() != g.Minutes || math.Abs(energy-g.EnergyKWh) > 0.01 || i > 0 && g.Minutes > all.Gaps[i-1].Minutes {
			p.t.Fatalf("gap %d of %v min from %s to %s holds %v kWh, of its values %v", i, g.Minutes, g.Start, g.End, g.EnergyKWh, energy)
		}
	}
	if sum != values {
		p.t.Errorf("the gaps hold %d values of %d", sum, values)
	}
	some := ask("", 3)
	if diff := cmp.Diff(all.Gaps[:3], some.Gaps); diff != "" || some.TotalGaps != all.TotalGaps {
		p.t.Errorf("the longest three: %s", diff)
	}
	if _, err := p.Filler.Gaps(p.t.Context(), api.Unlimited("test"), "int-none", api.ListQuery{CustomerID: customer, Page: api.Page{Limit: 3}}); !errors.Is(err, api.ErrNoInterpolation) {
		p.t.Errorf("no such run: %v", err)
	}
}

func TestSiblingsFillAUnit(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains for seconds")
	}
	r, wrong, sum := silence(t, 3, false)
	if r.Method != "sibling_units" || r.Methods["sibling_units"] == 0 || !(wrong < 0.12*sum) {
		t.Errorf("filled by %v, error of %.0f %%", r.Methods, 100*wrong/sum)
	}
	known := map[string]bool{}
	for _, l := range r.ByGapLength {
		known[l.KnownFrom] = true
	}
	if !known["nothing"] || !known["sibling units"] {
		t.Errorf("errors measured knowing %v", known)
	}
}

// A unit alone is filled by the irradiance that was measured meanwhile.
func TestIrradianceFillsAUnit(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains for seconds")
	}
	r, wrong, sum := silence(t, 1, true)
	known := map[string]bool{}
	for _, l := range r.ByGapLength {
		known[l.KnownFrom] = true
	}
	if !known["weather"] || r.WeatherFeatures.MeanIrradianceWM2 == nil || !(wrong < 0.15*sum) {
		t.Errorf("by %s knowing %v, error of %.0f %%", r.Method, known, 100*wrong/sum)
	}
}
