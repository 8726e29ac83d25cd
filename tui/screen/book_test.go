package screen

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// books are the screens that judge.
func books() map[string]func() *Book {
	return map[string]func() *Book{"forecast": NewForecast, "models": NewModels, "kpis": NewKPIs, "gaps": NewGaps}
}

// bookView is a view with all that the books show.
func bookView(t testing.TB, ascii bool) view.Context {
	t.Helper()
	v := contextOf(t, ascii)
	v.Focused = true
	if ascii {
		v.Pen = chart.ASCII
	}
	p := plant.New()
	s := v.Site
	s.Assets.Good(p.Assets(), noon)
	s.Findings.Good(p.Findings(noon), noon)
	s.Forecast.Good(p.Forecast(noon), noon)
	day := state.Day{Start: p.Midnight(noon), End: p.Midnight(noon).AddDate(0, 0, 1)}
	s.Day.Good(day.With(p.Records(day.Start, day.End, noon)), noon)
	s.Issued.Good(p.Issued(noon), noon)
	s.Accuracy.Good(p.Accuracy(noon), noon)
	s.ModelHistory.Good(p.Moves(noon), noon)
	s.Interpolations.Good(p.Fills(noon), noon)
	s.Gaps.Good(p.Gaps(noon), noon)
	return v
}

// turned is a book turned to a leaf, with all that it asks for answered.
func turned(v view.Context, b *Book, at int) {
	b.at = at
	p := plant.New()
	store := state.Store{Site: v.Site}
	drawBook(v, b, 78, 20) // a row is chosen
	for _, n := range b.Queries(v) {
		if n.Query == state.QueryKPIs || n.Query == state.QueryDaily || n.Query == state.QueryForeseen {
			store.Want(n.Query, n.Of)
		}
		switch n.Query {
		case state.QueryEvidence:
			store.Want(n.Query, n.Of)
			v.Site.Evidence.Good(aroundGap(p), noon)
		case state.QueryKPIs:
			v.Site.KPIs.Good(p.KPIs(noon), noon)
		case state.QueryForeseen:
			v.Site.Foreseen.Good(p.Foreseen(noon, 60), noon)
		case state.QueryDaily:
			v.Site.Daily.Good(dailyOf(p, n.Of), noon)
		}
		if n.Query == state.QueryRecords {
			store.Want(n.Query, n.Of)
			var from, to int64
			var resolution string
			if _, err := fmt.Sscanf(strings.ReplaceAll(n.Of, "/", " "), "%d %d %s", &from, &to, &resolution); err != nil {
				panic(err)
			}
			v.Site.Records.Good(p.Hours(time.Unix(from, 0), time.Unix(to, 0), noon), noon)
		}
	}
}

// aroundGap is the day of the plant's longest gap, without the gap.
func aroundGap(p *plant.Plant) state.Day {
	gap := p.Gaps(noon).Gaps[0]
	from := p.Midnight(noon).AddDate(0, 0, -1)
	day := state.Day{Start: from, End: from.AddDate(0, 0, 1)}
	records := p.Records(day.Start, day.End, noon)
	var left []api.Record
	for _, r := range records[gap.AssetID] {
		if r.Timestamp.Before(gap.Start.Time) || !r.Timestamp.Before(gap.End.Time) {
			left = append(left, r)
		}
	}
	records[gap.AssetID] = left
	return day.With(records)
}

// dailyOf is the plant's energy in the days that a need names.
func dailyOf(p *plant.Plant, of string) []state.DayEnergy {
	first, end, _ := strings.Cut(of, " ")
	from, _ := time.ParseInLocation(time.DateOnly, first, p.Zone)
	to, _ := time.ParseInLocation(time.DateOnly, end, p.Zone)
	var out []state.DayEnergy
	for day := from; day.Before(to); day = day.AddDate(0, 0, 1) {
		d := state.DayEnergy{Day: day, KWh: math.NaN()}
		if day.Day() != 13 { // a day of silence
			d.KWh, d.Units = 0, p.Units
			for _, records := range p.Daily(day, day.Add(time.Hour), noon) {
				d.KWh += records[0].KWh
			}
		}
		out = append(out, d)
	}
	return out
}

func drawBook(v view.Context, b *Book, w, h int) *terminal.Grid {
	g := terminal.NewGrid(w, h)
	g.All().Clear(v.Palette.Style(themes.Panel))
	b.Draw(g.All(), v)
	return g
}

// Each leaf of each book at the sizes of the console.
func TestBooksGolden(t *testing.T) {
	for name, open := range books() {
		for at, l := range open().leaves {
			for _, size := range sizes {
				v, b := bookView(t, false), open()
				turned(v, b, at)
				picture.Golden(t, fmt.Sprintf("%s-%s-%dx%d", name, l.name, size.w, size.h), picture.Text(drawBook(v, b, size.w-2, size.h-4)))
			}
			v, b := bookView(t, true), open()
			turned(v, b, at)
			text := picture.Text(drawBook(v, b, 118, 32))
			if i := strings.IndexFunc(text, func(r rune) bool { return r > 0x7e }); i >= 0 {
				t.Errorf("%s, %s: not ASCII: %.40q", name, l.name, text[i:])
			}
		}
	}
}

