package pipeline

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// sunny is a file of days of two units with a power that is a factor times that of the sun.
func sunny(from time.Time, days int, factor float64, units ...string) []byte {
	b := "time," + strings.Join(units, " power (kW),") + " power (kW)\n"
	for at := from; at.Before(from.AddDate(0, 0, days)); at = at.Add(15 * time.Minute) {
		light := math.Max(0, math.Sin((float64(at.Hour())+float64(at.Minute())/60-5)/14*math.Pi))
		b += at.Format("2006-01-02T15:04:05Z")
		for i := range units {
			b += fmt.Sprintf(",%.3f", factor*light*(10+float64(i)))
		}
		b += "\n"
	}
	return []byte(b)
}

// powers is the power of a unit by time.
func (p *plant) powers(asset string) map[int64]float64 {
	p.t.Helper()
	f, err := store.Collect(p.Telemetry.Read(p.t.Context(), "South", asset, day0.AddDate(-1, 0, 0), day0.AddDate(1, 0, 0)))
	if err != nil {
		p.t.Fatal(err)
	}
	out := map[int64]float64{}
	for i, at := range f.Times {
		if v := f.At(series.PowerKW, i); !math.IsNaN(v) {
			out[at] = v
		}
	}
	return out
}

func (p *plant) lastUpload() api.Upload {
	p.t.Helper()
	list, _, err := p.Uploads(p.t.Context(), admin, api.ListQuery{SiteID: "South", Page: api.Page{Limit: 1}})
	if err != nil || len(list) != 1 {
		p.t.Fatal(list, err)
	}
	return list[0]
}

func same(t *testing.T, what string, got, want map[int64]float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, want %d", what, len(got), len(want))
	}
	for at, v := range want {
		if got[at] != v {
			t.Errorf("%s: %g at %s, want %g", what, got[at], time.Unix(at, 0).UTC(), v)
			return
		}
	}
}

// TestRevert: imports that overlap are undone in any order, and what is left is what the others alone give.
func TestRevert(t *testing.T) {
	start := day0.Truncate(24*time.Hour).AddDate(0, 0, -10)
	files := [][]byte{sunny(start, 3, 1, "INV-1"), sunny(start.AddDate(0, 0, 2), 3, 1, "INV-1", "INV-2"), sunny(start.AddDate(0, 0, 1), 3, 0.5, "INV-1")}
	alone := func(which ...int) map[int64]float64 {
		p := newPlant(t, day0, nil)
		for i, f := range files {
			if slices.Contains(which, i) {
				p.importNow(request(api.UploadTrain), f)
				p.pass(time.Second)
			}
		}
		return p.powers("INV-1")
	}
	for _, order := range [][]int{{2}, {0, 1}, {1, 2}, {2, 0}} {
		p := newPlant(t, day0, nil)
		var ids []string
		for _, f := range files {
			p.pass(time.Second)
			p.importNow(request(api.UploadTrain), f)
			ids = append(ids, p.lastUpload().UploadID)
		}
		if u := p.lastUpload(); u.RowsReplaced == 0 || u.RowsReplaced > 3*96 || len(u.Columns) != 2 || u.FirstDay == nil || u.Mapping == "" {
			t.Errorf("the last upload is %+v", u)
		}
		left := []int{0, 1, 2}
		for _, i := range order {
			u, err := p.Revert(t.Context(), admin, ids[i])
			if err != nil || u.ProcessingStatus != api.UploadReverted {
				t.Fatal(u, err)
			}
			left = slices.DeleteFunc(left, func(k int) bool { return k == i })
			same(t, fmt.Sprintf("reverted %v up to %d", order, i), p.powers("INV-1"), alone(left...))
		}
		if _, err := p.Revert(t.Context(), admin, ids[order[0]]); !isRefusal(err, 409) {
			t.Errorf("reverted twice: %v", err)
		}
		units, err := p.Domain.Sites.SiteAssets(t.Context(), "South")
		if want := 1; err != nil || slices.Contains(order, 1) && len(units) != want {
			t.Errorf("after %v the site has the units %+v, %v", order, units, err)
		}
	}
}

// TestRevertAll: a site that a file alone made goes with it, and the file can be imported again.
func TestRevertAll(t *testing.T) {
	p := newPlant(t, day0, nil)
	file := sunny(day0.Truncate(24*time.Hour).AddDate(0, 0, -3), 2, 1, "INV-1")
	for range 2 {
		p.pass(time.Second)
		p.importNow(request(api.UploadTrain), file)
		u := p.lastUpload()
		if !u.NewSite || len(u.NewAssetIDs) != 1 {
			t.Errorf("imported as %+v", u)
		}
		u, err := p.Revert(t.Context(), admin, u.UploadID)
		if err != nil || u.RowsRemoved != u.RowsStored || u.RowsRestored != 0 {
			t.Errorf("reverted as %+v, %v", u, err)
		}
		if _, err := p.Domain.Sites.Site(t.Context(), admin, "South"); !isRefusal(err, 404) {
			t.Errorf("the site is there: %v", err)
		}
		if _, _, there, err := p.Telemetry.Period(t.Context(), "South", ""); there || err != nil {
			t.Errorf("telemetry is there: %v", err)
		}
	}
	if _, err := p.Revert(t.Context(), admin, "upl_unknown"); !isRefusal(err, 404) {
		t.Errorf("an unknown upload: %v", err)
	}
}

