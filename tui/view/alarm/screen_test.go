package alarm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// The five faces, and what is seen in use, in three looks.
func TestAlarmsLooks(t *testing.T) {
	p := plant.New()
	refused := fmt.Errorf("ask: %w", &api.Error{Status: 503, Message: "Service unavailable", RequestID: "req-7"})
	for name, tt := range map[string]struct {
		site func(*state.Site)
		keys []keymap.Action
	}{
		"loading": {site: func(s *state.Site) {
			s.Alerts, s.AlertLog, s.AlertHealth = state.Value[state.AlertList]{}, state.Value[[]api.Alert]{}, state.Value[[]api.AlertHealth]{}
		}},
		"empty": {site: func(s *state.Site) {
			s.Alerts.Set(state.AlertList{}, stage.Noon)
			s.AlertLog.Set(nil, stage.Noon)
			s.AlertHealth.Set([]api.AlertHealth{{WindowHours: 24}, {WindowHours: 720}}, stage.Noon)
		}},
		"live": {},
		"stale": {site: func(s *state.Site) {
			s.Alerts.Set(s.Alerts.Data, stage.Noon.Add(-time.Hour))
			s.Alerts.SetError(refused, stage.Noon, stage.Noon.Add(20*time.Second))
		}},
		"failed": {site: func(s *state.Site) {
			s.Alerts = state.Value[state.AlertList]{}
			s.Alerts.SetError(errors.New("ask: dial: connection refused"), stage.Noon.Add(-time.Minute), stage.Noon.Add(20*time.Second))
		}},
		"flood": {keys: []keymap.Action{keymap.Open, keymap.Down}, site: func(s *state.Site) {
			s.Alerts.Set(state.AlertList{Alerts: p.Flood(stage.Noon), Counts: plant.Counts(p.Flood(stage.Noon))}, stage.Noon)
		}},
		"shelved": {keys: []keymap.Action{keymap.AlarmStates, keymap.AlarmStates, keymap.AlarmStates, keymap.AlarmStates}},
		"figures": {keys: []keymap.Action{keymap.AlarmFigures}},
	} {
		for _, size := range stage.Sizes {
			picture.Looks(t, fmt.Sprintf("alarms/%s-%dx%d", name, size.W, size.H), func(pal *terminal.Palette) *terminal.Grid {
				v := stage.ScreenContext(t, false)
				v.Palette, v.Focused = pal, true
				if tt.site != nil {
					tt.site(v.Site)
				}
				s := NewScreen()
				draw := func() *terminal.Grid {
					g := terminal.NewGrid(size.W-2, size.H-4)
					g.All().Clear(pal.Style(themes.Panel))
					s.Draw(g.All(), v)
					return g
				}
				draw()
				for _, a := range tt.keys {
					s.Do(a, v)
					draw()
				}
				return draw()
			})
		}
	}
}

// service hears what is sent, and refuses alerts of the given ids.
type service struct {
	sent   []string
	refuse map[string]*api.Error
}

func (s *service) client() *client.Client {
	return client.New(client.Options{Credential: "t", Transport: client.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		var q api.AlertsRequest
		_ = json.Unmarshal(body, &q)
		if e := s.refuse[q.AlertID]; e != nil {
			w.WriteHeader(e.Status)
			_ = json.NewEncoder(w).Encode(api.ErrorBody{Status: "error", Error: e.Message, Details: e.Details})
			return
		}
		s.sent = append(s.sent, strings.TrimSpace(fmt.Sprintf("%s %s %d %s", q.Action, q.AlertID, q.Minutes, q.Reason)))
		_ = json.NewEncoder(w).Encode(api.AlertsResponse{Success: true, Alert: &api.Alert{AlertID: q.AlertID}})
	}))})
}

