package pipeline

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"app.sunloop/backend/api"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
	"app.sunloop/engine/series"
)

// log is a logger's memory: a row for each time, columns by unit and quantity.
type log struct {
	header string
	times  []time.Time
	rows   []string // without the time
	step   time.Duration
	least  int // rows of a piece that shows what kind of values it holds
}

// drawLog draws days of one to three units in one of the kinds of value that
// portals have, with holes, and a further quantity where it is power.
func drawLog(t *rapid.T) log {
	l := log{step: rapid.SampledFrom([]time.Duration{5 * time.Minute, 15 * time.Minute, time.Hour}).Draw(t, "step"), least: 5}
	units := rapid.IntRange(1, 3).Draw(t, "units")
	kind := rapid.SampledFrom([]string{"power", "energy", "counter"}).Draw(t, "kind")
	if kind == "energy" { // a morning's could be a counter's too; a day's fall
		l.step, l.least = time.Hour, 24
	}
	titles := []string{"time"}
	for u := range units {
		switch kind {
		case "power":
			titles = append(titles, fmt.Sprintf("INV-%d AC Power (kW)", u+1), fmt.Sprintf("INV-%d Temperature (°C)", u+1))
		case "energy":
			titles = append(titles, fmt.Sprintf("INV-%d Energy produced (kWh)", u+1))
		case "counter":
			titles = append(titles, fmt.Sprintf("INV-%d Total energy (kWh)", u+1))
		}
	}
	l.header = strings.Join(titles, ",") + "\n"
	start := day0.AddDate(0, 0, -rapid.IntRange(10, 300).Draw(t, "days ago"))
	n := rapid.IntRange(60, 200).Draw(t, "rows")
	counters := make([]float64, units)
	for i := range n {
		at := start.Add(time.Duration(i) * l.step)
		row := ""
		for u := range units {
			kW := math.Max(0, -math.Cos(2*math.Pi*at.Sub(start.Truncate(day)).Hours()/24)) * (10 + 5*math.Abs(math.Sin(float64(i*(u+2)))))
			counters[u] += math.Round(1000*kW*l.step.Hours()) / 1000
			switch kind {
			case "power":
				row += fmt.Sprintf(",%.3f,%.1f", kW, 20+kW/2)
			case "energy":
				row += fmt.Sprintf(",%.4f", kW*l.step.Hours())
			case "counter":
				row += fmt.Sprintf(",%.3f", 5000+counters[u])
			}
		}
		l.times, l.rows = append(l.times, at), append(l.rows, row)
	}
	return l
}

// file holds the rows from..to.
func (l log) file(from, to int) []byte {
	var b strings.Builder
	b.WriteString(l.header)
	for i := from; i < to; i++ {
		b.WriteString(l.times[i].Format(time.RFC3339) + l.rows[i] + "\n")
	}
	return []byte(b.String())
}

// TestPiecesAreTheWhole uploads a log as one file, as two that overlap, and cut
// in pieces, in any order: what is stored is the same.
func TestPiecesAreTheWhole(t *testing.T) {
	p := newPlant(t, day0, func(c *Config) { c.Objects = objects.InMemory() }) // no disk to wait for
	fewer(t, "25")
	n := 0
	upload := func(t *rapid.T, l log, pieces ...[2]int) string {
		n++
		req := request(api.UploadTrain)
		req.SiteID = fmt.Sprintf("site-%d", n)
		for _, piece := range pieces {
			ack, err := p.Upload(p.t.Context(), admin, req, bytes.NewReader(l.file(piece[0], piece[1])))
			if err != nil {
				var refusal *api.Error
				errors.As(err, &refusal)
				t.Fatalf("rows %v: %v", piece, refusal.Details)
			}
			if err := p.Importer.RunJob(p.t.Context(), store.Claimed{Job: p.NewJob(sitedata.JobIngest, sitedata.Payload{UploadID: ack.UploadID})}); err != nil {
				t.Fatalf("rows %v: %v", piece, err)
			}
		}
		return req.SiteID
	}
	rapid.Check(t, func(t *rapid.T) {
		l := drawLog(t)
		rows := len(l.rows)
		whole := p.stored(upload(t, l, [2]int{0, rows}))
		if len(whole) == 0 {
			t.Fatal("nothing is stored")
		}
		cut, again := rapid.IntRange(l.least, rows/2).Draw(t, "cut"), rapid.IntRange(rows/2, rows-l.least).Draw(t, "again")
		two := [][2]int{{0, again}, {cut, rows}}
		if rapid.Bool().Draw(t, "second first") {
			slices.Reverse(two)
		}
		alike(t, fmt.Sprint("overlapping ", two), whole, p.stored(upload(t, l, two...)))
		var pieces [][2]int
		for from := 0; from < rows; {
			to := from + rapid.IntRange(l.least, 60).Draw(t, "length")
			if rows-to < l.least {
				to = rows
			}
			pieces, from = append(pieces, [2]int{from, to}), to
		}
		pieces = rapid.Permutation(pieces).Draw(t, "order")
		alike(t, fmt.Sprint("pieces ", pieces), whole, p.stored(upload(t, l, pieces...)))
	})
}