// The faces of each leaf: loading, empty, failed, and stale with its age.
func TestBookFaces(t *testing.T) {
	refused := errors.New("ask: dial: connection refused")
	later := noon.Add(20 * time.Second)
	for name, open := range books() {
		for at, l := range open().leaves {
			face := func(prepare func(s *state.Site)) string {
				v, b := bookView(t, false), open()
				turned(v, b, at)
				prepare(v.Site)
				return picture.Text(drawBook(v, b, 78, 20))
			}
			fresh := func(s *state.Site) {
				s.Forecast, s.Issued, s.Reports, s.Models, s.Findings = state.Value[api.GeneratedForecast]{}, state.Value[[]api.StoredForecast]{}, state.Reports{}, state.Value[[]api.Model]{}, state.Value[[]api.Finding]{}
			}
			bad := func(s *state.Site) {
				for _, bad := range []func(error, time.Time, time.Time){s.Forecast.Bad, s.Issued.Bad, s.Accuracy.Bad, s.ModelHistory.Bad, s.Models.Bad, s.KPIs.Bad, s.Daily.Bad, s.Interpolations.Bad, s.Gaps.Bad, s.Findings.Bad} {
					bad(refused, noon, later)
				}
			}
			for _, tt := range []struct {
				name    string
				prepare func(*state.Site)
				want    string
			}{
				{"loading", fresh, "Asking the service …"},
				{"failed", func(s *state.Site) { fresh(s); bad(s) }, "Next try in 20 s; r asks now."},
				{"stale", bad, "These are now old: "},
				{"empty", func(s *state.Site) {
					s.Forecast.Good(api.GeneratedForecast{}, noon)
					s.Issued.Good(nil, noon)
					s.Accuracy.Good(api.Accuracy{}, noon)
					s.ModelHistory.Good(nil, noon)
					s.Models.Good(nil, noon)
					s.KPIs.Good(api.KPIs{}, noon)
					s.Daily.Good(nil, noon)
					s.Interpolations.Good(nil, noon)
					s.Gaps.Good(api.GapsResponse{}, noon)
					s.Findings.Good(nil, noon)
				}, l.empty[:20]},
			} {
				if text := face(tt.prepare); !strings.Contains(text, tt.want) {
					t.Errorf("%s, %s, %s: %q is not there:\n%s", name, l.name, tt.name, tt.want, text)
				}
			}
		}
	}
}

// No colour stands where there are none, and no theme leaves text unreadable:
// dark, light and mono draw the same characters.
func TestBookThemes(t *testing.T) {
	for name, open := range books() {
		for at, l := range open().leaves {
			texts := map[string]string{}
			for _, look := range []struct {
				theme   string
				profile terminal.Profile
			}{{themes.ControlRoom, themes.TrueColor}, {themes.Daylight, themes.Colors256}} {
				v, b := bookView(t, false), open()
				theme, _ := themes.Find(themes.Builtin(), look.theme)
				v.Palette = terminal.NewPalette(&theme, look.profile)
				turned(v, b, at)
				texts[look.theme] = picture.Text(drawBook(v, b, 118, 32))
			}
			if texts[themes.ControlRoom] != texts[themes.Daylight] {
				t.Errorf("%s, %s: dark and light differ in more than colours", name, l.name)
			}
			v, b := bookView(t, false), open()
			theme, _ := themes.Find(themes.Builtin(), themes.ControlRoom)
			v.Palette = terminal.NewPalette(&theme, themes.NoColor)
			turned(v, b, at)
			g := drawBook(v, b, 118, 32)
			for i := range 118 * 32 {
				if s := g.Cell(i%118, i/118).Style; s.FG > themes.Default || s.BG > themes.Default {
					t.Fatalf("%s, %s: cell %d,%d has a colour", name, l.name, i%118, i/118)
				}
			}
		}
	}
}

// Left and right turn the leaves and come round; each keeps its own row.
func TestBookTurns(t *testing.T) {
	v, b := bookView(t, false), NewForecast()
	drawBook(v, b, 78, 20)
	do(b, v, keymap.Down)
	first := b.leaf().list.Current()
	for range b.leaves {
		do(b, v, keymap.Right)
		drawBook(v, b, 78, 20)
	}
	if b.at != 0 || b.leaf().list.Current() != first {
		t.Errorf("after all leaves it is %d at %q, not the first at %q", b.at, b.leaf().list.Current(), first)
	}
	do(b, v, keymap.Left)
	if b.leaf().name != "accuracy" {
		t.Errorf("left of the first is %s", b.leaf().name)
	}
	b.Click(8, 0, v)
	if b.leaf().name != "hours" {
		t.Errorf("a click on the second name turns to %s", b.leaf().name)
	}
	if got := b.Export(v); len(got) != 169 || got[0][2] != "P50" {
		t.Errorf("the hours export %d rows, header %v", len(got), got[0])
	}
}

// An issued forecast is judged by the hours of daylight that came: the plant
// makes less than was said.
func TestJudged(t *testing.T) {
	v, b := bookView(t, false), NewForecast()
	turned(v, b, 2)
	f := v.Site.Issued.Data[0]
	if got := judged(v, f); got != "None of its daylight hours has come yet." {
		t.Errorf("the newest: %s", got)
	}
	b.leaf().list.Selected = v.Site.Issued.Data[1].ForecastID
	turned(v, b, 2)
	b.leaf().list.Selected = v.Site.Issued.Data[1].ForecastID
	if got := judged(v, v.Site.Issued.Data[1]); !strings.HasPrefix(got, "12 daylight hours have come: off by ") || !strings.Contains(got, "too high in all") {
		t.Errorf("of yesterday: %s", got)
	}
}
