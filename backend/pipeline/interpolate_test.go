package pipeline

import (
	"encoding/csv"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/interpolate"
)

// TestRealGapsAreFilled imports a year with holes and looks at what filled
// them.
func TestRealGapsAreFilled(t *testing.T) {
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
		got, _, err = p.Ops.Interpolations(t.Context(), api.Unlimited("test"), api.ListQuery{CustomerID: req.CustomerID, SiteID: req.SiteID, Page: api.Page{Limit: 10}})
		return err == nil
	})
	r := got[0]
	if r.GapStatistics.TotalGaps < 10 || r.GapStatistics.LargestGapMinutes < 60 || !(r.GapStatistics.CoverageImprovementPercent > 1 && r.GapStatistics.CoverageImprovementPercent < 30) {
		t.Errorf("gaps %+v", r.GapStatistics)
	}
	if m := r.PerformanceMetrics; !(m.RMSEKW > 0 && m.MAEKW > 0 && m.MAEKW <= m.RMSEKW && m.R2Score > 0.5 && m.NRMSEPercent < 20) {
		t.Errorf("metrics %+v", m)
	}
	if len(r.ByGapLength) == 0 || r.Methods[r.Method] == 0 || len(r.AssetIDs) != 1 {
		t.Errorf("result %+v", r)
	}
	key, ok := p.Objects.Key(r.FilledValues)
	if !ok {
		t.Fatalf("filled values at %q", r.FilledValues)
	}
	table, err := p.readObjectBytes(t.Context(), key)
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
	// What filled is in the registry, with the figures of a network that is there.
	m, err := p.Ops.ProductionModel(t.Context(), req.SiteID, api.ModelInterpolation)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(api.Hyperparameters{Layers: []int{16, 16}, LearningRate: 0.004, Optimizer: "adam"}, m.Hyperparameters); diff != "" {
		t.Error(diff)
	}
	k := m.TrainingMetrics
	if k.Epochs < 1 || k.EarlyStopEpoch < 1 || k.EarlyStopEpoch > k.Epochs || !(k.TrainLoss > 0) || !(k.ValidationLoss > 0) || !(m.ModelAccuracy > 0.8 && m.ModelAccuracy < 1) {
		t.Errorf("registered as %+v", m.Model)
	}
	b, err := p.readArtefact(t.Context(), m.Artefacts)
	if err != nil {
		t.Fatal(err)
	}
	artefact := interpolate.Artifact{Model: b.model, Encoders: b.encoders, Config: b.config}
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
	if err := p.interpolate(t.Context(), store.Claimed{Job: p.job(jobInterpolate, payload{SiteID: req.SiteID})}); err != nil {
		t.Fatal(err)
	}
	list, _, err := p.Ops.Models(t.Context(), admin, api.ListQuery{SiteID: req.SiteID})
	if err != nil || len(list) != 2 || list[0].ModelType != api.ModelForecasting || list[1].ModelType != api.ModelInterpolation {
		t.Errorf("registry %+v, %v", list, err)
	}
}