// TestMappingIsKept: a mapping that came with a file reads the next one with the same header.
func TestMappingIsKept(t *testing.T) {
	p := newPlant(t, day0, nil)
	file := func(day int) []byte {
		return []byte(strings.Replace(string(sunny(day0.Truncate(24*time.Hour).AddDate(0, 0, -day), 1, 1, "A", "B")), "B power (kW)", "Quux", 1))
	}
	req := request(api.UploadTrain)
	req.Mapping = "power[Roof]=Quux,unit=W,ignore=A power (kW)"
	first, err := p.Inspect(t.Context(), admin, req, strings.NewReader(string(file(5))))
	if err != nil || !first.Accept || !first.NewSite || first.RowsReplaced != 0 || !slices.Equal(first.NewAssetIDs, []string{"Roof"}) {
		t.Errorf("inspected as %+v, %v", first, err)
	}
	p.importNow(req, file(5))
	req.Mapping = ""
	p.pass(time.Second)
	p.importNow(req, file(4))
	u := p.lastUpload()
	if u.Unit != "W" || !slices.Equal(u.AssetIDs, []string{"Roof"}) {
		t.Errorf("the next file is read as %+v", u)
	}
	if again, err := p.Inspect(t.Context(), admin, req, strings.NewReader(strings.ReplaceAll(string(file(4)), "0.", "1."))); err != nil || again.NewSite || again.RowsReplaced == 0 {
		t.Errorf("inspected again as %+v, %v", again, err)
	}
	for text, field := range map[string]string{"power=": "mapping", "foo=Bar": "mapping"} {
		req.Mapping = text
		if _, err := p.Upload(t.Context(), admin, req, strings.NewReader("x")); !isRefusal(err, 400) || !strings.Contains(fmt.Sprint(err), field) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestRevertSettings: the mapping that an upload gave to the next files, and the
// capacities that it set, go with it; what earlier uploads gave comes back.
func TestRevertSettings(t *testing.T) {
	p := newPlant(t, day0, nil)
	start := day0.Truncate(24 * time.Hour)
	var ids []string
	send := func(file []byte, mapping string, capacity float64) {
		t.Helper()
		p.pass(time.Second)
		req := request(api.UploadTrain)
		req.Mapping, req.CapacityKW = mapping, capacity
		p.importNow(req, file)
		ids = append(ids, p.lastUpload().UploadID)
	}
	revert := func(i int) api.Upload {
		t.Helper()
		u, err := p.Revert(t.Context(), admin, ids[i])
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	mapping := func() string {
		t.Helper()
		m, err := p.Domain.Uploads.Profiles(t.Context(), "South")
		if err != nil || len(m) > 1 {
			t.Fatal(m, err)
		}
		for _, text := range m {
			return text
		}
		return ""
	}
	capacities := func() string {
		t.Helper()
		units, err := p.Domain.Sites.SiteAssets(t.Context(), "South")
		if err != nil {
			t.Fatal(err)
		}
		site, err := p.Domain.Sites.Site(t.Context(), admin, "South")
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("South %g", site.CapacityKW)
		for _, u := range units {
			text += fmt.Sprintf(", %s %g", u.AssetID, u.CapacityKW)
		}
		return text
	}
	check := func(when, wantMapping, wantCapacities string) {
		t.Helper()
		if got := mapping(); got != wantMapping {
			t.Errorf("%s the mapping is %q, want %q", when, got, wantMapping)
		}
		if got := capacities(); got != wantCapacities {
			t.Errorf("%s the capacities are %s, want %s", when, got, wantCapacities)
		}
	}
	send(sunny(start.AddDate(0, 0, -9), 1, 1, "INV-1", "INV-2"), "unit=kW", 21)
	send(sunny(start.AddDate(0, 0, -8), 1, 1, "INV-1", "INV-2", "INV-3"), "", 0)
	check("first", "unit=kW", "South 21, INV-1 10, INV-2 11, INV-3 12")
	send(sunny(start.AddDate(0, 0, -7), 1, 2, "INV-1", "INV-2", "INV-3"), api.InferredMapping+"\nunit=kW", 0)
	send(sunny(start.AddDate(0, 0, -6), 1, 1, "INV-1", "INV-2"), "unit=W", 0)
	send(sunny(start.AddDate(0, 0, -5), 1, 4, "INV-1", "INV-2", "INV-3"), "", 0)
	check("then", "unit=W", "South 21, INV-1 10, INV-2 11, INV-3 48")
	revert(2)
	check("without the third", "unit=W", "South 21, INV-1 10, INV-2 11, INV-3 48")
	revert(4)
	check("without the last", "unit=W", "South 21, INV-1 10, INV-2 11, INV-3 12")
	revert(3)
	check("without the fourth", "unit=kW", "South 21, INV-1 10, INV-2 11, INV-3 12")
	revert(0)
	check("without the first", "", "South 0, INV-1 10, INV-2 11, INV-3 12")
}

// TestRevertCounts: the rows that a revert removes, restores and leaves are those
// that the import stored; it restores those that the import replaced.
func TestRevertCounts(t *testing.T) {
	p := newPlant(t, day0, nil)
	start := day0.Truncate(24*time.Hour).AddDate(0, 0, -9)
	p.importNow(request(api.UploadTrain), sunny(start, 2, 1, "INV-1"))
	p.pass(time.Second)
	p.importNow(request(api.UploadTrain), sunny(start.AddDate(0, 0, 1), 2, 2, "INV-1"))
	u := p.lastUpload()
	u, err := p.Revert(t.Context(), admin, u.UploadID)
	if err != nil || u.RowsStored != 192 || u.RowsRemoved != 96 || u.RowsReplaced == 0 || u.RowsRestored != u.RowsReplaced || u.RowsRestored == 96 {
		t.Errorf("%d stored, %d replaced, %d removed, %d restored, %v", u.RowsStored, u.RowsReplaced, u.RowsRemoved, u.RowsRestored, err)
	}
}
