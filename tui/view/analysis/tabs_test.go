package analysis

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// books returns the screens that judge.
func books() map[string]func() *widget.TabView {
	return map[string]func() *widget.TabView{"forecast": NewForecast, "models": NewModels, "kpis": NewKPIs, "gaps": NewGaps}
}

// bookView returns a view with all that the books show.
func bookView(t testing.TB, ascii bool) view.Context {
	t.Helper()
	v := stage.ScreenContext(t, ascii)
	v.Focused = true
	if ascii {
		v.Pen = chart.ASCII
	}
	p := plant.New()
	s := v.Site
	s.Assets.Set(p.Assets(), stage.Noon)
	s.Findings.Set(p.Findings(stage.Noon), stage.Noon)
	s.Forecast.Set(p.Forecast(stage.Noon), stage.Noon)
	day := state.Day{Start: p.Midnight(stage.Noon), End: p.Midnight(stage.Noon).AddDate(0, 0, 1)}
	s.Day.Set(day.With(p.Records(day.Start, day.End, stage.Noon)), stage.Noon)
	s.Issued.Set(p.Issued(stage.Noon), stage.Noon)
	s.Accuracy.Set(p.Accuracy(stage.Noon), stage.Noon)
	s.ModelHistory.Set(p.Moves(stage.Noon), stage.Noon)
	s.Interpolations.Set(p.Fills(stage.Noon), stage.Noon)
	s.Gaps.Set(p.Gaps(stage.Noon), stage.Noon)
	s.OfUnits.Set(p.Availability(stage.Noon), stage.Noon)
	return v
}

// turned is a book turned to a leaf, with all that it asks for answered.
func turned(v view.Context, b *widget.TabView, at int) {
	for b.Current() != b.Tabs[at] {
		b.Do(keymap.Right, v)
	}
	drawBook(v, b, 78, 20) // a row is chosen
	answer(v, b)
}

// answer answers all that a book asks for.
func answer(v view.Context, b *widget.TabView) {
	p := plant.New()
	store := state.Store{Site: v.Site}
	for _, n := range b.Queries(v) {
		if n.Query == state.QueryKPIs || n.Query == state.QueryDaily || n.Query == state.QueryForeseen || n.Query == state.QueryAvailability || n.Query == state.QueryStretches {
			store.Want(n.Query, n.Of)
		}
		switch n.Query {
		case state.QueryEvidence:
			store.Want(n.Query, n.Of)
			v.Site.Evidence.Set(aroundGap(p), stage.Noon)
		case state.QueryAvailability:
			v.Site.OfUnits.Set(p.Availability(stage.Noon), stage.Noon)
		case state.QueryStretches:
			v.Site.Stretches.Set(p.Stretches(stage.Noon, n.Of[strings.Index(n.Of, "|")+1:]), stage.Noon)
		case state.QueryKPIs:
			v.Site.KPIs.Set(p.KPIs(stage.Noon), stage.Noon)
		case state.QueryForeseen:
			past := p.Foreseen(stage.Noon, 60)
			v.Site.Foreseen.Set(api.GeneratedForecast{Past: past, Days: p.Days(past)}, stage.Noon)
		case state.QueryDaily:
			v.Site.Daily.Set(dailyOf(p, n.Of), stage.Noon)
		}
		if n.Query == state.QueryRecords {
			store.Want(n.Query, n.Of)
			var from, to int64
			var resolution string
			if _, err := fmt.Sscanf(strings.ReplaceAll(n.Of, "/", " "), "%d %d %s", &from, &to, &resolution); err != nil {
				panic(err)
			}
			v.Site.Records.Set(p.Hours(time.Unix(from, 0), time.Unix(to, 0), stage.Noon), stage.Noon)
		}
	}
}

