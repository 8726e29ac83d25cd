package notify

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"app.sunloop/internal/display"
)

// shownAlarms is how many alarms a message describes; it counts the others.
const shownAlarms = 20

// Words returns a word of the contract as people read it: inverter_outage is "Inverter
// outage".
func Words(name string) string {
	text := strings.ReplaceAll(name, "_", " ")
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

// Render returns the message of an intent, with times in the zone of its recipient. It
// has no id.
func Render(v Intent, i *Incident, zone *time.Location) Message {
	alarms := slices.Clone(v.Alarms)
	slices.SortStableFunc(alarms, func(a, b Alarm) int { return rank(a.Priority) - rank(b.Priority) })
	m := Message{Kind: v.Kind, Thread: i.ID, AlertIDs: alertIDs(alarms), CustomerID: i.CustomerID, SiteID: i.SiteID, Priority: v.Priority}
	m.LostKW, m.LostKWh, m.MoneyAtRisk = totals(alarms)
	if len(alarms) == 0 {
		return m
	}
	first := alarms[0]
	m.SiteID, m.SiteName, m.Family = first.SiteID, first.SiteName, first.Family
	if len(alarms) == 1 {
		m.AssetID = first.AssetID
	}
	m.Title = title(v, alarms)
	for n, a := range alarms {
		if n == shownAlarms {
			m.Lines = append(m.Lines, "and "+display.CountOf(len(alarms)-n, "further alarm", "further alarms"))
			break
		}
		m.Lines = append(m.Lines, describe(a, zone, v.Kind == KindAllClear))
	}
	if v.Kind != KindAllClear {
		if text := atRisk(m); text != "" {
			m.Lines = append(m.Lines, text)
		}
	}
	if v.Why != "" {
		m.Lines = append(m.Lines, "You receive this as "+v.Why+".")
	}
	return m
}

func title(v Intent, alarms []Alarm) string {
	first := alarms[0]
	site := first.SiteName
	if site == "" {
		site = first.SiteID
	}
	sites := map[string]bool{}
	for _, a := range alarms {
		sites[a.CustomerID+"\x00"+a.SiteID] = true
	}
	if len(sites) > 1 {
		site = display.CountOf(len(sites), "site", "sites")
	}
	subject := Words(first.Family) + " at " + site
	switch units := len(alarms); {
	case units > 1:
		subject += ", " + display.CountOf(units, "unit", "units")
	case first.AssetID != "" && len(first.AssetIDs) == 0:
		subject += ", " + first.AssetID
	}
	switch v.Kind {
	case KindUpdate:
		return "Update: " + Words(v.Priority) + ": " + subject
	case KindEscalated:
		return fmt.Sprintf("Not acknowledged (step %d): %s: %s", v.Step, Words(v.Priority), subject)
	case KindAllClear:
		return "All clear: " + subject
	}
	return Words(v.Priority) + ": " + subject
}

// describe is the line of an alarm.
func describe(a Alarm, zone *time.Location, ended bool) string {
	line := a.Text
	if line == "" {
		line = Words(a.Family)
	}
	if a.AssetID != "" && len(a.AssetIDs) == 0 && !strings.Contains(line, a.AssetID) {
		line = a.AssetID + ": " + line
	}
	line += ", since " + display.DateTimeZone(a.Onset.In(zone))
	if ended {
		line += ", ended"
	}
	return line
}

// totals sums the alarms. A sum with an unknown part is unknown.
func totals(alarms []Alarm) (kw, kwh *float64, money *Money) {
	sum := func(of func(Alarm) *float64) *float64 {
		total := 0.0
		for _, a := range alarms {
			v := of(a)
			if v == nil || math.IsNaN(*v) || math.IsInf(*v, 0) {
				return nil
			}
			total += *v
		}
		return &total
	}
	kw, kwh = sum(func(a Alarm) *float64 { return a.LostKW }), sum(func(a Alarm) *float64 { return a.LostKWh })
	currency := ""
	amount := sum(func(a Alarm) *float64 {
		if a.MoneyAtRisk == nil || currency != "" && a.MoneyAtRisk.Currency != currency {
			return nil
		}
		currency = a.MoneyAtRisk.Currency
		return &a.MoneyAtRisk.Amount
	})
	if amount != nil && currency != "" {
		money = &Money{*amount, currency}
	}
	return kw, kwh, money
}

func atRisk(m Message) string {
	var parts []string
	if m.LostKW != nil {
		parts = append(parts, display.Power(*m.LostKW)+" at risk")
	}
	if m.LostKWh != nil {
		parts = append(parts, display.Energy(*m.LostKWh)+" lost")
	}
	if m.MoneyAtRisk != nil {
		parts = append(parts, display.Money(m.MoneyAtRisk.Amount, m.MoneyAtRisk.Currency)+" a day at risk")
	}
	return strings.Join(parts, ", ")
}

// Summarize returns one message that replaces several held ones, the newest of each
// incident.
func Summarize(held []Entry, zone *time.Location) Message {
	m := Message{Kind: KindSummary}
	first := held[0].Message
	m.CustomerID, m.SiteID, m.SiteName = first.CustomerID, first.SiteID, first.SiteName
	for _, h := range held {
		if h.Message.SiteID != m.SiteID {
			m.SiteID, m.SiteName = "", ""
		}
		if m.Priority == "" || rank(h.Message.Priority) < rank(m.Priority) {
			m.Priority = h.Message.Priority
		}
		for _, id := range h.Message.AlertIDs {
			if !slices.Contains(m.AlertIDs, id) {
				m.AlertIDs = append(m.AlertIDs, id)
			}
		}
	}
	m.Title = fmt.Sprintf("Summary: %s since %s", display.CountOf(len(held), "message", "messages"), display.ClockZone(held[0].At.In(zone)))
	if len(held) == 1 {
		m.Title = "Summary: " + first.Title
	}
	for n, h := range held {
		if n == shownAlarms {
			m.Lines = append(m.Lines, "and "+display.CountOf(len(held)-n, "further message", "further messages"))
			break
		}
		m.Lines = append(m.Lines, display.Clock(h.At.In(zone))+" "+h.Message.Title)
	}
	return m
}