// TestAMorningIsReadAsTheDaysBefore: energy that only rises, from a site whose
// files have held the energy of each interval, is that and no counter.
func TestAMorningIsReadAsTheDaysBefore(t *testing.T) {
	morning := "time,Energy produced (kWh)\n"
	for i := range 12 {
		morning += fmt.Sprintf("%s,%.3f\n", day0.Add(time.Duration(i-12)*5*time.Minute).Format(time.RFC3339), 5+0.05*float64(i))
	}
	days := "time,Energy produced (kWh)\n"
	for i := range 5 * 24 {
		at := day0.AddDate(0, 0, -6).Add(time.Duration(i) * time.Hour)
		days += fmt.Sprintf("%s,%.3f\n", at.Format(time.RFC3339), math.Max(0, -60*math.Cos(2*math.Pi*float64(at.Hour())/24)))
	}
	p := newPlant(t, day0, nil)
	p.importNow(request(api.UploadTrain), []byte(days))
	p.importNow(request(api.UploadNowcast), []byte(morning))
	list, _, err := p.Uploads(t.Context(), admin, api.ListQuery{SiteID: "South", Kind: api.UploadNowcast})
	if err != nil || len(list) != 1 || list[0].ValueKind != "interval_energy" || list[0].RowsStored != 12 {
		t.Errorf("read as %+v, %v", list, err)
	}
}

// fewer lets rapid check a slow property less often, unless the number is
// set on the command line.
func fewer(t *testing.T, checks string) {
	f := flag.Lookup("rapid.checks")
	if f == nil || f.Value.String() != f.DefValue {
		return
	}
	if err := f.Value.Set(checks); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(f.DefValue) })
}

// stored is all that a site's units have, by unit.
func (p *plant) stored(siteID string) map[string]series.Frame {
	p.t.Helper()
	out := map[string]series.Frame{}
	units, err := p.Domain.Sites.SiteAssets(p.t.Context(), siteID)
	if err != nil {
		p.t.Fatal(err)
	}
	for i, u := range units {
		f, err := store.Collect(p.Telemetry.Read(p.t.Context(), siteID, u.AssetID, time.Unix(0, 0), p.now().AddDate(1, 0, 0)))
		if err != nil {
			p.t.Fatal(err)
		}
		out[fmt.Sprint(i)] = f // the unit of a file without names is called after its site
	}
	return out
}

func alike(t *rapid.T, what string, want, got map[string]series.Frame) {
	columns := func(f series.Frame) map[string][]float64 {
		out := map[string][]float64{}
		for _, c := range f.Columns {
			out[fmt.Sprint(c.Quantity)] = c.Values
		}
		return out
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d units, want %d", what, len(got), len(want))
	}
	for name, w := range want {
		g := got[name]
		if !slices.Equal(w.Times, g.Times) {
			t.Fatalf("%s: unit %s has %d samples, want %d", what, name, g.Len(), w.Len())
		}
		if diff := cmp.Diff(columns(w), columns(g), cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Fatalf("%s: unit %s: %s", what, name, diff)
		}
	}
}
