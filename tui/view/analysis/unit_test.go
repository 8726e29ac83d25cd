package analysis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// A unit's records are listed with their gaps, and a change of interval is no
// gap.
func TestCadence(t *testing.T) {
	at := func(minutes ...int) []api.Record {
		var out []api.Record
		for _, m := range minutes {
			out = append(out, api.Record{Timestamp: api.At(stage.Noon.Add(time.Duration(m) * time.Minute))})
		}
		return out
	}
	for _, tt := range []struct {
		records []api.Record
		want    int // gaps
	}{
		{at(0, 5, 10, 15), 0}, {at(0, 5, 10, 25, 30), 1}, {at(0, 15, 30, 35, 40, 45), 0}, {at(0, 1, 2, 14, 15, 40, 41), 2},
	} {
		step, gaps := commonest(tt.records), 0
		for i := 1; i < len(tt.records); i++ {
			if tt.records[i].Timestamp.Sub(tt.records[i-1].Timestamp.Time) > max(step, cadence(tt.records, i))*3/2 {
				gaps++
			}
		}
		if gaps != tt.want {
			t.Errorf("%d gaps, want %d", gaps, tt.want)
		}
	}
}

// The unit closely, wide and narrow, in three looks.
func TestUnitLooks(t *testing.T) {
	for _, size := range []struct{ w, h int }{{78, 20}, {118, 32}, {198, 56}} {
		picture.Looks(t, fmt.Sprintf("observe/unit-%dx%d", size.w, size.h), func(pal *terminal.Palette) *terminal.Grid {
			p := plant.New()
			v := stage.ContextOf(t, stage.SiteOf(p, stage.Noon))
			v.Palette = pal
			store := state.Store{Site: v.Site}
			store.Want(state.QuerySamples, "INV-03")
			v.Site.Samples.Set(p.Samples(plant.DeadUnit, stage.Noon), stage.Noon)
			return stage.DrawnBy(v, size.w, size.h, NewUnitView("INV-03").Draw)
		})
	}
	for _, pen := range []chart.Pen{chart.Block, chart.ASCII} {
		v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
		v.Pen, v.ASCII = pen, pen == chart.ASCII
		text := picture.Text(stage.DrawnBy(v, 118, 60, NewUnitView("INV-05").Draw))
		if i := strings.IndexFunc(text, func(r rune) bool { return r > 0x7e }); v.ASCII && i >= 0 {
			t.Errorf("not ASCII: %.20q", text[i:])
		}
		for _, words := range []string{"INV-05", "its peers 76.4 kW, 80 %, lost 15.3 kW", "string outage", "ack by anna", "anna: crew is informed"} {
			if !strings.Contains(text, words) {
				t.Errorf("the unit does not show %q:\n%s", words, text)
			}
		}
	}
}

// Records of less than a minute are drawn as they are: one that differs is seen. Records of
// each minute have no such chart.
func TestRecentRecords(t *testing.T) {
	drawn := func(w, h int, step time.Duration, dip int) string {
		p := plant.New()
		v := stage.ContextOf(t, stage.SiteOf(p, stage.Noon))
		store := state.Store{Site: v.Site}
		store.Want(state.QuerySamples, "INV-05")
		var records []api.Record
		for at, i := stage.Noon.Add(-time.Hour), 0; !at.After(stage.Noon); at, i = at.Add(step), i+1 {
			kw := 80.0
			if at.Equal(stage.Noon.Add(-time.Duration(dip) * step)) {
				kw = 10
			}
			records = append(records, api.Record{AssetID: "INV-05", Timestamp: api.At(at), Power: kw})
		}
		v.Site.Samples.Set(records, stage.Noon)
		text := picture.Text(stage.DrawnBy(v, w, h, NewUnitView("INV-05").Draw))
		if i := strings.Index(text, "Records as measured"); i > 0 {
			text = text[:i] // without the list
		}
		return text
	}
	for _, size := range []struct{ w, h int }{{78, 60}, {198, 56}} {
		even, dip := drawn(size.w, size.h, 10*time.Second, -1), drawn(size.w, size.h, 10*time.Second, 30)
		if !strings.Contains(even, "Power as measured") || !strings.Contains(even, "each 10 s") || even == dip {
			t.Errorf("%d columns: the chart does not show a record of 10 s:\n%s", size.w, dip)
		}
		if text := drawn(size.w, size.h, time.Minute, -1); strings.Contains(text, "Power as measured") {
			t.Errorf("a chart of records of each minute:\n%s", text)
		}
	}
}
