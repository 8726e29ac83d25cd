package pipeline

import (
	"encoding/csv"
	"strconv"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
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
}
