package pane

import (
	"fmt"
	"slices"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// chosen are the alarms that an action is about: those of the chosen line, or
// of the unit in hand, which the action may change.
func (o *Observe) chosen(a keymap.Action, v view.Context) []api.Alert {
	var out []api.Alert
	of := v.Site.Alerts.Data.Alerts
	if o.onAlarms && a != keymap.Unshelve {
		of = o.alarms.Chosen()
	}
	for _, alert := range of {
		about := o.onAlarms && a != keymap.Unshelve || v.Selection.AssetID != "" && slices.Contains(unitsOfAlert(alert), v.Selection.AssetID)
		if about && MayMove(a, alert) {
			out = append(out, alert)
		}
	}
	return out
}

// MayMove says whether an alert's state lets an action change it.
func MayMove(a keymap.Action, alert api.Alert) bool {
	switch a {
	case keymap.Acknowledge, keymap.AckAlarm:
		return IsUnseen(alert)
	case keymap.Shelve, keymap.ShelveAlarm:
		return alert.State == api.AlertUnacknowledged || alert.State == api.AlertAcknowledged || alert.State == api.AlertShelved
	case keymap.Unshelve, keymap.UnshelveOne:
		return alert.State == api.AlertShelved
	}
	return false
}

// Disabled returns why an action on alarms is not possible.
func (o *Observe) Disabled(a keymap.Action, v view.Context) string {
	o.follow(v)
	switch a {
	case keymap.Acknowledge, keymap.Shelve, keymap.Unshelve:
		if len(o.chosen(a, v)) > 0 {
			return ""
		}
	default:
		return ""
	}
	return WhyNoMove(a)
}

// WhyNoMove is why no alarm can be changed by an action.
func WhyNoMove(a keymap.Action) string {
	switch a {
	case keymap.Acknowledge, keymap.AckAlarm:
		return "nothing chosen here waits to be acknowledged"
	case keymap.Shelve, keymap.ShelveAlarm:
		return "nothing chosen here is an alarm that stands"
	}
	return "nothing chosen here is shelved"
}

// selectAlarm selects the first of the alarms of a line, and goes to a pane
// unless focus is empty.
func selectAlarm(alerts []api.Alert, focus string) view.Request {
	if len(alerts) == 0 {
		return nil
	}
	a := alerts[0]
	hand := view.Selection{AssetID: a.AssetID, FindingID: summaryOf(a)}
	if units := unitsOfAlert(a); hand.AssetID == "" && len(units) > 0 {
		hand.AssetID = units[0]
	}
	return view.Select{Selection: hand, Focus: focus}
}

// drawAlarmsBelow lists the alarms at the bottom of a pane that has no day to
// show, below y: they are known whether or not telemetry comes.
func (o *Observe) drawAlarmsBelow(r terminal.Region, v view.Context, y int) bool {
	w, h := r.Size()
	rows := min(o.alarms.Lines(o.shown)+2, h/2)
	if len(o.shown) == 0 || rows < 3 || h-rows < y+1 {
		return false
	}
	o.alarmsAt = terminal.Rect{Y: h - rows, W: w, H: rows}
	o.drawAlarms(r.Region(o.alarmsAt), v)
	return true
}

// drawAlarms lists the alarms that are something to do, those of one cause in
// one line, and says how many are out of sight.
func (o *Observe) drawAlarms(r terminal.Region, v view.Context) {
	w, h := r.Size()
	alerts := v.Site.Alerts
	counts := alerts.Data.Counts
	hidden := make([]string, 0, 3)
	for _, k := range []struct {
		n    int
		word string
	}{{counts.Shelved, "shelved"}, {counts.Suppressed, "suppressed"}} {
		if k.n > 0 {
			hidden = append(hidden, fmt.Sprintf("%d %s", k.n, k.word))
		}
	}
	if len(o.shown) == 0 {
		v.Heading(r, 0, "Alarms", hidden...)
		text := "None: nothing abnormal is known of this site."
		switch {
		case alerts.At.IsZero() && alerts.Err != nil:
			text = "No answer about alarms: " + state.Reason(alerts.Err) + "."
		case alerts.At.IsZero():
			text = "Asking for alarms …"
		}
		v.PutIn(r, 0, 1, w, text, themes.Dim)
		return
	}
	risk := 0.0
	for _, g := range o.alarms.group(o.shown) {
		risk += g.risk()
	}
	quiet := v
	quiet.Focused = v.Focused && o.onAlarms
	o.alarms.Stale = alerts.Face(v.Now, staleAfter, false) == state.Stale
	o.alarms.DrawAlarms(r.Region(terminal.Rect{Y: 1, W: w, H: h - 1}), quiet, o.shown)
	notes := append([]string{Power(risk) + " at risk"}, hidden...)
	if alerts.Err != nil {
		notes = append(notes, state.Age(v.Now.Sub(alerts.At))+" old")
	}
	v.Heading(r, 0, "Alarms", append(notes, o.alarms.Range())...)
}
