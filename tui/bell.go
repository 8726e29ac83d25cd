package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/settings"
	"app.sunloop/tui/state"
)

// The bell's bounds: a flood rings once, and a silence ends by itself.
const (
	ringEvery  = 30 * time.Second
	silenceFor = time.Hour
)

// bell tells new alarms by sound and on the desktop.
type bell struct {
	rang    time.Time
	silent  time.Time // until when
	waiting []news    // alarms not told yet, because it rang just now
}

// news is a new alarm.
type news struct {
	severity, text string
}

// The priorities of the settings and of the status line, most urgent first.
const (
	criticalPriority = iota
	warningPriority
	noticePriority
	priorities
)

// priorityOf is the priority of an alarm's severity.
func priorityOf(severity string) int {
	switch severity {
	case api.AlertCritical, api.AlertMajor:
		return criticalPriority
	case api.AlertModerate:
		return warningPriority
	}
	return noticePriority
}

// reaches says whether a severity is at least the priority that a setting names.
func reaches(severity, from string) bool {
	least, ok := map[string]int{"critical": criticalPriority, "warning": warningPriority, "notice": noticePriority}[from]
	return ok && priorityOf(severity) <= least
}

// tellNew puts new alarms into the last line, and rings for those that the
// settings name. It never opens anything: what a person is doing goes on.
func (m *Model) tellNew(all []news, now time.Time) {
	if len(all) == 0 {
		return
	}
	slices.SortStableFunc(all, func(a, b news) int {
		return slices.Index(api.AlertSeverities(), a.severity) - slices.Index(api.AlertSeverities(), b.severity)
	})
	if first := all[0]; priorityOf(first.severity) == criticalPriority {
		m.say("New "+first.severity+": "+newsWords(all), themes.Critical)
	}
	m.bell.waiting = append(m.bell.waiting, all...)
	m.ring(now)
}

// ring sounds and notes what waits, once the last time is long enough ago.
func (m *Model) ring(now time.Time) {
	if len(m.bell.waiting) == 0 || now.Sub(m.bell.rang) < ringEvery {
		return
	}
	all := m.bell.waiting
	m.bell.waiting = nil
	if !m.o.Bell || now.Before(m.bell.silent) {
		return
	}
	sound := slices.ContainsFunc(all, func(n news) bool { return reaches(n.severity, m.setting(settings.BellFrom)) })
	noted := slices.DeleteFunc(all, func(n news) bool { return !reaches(n.severity, m.setting(settings.NotifyFrom)) })
	if !sound && len(noted) == 0 {
		return
	}
	m.bell.rang = now
	if err := m.out.Notify(newsWords(noted), sound, len(noted) > 0); err != nil {
		m.o.Log.Warn("ring the bell", "error", err)
	}
}

// newsWords are alarms in a line: the first, and how many more.
func newsWords(all []news) string {
	if len(all) == 0 {
		return ""
	}
	if more := len(all) - 1; more > 0 {
		return fmt.Sprintf("%s (and %d more)", strings.TrimRight(all[0].text, "."), more)
	}
	return all[0].text
}

// silence keeps the bell quiet for a while, or lets it ring again.
func (m *Model) silence() {
	now := m.o.Now()
	switch {
	case !m.o.Bell:
		m.say("Sound and desktop notes are off in the settings (g s).", themes.Dim)
	case now.Before(m.bell.silent):
		m.bell.silent = time.Time{}
		m.say("New alarms ring again.", themes.Dim)
	default:
		m.bell.silent = now.Add(silenceFor)
		m.say("The bell is silent until "+m.siteNow().Add(silenceFor).Format("15:04")+"; alarms still show.", themes.Dim)
	}
}

// bellParts say that the bell is silent.
func (m *Model) bellParts(now time.Time) []part {
	if !m.o.Bell || !now.Before(m.bell.silent) {
		return nil
	}
	return []part{{[]span{{"  bell silent " + state.Age(m.bell.silent.Sub(now)), themes.Dim}}, 3}}
}
