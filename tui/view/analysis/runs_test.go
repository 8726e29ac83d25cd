package analysis

import (
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// On a wide screen a run shows next to its details what it computed, and asks for that; on a
// narrow one it asks for the runs only.
func TestRunsShowTheirResult(t *testing.T) {
	v := bookView(t, false)
	week := api.At(stage.Noon.AddDate(0, 0, -7))
	v.Site.Manual.Set([]api.ManualRun{
		{RunID: "f", Kind: api.RunForecast, Status: api.RunCompleted, Result: "48 h ahead"},
		{RunID: "d", Kind: api.RunDetect, Status: api.RunCompleted, Result: "inverter outage 1", From: week, To: api.At(stage.Noon)},
		{RunID: "n", Kind: api.RunDetect, Status: api.RunCompleted, Result: "nothing", From: api.At(week.AddDate(-1, 0, 0)), To: api.At(week.AddDate(-1, 0, 1))},
		{RunID: "b", Kind: api.RunBackcast, Status: api.RunCompleted, Result: "30 days"},
		{RunID: "g", Kind: api.RunFillGaps, Status: api.RunCompleted, Result: "2 gaps"},
	}, stage.Noon)
	screen := NewRuns()
	draw := func(w, h int) string {
		g := terminal.NewGrid(w, h)
		screen.Draw(g.All(), v)
		return picture.Text(g)
	}
	for _, tt := range []struct {
		id    string
		query state.Query
		shown []string
	}{
		{"f", state.QueryForecast, []string{"Forecast of the site", "P10–P90"}},
		{"d", state.QueryFindings, []string{"Findings of the window", "INV-03, inverter outage"}},
		{"n", state.QueryFindings, []string{"Findings of the window", "None."}},
		{"b", state.QueryDaily, []string{"Energy by day"}},
		{"g", "", []string{"2 gaps"}},
	} {
		screen.SelectRow(tt.id)
		draw(58, 20)
		if needs := screen.Queries(v); len(needs) != 1 || needs[0].Query != state.QueryManual {
			t.Errorf("%s on a narrow screen: asks for %v", tt.id, needs)
		}
		text := draw(198, 56)
		for _, want := range tt.shown {
			if !strings.Contains(text, want) {
				t.Errorf("%s: %q is not shown:\n%s", tt.id, want, text)
			}
		}
		found := tt.query == ""
		for _, n := range screen.Queries(v) {
			found = found || n.Query == tt.query
			if n.Period < time.Second {
				t.Errorf("%s: %v is asked for each %v", tt.id, n.Query, n.Period)
			}
		}
		if !found {
			t.Errorf("%s: %v is not asked for", tt.id, tt.query)
		}
	}
}