// What keys on alarms send to the service.
func TestAlarmMoves(t *testing.T) {
	for _, tt := range []struct {
		name string
		keys []keymap.Action // on the screen; the last one asks
		form []string        // in the form
		want []string
		says string
	}{
		{"acknowledge", []keymap.Action{keymap.AckAlarm}, nil, []string{"acknowledge alt_dead 0"}, "INV-03, inverter outage: acknowledged."},
		{"shelve for the shortest time", []keymap.Action{keymap.ShelveAlarm}, []string{"tab", "known", "enter"}, []string{"shelve alt_dead 15 known"}, "INV-03, inverter outage: shelved for 15 min."},
		{"shelve for two hours", []keymap.Action{keymap.ShelveAlarm}, []string{"right", "right", "right", "tab", "a storm", "enter"}, []string{"shelve alt_dead 120 a storm"}, "INV-03, inverter outage: shelved for 2 h."},
		{"shelve for two hours, typed", []keymap.Action{keymap.ShelveAlarm}, []string{"2", "tab", "a storm", "enter"}, []string{"shelve alt_dead 120 a storm"}, "INV-03, inverter outage: shelved for 2 h."},
		{"the longest", []keymap.Action{keymap.ShelveAlarm}, []string{"left", "tab", "x", "enter"}, []string{"shelve alt_dead 720 x"}, "INV-03, inverter outage: shelved for 12 h."},
		{"unshelve", []keymap.Action{keymap.Bottom, keymap.Up, keymap.UnshelveOne}, nil, []string{"unshelve alt_shelf 0"}, "INV-02, soiling: unshelved."},
		{"without a reason nothing is sent", []keymap.Action{keymap.ShelveAlarm}, []string{"enter"}, nil, ""},
	} {
		heard := &service{}
		c := heard.client()
		v := stage.ScreenContext(t, false)
		s := NewScreen()
		stage.ScreenText(v, s, 120, 36)
		r := stage.Do(s, v, tt.keys...)
		if form, ok := r.(view.OpenDialog); ok {
			r = stage.Press(form.Dialog, tt.form...)
		}
		says := ""
		if send, ok := r.(view.Call); ok {
			done, err := send.Do(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			says = done.Notice(v).Text
			if d := cmp.Diff([]state.Query{state.QueryAlerts, state.QueryAlertLog, state.QueryAlertHealth}, done.Refresh); d != "" {
				t.Errorf("%s: requests %s again", tt.name, d)
			}
		}
		if d := cmp.Diff(tt.want, heard.sent); d != "" {
			t.Errorf("%s: sent (-want +got):\n%s", tt.name, d)
		}
		if says != tt.says {
			t.Errorf("%s: says %q, want %q", tt.name, says, tt.says)
		}
		c.Close()
	}
}

// If a later alarm of a group is refused, the earlier changes remain, and
// the form says so.
func TestAlarmsRefused(t *testing.T) {
	p := plant.New()
	heard := &service{refuse: map[string]*api.Error{"alt_f1": api.Conflict("Alert alt_f1 is cleared: it cannot be changed by shelve")}}
	c := heard.client()
	defer c.Close()
	form := NewShelve(p.Flood(stage.Noon)[:4])
	r := stage.Press(form, "tab", "known", "enter")
	send, ok := r.(view.Call)
	if !ok {
		t.Fatalf("the form answers %T", r)
	}
	_, err := send.Do(context.Background(), c)
	if err == nil || !strings.Contains(err.Error(), "2 of 4 were shelved for 15 min") || len(heard.sent) != 2 {
		t.Errorf("%v, sent %v", err, heard.sent)
	}
	if form.Answer(err) {
		t.Error("the form closes")
	}
	if text := stage.DialogText(stage.ScreenContext(t, false), form, 80, 24); !strings.Contains(text, "Alert alt_f1 is cleared") || !strings.Contains(text, "known") {
		t.Errorf("the form shows\n%s", text)
	}
	if !form.Answer(nil) {
		t.Error("the form stays")
	}
}

// Why an action on alarms is not possible, and where enter leads.
func TestAlarmsWhyAndWhere(t *testing.T) {
	v := stage.ScreenContext(t, false)
	s := NewScreen()
	stage.ScreenText(v, s, 120, 36)
	for _, tt := range []struct {
		keys []keymap.Action
		a    keymap.Action
		ok   bool
	}{
		{nil, keymap.AckAlarm, true}, {nil, keymap.ShelveAlarm, true}, {nil, keymap.UnshelveOne, false}, {nil, keymap.AlarmStates, true},
		{[]keymap.Action{keymap.Down, keymap.Down}, keymap.AckAlarm, false}, {nil, keymap.ShelveAlarm, true},
		{[]keymap.Action{keymap.Bottom}, keymap.AckAlarm, false}, {nil, keymap.ShelveAlarm, false},
	} {
		stage.Do(s, v, tt.keys...)
		if why := s.Disabled(tt.a, v); (why == "") != tt.ok {
			t.Errorf("%v, %s: %q", tt.keys, tt.a, why)
		}
	}
	r := stage.Do(s, v, keymap.Top, keymap.Open)
	if d := cmp.Diff(view.Request(view.Batch{view.Close{}, view.Select{Selection: view.Selection{AssetID: "INV-03", FindingID: "f-dead"}, Focus: view.Orient}}), r); d != "" {
		t.Errorf("enter (-want +got):\n%s", d)
	}
	rows := s.Export(v)
	if len(rows) != 7 || rows[1][0] != "alt_dead" || rows[5][10] != "2026-11-28T13:00:00Z" || rows[6][4] != api.AlertCleared {
		t.Errorf("export %q", rows)
	}
}

// The states that f goes through show exactly the alarms of each.
func TestAlarmStates(t *testing.T) {
	v := stage.ScreenContext(t, false)
	s := NewScreen()
	want := []string{"alt_dead alt_back alt_weak alt_plan alt_shelf alt_past", "alt_dead", "alt_weak", "alt_back", "alt_shelf", "alt_plan", "alt_past"}
	for _, ids := range want {
		var got []string
		for _, a := range s.alerts(v) {
			got = append(got, a.AlertID)
		}
		if strings.Join(got, " ") != ids {
			t.Errorf("%q: %v, want %s", alarmStates[s.only], got, ids)
		}
		s.Do(keymap.AlarmStates, v)
	}
}