// aroundGap returns the day of the plant's longest gap, without the gap.
func aroundGap(p *plant.Plant) state.Day {
	gap := p.Gaps(stage.Noon).Gaps[0]
	from := p.Midnight(stage.Noon).AddDate(0, 0, -1)
	day := state.Day{Start: from, End: from.AddDate(0, 0, 1)}
	records := p.Records(day.Start, day.End, stage.Noon)
	var left []api.Record
	for _, r := range records[gap.AssetID] {
		if r.Timestamp.Before(gap.Start.Time) || !r.Timestamp.Before(gap.End.Time) {
			left = append(left, r)
		}
	}
	records[gap.AssetID] = left
	return day.With(records)
}

// dailyOf returns the plant's energy in the days that a need names.
func dailyOf(p *plant.Plant, of string) []state.DayEnergy {
	first, end, _ := strings.Cut(of, " ")
	from, _ := time.ParseInLocation(time.DateOnly, first, p.Zone)
	to, _ := time.ParseInLocation(time.DateOnly, end, p.Zone)
	var out []state.DayEnergy
	for day := from; day.Before(to); day = day.AddDate(0, 0, 1) {
		d := state.DayEnergy{Day: day, KWh: math.NaN()}
		if day.Day() != 13 { // a day of silence
			d.KWh, d.Units = 0, p.Units
			for _, records := range p.Daily(day, day.Add(time.Hour), stage.Noon) {
				d.KWh += records[0].KWh
			}
		}
		out = append(out, d)
	}
	return out
}

func drawBook(v view.Context, b *widget.TabView, w, h int) *terminal.Grid {
	g := terminal.NewGrid(w, h)
	g.All().Clear(v.Palette.Style(themes.Panel))
	b.Draw(g.All(), v)
	return g
}

// Each leaf of each book at the sizes of the console.
func TestTabsGolden(t *testing.T) {
	for name, open := range books() {
		for at, l := range open().Tabs {
			for _, size := range stage.Sizes {
				v, b := bookView(t, false), open()
				turned(v, b, at)
				drawBook(v, b, size.W-2, size.H-4)
				answer(v, b) // and what a wide screen asks for in addition
				picture.Golden(t, fmt.Sprintf("%s-%s-%dx%d", name, l.Name, size.W, size.H), picture.Text(drawBook(v, b, size.W-2, size.H-4)))
			}
			v, b := bookView(t, true), open()
			turned(v, b, at)
			text := picture.Text(drawBook(v, b, 118, 32))
			if i := strings.IndexFunc(text, func(r rune) bool { return r > 0x7e }); i >= 0 {
				t.Errorf("%s, %s: not ASCII: %.40q", name, l.Name, text[i:])
			}
		}
	}
}

// The faces of each leaf: loading, empty, failed, and stale with its age.
func TestTabFaces(t *testing.T) {
	refused := errors.New("ask: dial: connection refused")
	later := stage.Noon.Add(20 * time.Second)
	for name, open := range books() {
		for at, l := range open().Tabs {
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
				for _, bad := range []func(error, time.Time, time.Time){s.Forecast.SetError, s.Issued.SetError, s.Accuracy.SetError, s.ModelHistory.SetError, s.Models.SetError, s.KPIs.SetError, s.Daily.SetError, s.Interpolations.SetError, s.Gaps.SetError, s.Findings.SetError, s.OfUnits.SetError, s.Stretches.SetError} {
					bad(refused, stage.Noon, later)
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
					s.Forecast.Set(api.GeneratedForecast{}, stage.Noon)
					s.Issued.Set(nil, stage.Noon)
					s.Accuracy.Set(api.Accuracy{}, stage.Noon)
					s.ModelHistory.Set(nil, stage.Noon)
					s.Models.Set(nil, stage.Noon)
					s.KPIs.Set(api.KPIs{}, stage.Noon)
					s.Daily.Set(nil, stage.Noon)
					s.Interpolations.Set(nil, stage.Noon)
					s.Gaps.Set(api.GapsResponse{}, stage.Noon)
					s.Findings.Set(nil, stage.Noon)
					s.OfUnits.Set(api.AvailabilityResponse{}, stage.Noon)
					s.Stretches.Set(api.AvailabilityResponse{}, stage.Noon)
				}, l.Empty[:20]},
			} {
				if text := face(tt.prepare); !strings.Contains(text, tt.want) {
					t.Errorf("%s, %s, %s: %q is not there:\n%s", name, l.Name, tt.name, tt.want, text)
				}
			}
		}
	}
}

