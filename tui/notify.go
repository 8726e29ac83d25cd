package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/settings"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view/operations"
	"app.sunloop/tui/view/widget"
)

// The bell's bounds: a flood rings once, and a silence ends by itself.
const (
	ringEvery  = 30 * time.Second
	silenceFor = time.Hour
)

// notes are what the console announces: notices and new alarms.
type notes struct {
	notice    notice
	later     notice // the result of an import that another notice replaced
	bell      bell
	announced map[string]bool // alarms that have been announced
	started   bool            // the alarms at the start have rung
	handOver  string          // the hand-over that was announced last, and to whom
}

func newNotes() notes { return notes{announced: map[string]bool{}} }

// notice is a line in the breadcrumb that is shown for a while.
type notice struct {
	text  string
	role  themes.Role
	until time.Time
	intro bool // goes with the first key
	// key is the key that had no effect, if the notice reports one: it is not shown where the key
	// has an effect.
	key string
	// result is set for the result of an import, which is shown again after
	// a notice that replaced it.
	result bool
}

// bell announces new alarms by sound and on the desktop.
type bell struct {
	rang    time.Time
	silent  time.Time  // until when
	waiting []newAlarm // alarms not reported yet, because the bell rang just now
}

// newAlarm is a new alarm.
type newAlarm struct {
	severity, text string
}

// The priorities of the settings and of the status line, most urgent first.
const (
	criticalPriority = iota
	warningPriority
	noticePriority
	priorities
)

// priorityOf returns the priority of an alarm's severity.
func priorityOf(severity string) int {
	switch severity {
	case api.AlertCritical, api.AlertMajor:
		return criticalPriority
	case api.AlertModerate:
		return warningPriority
	}
	return noticePriority
}

// reaches reports whether a severity is at least the priority of a setting.
func reaches(severity, from string) bool {
	least := slices.Index([]string{"critical", "high", "medium", "low"}, settings.Priority(from))
	at := slices.Index([]string{api.AlertCritical, api.AlertMajor, api.AlertModerate, api.AlertMinor}, severity)
	return at >= 0 && at <= least
}

// announceHandOver puts an unread hand-over of another person into the last line, once for each
// user. The status line and Act show it until it is read.
func (m *Model) announceHandOver() {
	v := m.context()
	words := operations.HandOverWords(v)
	if words == "" || v.User == nil {
		return
	}
	if key := v.User.Username + "\t" + v.Site.SiteID + "\t" + words; key != m.notes.handOver {
		m.notes.handOver = key
		m.notify(words, themes.Accent)
	}
}

// announceAll puts new alarms into the last line, and rings for those that the
// settings name. It never opens a view: the user's work is not interrupted.
func (m *Model) announceAll(all []newAlarm, now time.Time) {
	if len(all) == 0 {
		return
	}
	m.data.Planner.Invalidate(state.QueryFleet) // its list has the alarms of each site
	slices.SortStableFunc(all, func(a, b newAlarm) int {
		return slices.Index(api.AlertSeverities(), a.severity) - slices.Index(api.AlertSeverities(), b.severity)
	})
	if first := all[0]; priorityOf(first.severity) == criticalPriority {
		m.notify("New "+widget.AlarmPriority(first.severity)+": "+alarmText(all), themes.Critical)
	}
	m.notes.bell.waiting = append(m.notes.bell.waiting, all...)
	m.ring(now)
}

// ring rings for the waiting alarms if the last ring is long enough ago.
func (m *Model) ring(now time.Time) {
	if len(m.notes.bell.waiting) == 0 || now.Sub(m.notes.bell.rang) < ringEvery {
		return
	}
	all := m.notes.bell.waiting
	m.notes.bell.waiting = nil
	if !m.o.Bell || now.Before(m.notes.bell.silent) {
		return
	}
	sound := slices.ContainsFunc(all, func(n newAlarm) bool { return reaches(n.severity, m.prefs.value(settings.BellFrom)) })
	noted := slices.DeleteFunc(all, func(n newAlarm) bool { return !reaches(n.severity, m.prefs.value(settings.NotifyFrom)) })
	if !sound && len(noted) == 0 {
		return
	}
	m.notes.bell.rang = now
	if err := m.out.Notify(alarmText(noted), sound, len(noted) > 0); err != nil {
		m.o.Log.Warn("bell failed", "error", err)
	}
}

// alarmText are alarms in a line: the first, and how many more.
func alarmText(all []newAlarm) string {
	if len(all) == 0 {
		return ""
	}
	if more := len(all) - 1; more > 0 {
		return fmt.Sprintf("%s (and %d more)", strings.TrimRight(all[0].text, "."), more)
	}
	return all[0].text
}

// silence silences the bell for a while, or enables it again.
func (m *Model) silence() {
	now := m.o.Now()
	switch {
	case !m.o.Bell:
		m.notify("Sound and desktop notifications are off in the settings (g s).", themes.Dim)
	case now.Before(m.notes.bell.silent):
		m.notes.bell.silent = time.Time{}
		m.notify("New alarms ring again.", themes.Dim)
	default:
		m.notes.bell.silent = now.Add(silenceFor)
		m.notify("The bell is silent until "+display.Clock(m.siteNow().Add(silenceFor))+"; alarms still show.", themes.Dim)
	}
}

// bellParts say that the bell is silent.
func (m *Model) bellParts(now time.Time) []part {
	if !m.o.Bell || !now.Before(m.notes.bell.silent) {
		return nil
	}
	return []part{{[]span{{"  bell silent " + display.Age(m.notes.bell.silent.Sub(now)), themes.Dim}}, 3}}
}

// announce announces alarms that are new since the site was opened, and those that
// recurred, except shelved and suppressed ones.
func (m *Model) announce(now time.Time) {
	first := len(m.notes.announced) == 0
	var all []newAlarm
	for _, a := range m.data.Site.Alerts.Data.Alerts {
		fired := fmt.Sprint(a.AlertID, " ", a.Occurrences)
		if a.State != api.AlertUnacknowledged || m.notes.announced[fired] {
			continue
		}
		m.notes.announced[fired] = true
		text := a.Message
		if !strings.Contains(text, a.AssetID) {
			text = a.AssetID + ": " + text
		}
		all = append(all, newAlarm{a.AlertSeverity, text})
	}
	m.notes.announced[""] = true // the first answer has been seen
	if first {                   // those that are there at the start ring together, once
		if !m.notes.started {
			m.notes.started = true
			m.notes.bell.waiting = append(m.notes.bell.waiting, all...)
			m.ring(now)
			m.notes.bell.rang = time.Time{} // the next alarm rings at once
		}
		return
	}
	m.announceAll(all, now)
}

// notify puts a notice in the breadcrumb.
func (m *Model) notify(text string, role themes.Role) {
	if m.notes.notice.result {
		m.notes.later = m.notes.notice
	}
	m.notes.notice = notice{text: terminal.Printable(text), role: role, until: m.o.Now().Add(noticeFor)}
	m.frame.dirty = true
}
