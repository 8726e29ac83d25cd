package operations

import (
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view/widget"
)

// undetected returns a plant whose stopped unit no finding and no alarm holds yet.
func undetected(t *testing.T, now time.Time) *state.Site {
	t.Helper()
	s := stage.SiteOf(plant.New(), now)
	s.Findings.Set(nil, now)
	s.Alerts.Set(state.AlertList{}, now)
	return s
}

// A unit without power while its peers produce is marked at once, is the first,
// and nothing is said to be normal.
func TestStoppedUnitIsMarkedAtOnce(t *testing.T) {
	p := plant.New()
	v := stage.ContextOf(t, undetected(t, stage.Noon))
	rows := unitRows(v, v.Day())
	if row := rows[0]; row.ID != p.UnitID(plant.DeadUnit) || row.Cells[1].Text != "stopped" || row.Cells[1].Role != themes.Critical {
		t.Errorf("first is %s, %+v", row.ID, row.Cells[1])
	}
	if rows[1].ID != p.UnitID(plant.WeakUnit) {
		t.Errorf("second is %s", rows[1].ID)
	}
	for name, text := range map[string]string{
		"observe": stage.ScreenText(v, NewObserve(), 120, 36), "orient": nothingFound(v),
	} {
		if strings.Contains(text, "othing abnormal") || !strings.Contains(text, p.UnitID(plant.DeadUnit)+" produces nothing while its peers do") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

// A site without current data is not said to be normal.
func TestNothingIsNormalWithoutData(t *testing.T) {
	for _, tt := range []struct {
		age   time.Duration // of the newest data; 0: there are none
		words string
	}{{5 * time.Hour, "the newest data are 5 h old"}, {0, "there are no data"}} {
		s := undetected(t, stage.Noon)
		summary := s.Summary.Data
		summary.ServiceTime, summary.LastUpdated = api.At(stage.Noon), api.NullTime{}
		if tt.age > 0 {
			summary.LastUpdated = api.NullTime(api.At(stage.Noon.Add(-tt.age)))
		}
		s.Summary.Set(summary, stage.Noon)
		v := stage.ContextOf(t, s)
		for name, text := range map[string]string{"orient": nothingFound(v), "observe": stage.ScreenText(v, NewObserve(), 120, 36)} {
			if strings.Contains(text, "othing abnormal") || strings.Contains(text, "no alarms") || !strings.Contains(text, tt.words) && !strings.Contains(text, "produces nothing") {
				t.Errorf("%s, %v:\n%s", name, tt.age, text)
			}
		}
		day := s.Day.Data
		day.Units = nil // so that none has stopped
		s.Day.Set(day, stage.Noon)
		v = stage.ContextOf(t, s)
		words, _ := noneAbnormal(v, alertsNeed, "alarms", "no alarms")
		if words != "None known: "+tt.words+"." || !strings.Contains(nothingFound(v), "unknown: "+tt.words) {
			t.Errorf("%v: %q, %q", tt.age, words, nothingFound(v))
		}
	}
}

// Findings may be there before the alarms that they raise: then the list of alarms
// is not a statement that nothing is abnormal.
func TestActiveFindingsWithoutAlarms(t *testing.T) {
	s := stage.SiteOf(plant.New(), stage.Noon)
	s.Alerts.Set(state.AlertList{}, stage.Noon)
	text := stage.ScreenText(stage.ContextOf(t, s), NewObserve(), 120, 36)
	if strings.Contains(text, "othing abnormal") || !strings.Contains(text, "None listed; active in Orient:") {
		t.Error(text)
	}
}

// A deficit of ten minutes and a surplus have no colour, one of an hour has.
func TestOnlySustainedDeficitsAreColoured(t *testing.T) {
	p := plant.New()
	for _, tt := range []struct {
		name     string
		minutes  int
		factor   float64
		coloured bool
	}{{"cloud", 10, 0.6, false}, {"fault", 60, 0.6, true}, {"surplus", 60, 1.3, false}} {
		s := undetected(t, stage.Noon)
		day := s.Day.Data
		for i, u := range day.Units {
			if u.AssetID != p.UnitID(0) {
				continue
			}
			records := append([]api.Record(nil), u.Records...)
			for k := range records {
				if stage.Noon.Sub(records[k].Timestamp.Time) < time.Duration(tt.minutes)*time.Minute {
					records[k].Power *= tt.factor
				}
			}
			day.Units[i].Records = records
		}
		s.Day.Set(day, stage.Noon)
		v := stage.ContextOf(t, s)
		for _, row := range unitRows(v, v.Day()) {
			if row.ID == p.UnitID(0) {
				if got := row.Cells[3].Role != themes.Dim; got != tt.coloured {
					t.Errorf("%s: share is drawn as %v", tt.name, row.Cells[3].Role)
				}
			}
		}
		for _, q := range v.Day().Abnormal[0] {
			if low := q < 0.9; low && !tt.coloured || q > 1 {
				t.Errorf("%s: the map shows %g", tt.name, q)
			}
		}
	}
}

// By night no unit draws power or has the word of a loss.
func TestNightIsQuiet(t *testing.T) {
	now := stage.Noon.Add(11 * time.Hour)
	s := stage.SiteOf(plant.New(), now)
	day := s.Day.Data
	for i := range day.Units {
		last := &day.Units[i].Records[len(day.Units[i].Records)-1]
		last.Power = -0.008
	}
	s.Day.Set(day, now)
	findings := s.Findings.Data
	for i := range findings {
		findings[i].SeverityLabel = api.SeverityNormal
	}
	v := stage.ContextOf(t, s)
	v.Now, v.SiteNow = now, now.In(s.Zone)
	for _, row := range unitRows(v, v.Day()) {
		for _, c := range row.Cells {
			if strings.HasPrefix(c.Text, "-") || widget.Family("string_outage") == c.Text {
				t.Errorf("%s: %q", row.ID, c.Text)
			}
		}
	}
}