// Without colours none is used, and no theme makes text unreadable: dark,
// light and mono draw the same characters.
func TestTabThemes(t *testing.T) {
	for name, open := range books() {
		for at, l := range open().Tabs {
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
				t.Errorf("%s, %s: dark and light differ in more than colours", name, l.Name)
			}
			v, b := bookView(t, false), open()
			theme, _ := themes.Find(themes.Builtin(), themes.ControlRoom)
			v.Palette = terminal.NewPalette(&theme, themes.NoColor)
			turned(v, b, at)
			g := drawBook(v, b, 118, 32)
			for i := range 118 * 32 {
				if s := g.Cell(i%118, i/118).Style; s.FG > themes.Default || s.BG > themes.Default {
					t.Fatalf("%s, %s: cell %d,%d has a colour", name, l.Name, i%118, i/118)
				}
			}
		}
	}
}

// Left and right turn the leaves and come round; each keeps its own row.
func TestTabsSwitch(t *testing.T) {
	v, b := bookView(t, false), NewForecast()
	drawBook(v, b, 78, 20)
	stage.Do(b, v, keymap.Down)
	first := b.Current().List.Current()
	for range b.Tabs {
		stage.Do(b, v, keymap.Right)
		drawBook(v, b, 78, 20)
	}
	if b.Current() != b.Tabs[0] || b.Current().List.Current() != first {
		t.Errorf("after all leaves it is %s at %q, not the first at %q", b.Current().Name, b.Current().List.Current(), first)
	}
	stage.Do(b, v, keymap.Left)
	if b.Current().Name != "accuracy" {
		t.Errorf("left of the first is %s", b.Current().Name)
	}
	b.Click(8, 0, v)
	if b.Current().Name != "hours" {
		t.Errorf("a click on the second name turns to %s", b.Current().Name)
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
	if got := judged(v, f); got != "None of its daylight hours has passed yet." {
		t.Errorf("the newest: %s", got)
	}
	b.Current().List.Selected = v.Site.Issued.Data[1].ForecastID
	turned(v, b, 2)
	b.Current().List.Selected = v.Site.Issued.Data[1].ForecastID
	if got := judged(v, v.Site.Issued.Data[1]); !strings.HasPrefix(got, "12 daylight hours have passed: error ") || !strings.Contains(got, "too high in total") {
		t.Errorf("of yesterday: %s", got)
	}
}

// The past hours of today have no weather: they count neither for its means nor as zero of
// its irradiation.
func TestWeatherOfTheFirstDay(t *testing.T) {
	v := bookView(t, false)
	f := v.Site.Forecast.Data
	if len(f.Today) == 0 || f.Forecasts[0].WeatherConditions == (api.WeatherConditions{}) {
		t.Fatal("the forecast has no past hours of today, or no weather")
	}
	f.Today = slices.Clone(f.Today)
	for i := range f.Today { // as the service answers them
		f.Today[i].WeatherConditions = api.WeatherConditions{}
	}
	v.Site.Forecast.Set(f, stage.Noon)
	today := aheadDays(v)[0]
	low, high := math.Inf(1), math.Inf(-1)
	for _, value := range f.Forecasts {
		low, high = min(low, value.WeatherConditions.TemperatureC), max(high, value.WeatherConditions.TemperatureC)
	}
	if today.temperature < low || today.temperature > high || today.weatherHours >= today.hours {
		t.Errorf("mean temperature %.1f of %.0f h of %.0f h, want one within %.1f to %.1f", today.temperature, today.weatherHours, today.hours, low, high)
	}
	l := newDaysAhead()
	rows := l.Rows(v)
	if got := rows[0].Cells[7].Text; got != "–" {
		t.Errorf("irradiation of today is %q, want unknown", got)
	}
	if got := rows[1].Cells[7].Text; !strings.HasSuffix(got, " kWh/m²") {
		t.Errorf("irradiation of the next day is %q", got)
	}
}
