package plant

import (
	"net/http"
	"strconv"
	"time"

	"app.sunloop/backend/api"
)

// Alerts returns one that waits, an acknowledged one, a shelved one, one that
// maintenance suppresses, and one that is gone but was not seen.
func (p *Plant) Alerts(now time.Time) []api.Alert {
	day := p.Midnight(now)
	at := func(days int, hour float64) api.Time {
		return api.At(day.AddDate(0, 0, days).Add(time.Duration(hour * float64(time.Hour))))
	}
	alert := func(id string, unit int, family, severity, state, summary string, began api.Time, kw float64) api.Alert {
		return api.Alert{AlertID: id, TerminalDeviceID: "TERM-" + p.SiteID, SiteID: p.SiteID, AssetID: p.UnitID(unit), Timestamp: began, AlertType: family, AlertSeverity: severity,
			Message: p.UnitID(unit) + " makes too little.", SourceSystem: api.AlertSource, State: state, EnergyAtRiskKW: kw, Occurrences: 1,
			Metadata: &api.AlertMetadata{SummaryID: summary, Confidence: 0.9}, History: []api.AlertMove{{To: api.AlertUnacknowledged, At: began, Actor: "detector"}}}
	}
	moved := func(a api.Alert, at api.Time, actor, reason string, until api.Time) api.Alert {
		a.History = append(a.History, api.AlertMove{From: api.AlertUnacknowledged, To: a.State, At: at, Actor: actor, Reason: reason, Until: until})
		return a
	}
	dead := alert("alt_dead", DeadUnit, "inverter_outage", api.AlertCritical, api.AlertUnacknowledged, "f-dead", at(0, 7), 42.5)
	weak := alert("alt_weak", WeakUnit, "string_outage", api.AlertModerate, api.AlertAcknowledged, "f-weak", at(-17, 9), 12.1)
	weak.AcknowledgedBy, weak.AcknowledgedAt = "anna", at(-16, 8.5)
	back := alert("alt_back", 5, "communication_gap", api.AlertMajor, api.AlertReturned, "f-back", at(0, 5.25), 0)
	back.Resolved, back.ResolvedAt = true, at(0, 6.5)
	shelved := alert("alt_shelf", 1, "soiling", api.AlertModerate, api.AlertShelved, "f-shelf", at(-3, 10), 4.2)
	shelved.ShelvedUntil = at(0, 15)
	planned := alert("alt_plan", 6, "inverter_outage", api.AlertMajor, api.AlertSuppressed, "f-plan", at(0, 9), 30)
	planned.SuppressedTo = at(0, 16)
	return []api.Alert{
		dead, moved(back, at(0, 6.5), "detector", "", api.Time{}), moved(weak, weak.AcknowledgedAt, "anna", "crew is informed", api.Time{}),
		moved(planned, at(0, 9), "planner", "work order ord_late", planned.SuppressedTo), moved(shelved, at(0, 8), "thandi", "rain comes tonight", shelved.ShelvedUntil),
	}
}

// AlertLog returns the active alerts and one cleared alert.
func (p *Plant) AlertLog(now time.Time) []api.Alert {
	day := p.Midnight(now)
	past := api.Alert{AlertID: "alt_past", TerminalDeviceID: "TERM-" + p.SiteID, SiteID: p.SiteID, AssetID: p.UnitID(0), Timestamp: api.At(day.Add(8 * time.Hour)), AlertType: "partial_shading",
		AlertSeverity: api.AlertModerate, Message: "A shadow passed.", SourceSystem: api.AlertSource, State: api.AlertCleared, Resolved: true, ResolvedAt: api.At(day.Add(9 * time.Hour)), Occurrences: 2,
		AcknowledgedBy: "anna", AcknowledgedAt: api.At(day.Add(510 * time.Minute)), Metadata: &api.AlertMetadata{SummaryID: "f-past"},
		History: []api.AlertMove{
			{To: api.AlertUnacknowledged, At: api.At(day.Add(8 * time.Hour)), Actor: "detector"},
			{From: api.AlertUnacknowledged, To: api.AlertAcknowledged, At: api.At(day.Add(510 * time.Minute)), Actor: "anna"},
			{From: api.AlertAcknowledged, To: api.AlertCleared, At: api.At(day.Add(9 * time.Hour)), Actor: "detector"},
		}}
	return append(p.Alerts(now), past)
}

// Flood returns all units going down with the site's breaker within a minute.
func (p *Plant) Flood(now time.Time) []api.Alert {
	began := p.Midnight(now).Add(10 * time.Hour)
	var out []api.Alert
	for i := range p.Units {
		out = append(out, api.Alert{AlertID: "alt_f" + strconv.Itoa(i), SiteID: p.SiteID, AssetID: p.UnitID(i), Timestamp: api.At(began.Add(time.Duration(20+i) * time.Second)), AlertType: "inverter_outage",
			AlertSeverity: api.AlertMajor, State: api.AlertUnacknowledged, EnergyAtRiskKW: 40, Occurrences: 1, Metadata: &api.AlertMetadata{SummaryID: "f-" + strconv.Itoa(i)},
			History: []api.AlertMove{{To: api.AlertUnacknowledged, At: api.At(began), Actor: "detector"}}})
	}
	site := api.Alert{AlertID: "alt_site", SiteID: p.SiteID, Timestamp: api.At(began), AlertType: "site_outage_grid", AlertSeverity: api.AlertCritical, State: api.AlertUnacknowledged,
		EnergyAtRiskKW: 320, Occurrences: 1, Metadata: &api.AlertMetadata{SummaryID: "f-site"}, History: []api.AlertMove{{To: api.AlertUnacknowledged, At: api.At(began), Actor: "detector"}}}
	for i := range p.Units {
		site.Metadata.AssetIDs = append(site.Metadata.AssetIDs, p.UnitID(i))
	}
	return append([]api.Alert{site}, out...)
}

// Counts returns the counts of the active alerts.
func Counts(alerts []api.Alert) api.AlertCounts {
	c := api.AlertCounts{Unacknowledged: map[string]int{}}
	for _, a := range alerts {
		switch a.State {
		case api.AlertUnacknowledged, api.AlertReturned:
			c.Unacknowledged[a.AlertSeverity]++
		case api.AlertAcknowledged:
			c.Acknowledged++
		case api.AlertShelved:
			c.Shelved++
		case api.AlertSuppressed:
			c.Suppressed++
		}
	}
	return c
}

// AlertHealth returns the figures of a quiet month with one flood.
func (p *Plant) AlertHealth() []api.AlertHealth {
	return []api.AlertHealth{
		{WindowHours: 24, Alarms: 14, PerDay: 14, Peak10Min: 12, Floods: 1, FloodPercent: 0.7, Stale: 1, TopTenPercent: 86, Priorities: map[string]int{api.AlertCritical: 1, api.AlertMajor: 4, api.AlertModerate: 9}},
		{WindowHours: 720, Alarms: 96, PerDay: 3.2, Peak10Min: 12, Floods: 1, FloodPercent: 0.02, Chattering: 2, Stale: 1, TopTenPercent: 41, Priorities: map[string]int{api.AlertCritical: 3, api.AlertMajor: 20, api.AlertModerate: 73}},
	}
}

// Samples returns a unit's records as they were measured in the last hours, with a
// gap and a fault code.
func (p *Plant) Samples(unit int, now time.Time) []api.Record {
	var out []api.Record
	for t := now.Add(-3 * time.Hour).Truncate(time.Minute); !t.After(now); t = t.Add(time.Minute) {
		if m := int(now.Sub(t).Minutes()); m > 20 && m < 33 {
			continue // nothing came
		}
		kw := p.PowerKW(unit, t)
		temperature, volts := 41.5, 612.0
		r := api.Record{AssetID: p.UnitID(unit), SiteID: p.SiteID, Timestamp: api.At(t), Power: kw, KWh: kw / 60, InverterState: 1, RunState: 1, Temperature: &temperature, Voltage: &volts}
		if kw == 0 {
			code := int64(3021)
			r.InverterState, r.RunState, r.ErrorCode, r.ErrorType = 3, 0, &code, "relay_fault"
		}
		out = append(out, r)
	}
	return out
}

// Foreseen returns what was forecast for the days before today.
func (p *Plant) Foreseen(now time.Time, days int) []api.ForecastValue {
	var out []api.ForecastValue
	for t := p.Midnight(now).AddDate(0, 0, -days); t.Before(p.Midnight(now)); t = t.Add(time.Hour) {
		out = append(out, p.value(t))
	}
	return out
}

// Days returns the energies of the days of hourly values, whose hours err alike.
func (p *Plant) Days(hours []api.ForecastValue) []api.ForecastDay {
	var out []api.ForecastDay
	for _, x := range hours {
		day := x.Timestamp.In(p.Zone).Format(time.DateOnly)
		if n := len(out); n == 0 || out[n-1].Day != day {
			out = append(out, api.ForecastDay{Day: day, Complete: true})
		}
		d := &out[len(out)-1]
		d.Hours++
		d.P10KWh, d.P50KWh, d.P90KWh = d.P10KWh+x.ConfidenceInterval.Lower, d.P50KWh+x.PredictedPowerKW, d.P90KWh+x.ConfidenceInterval.Upper
	}
	return out
}

// alerts answers requests about alarms; ok is false for other paths.
func (p *Plant) alerts(r *http.Request, now time.Time, q question) (answer any, refusal *api.Error, ok bool) {
	switch days, _ := strconv.Atoi(r.URL.Query().Get("past_days")); {
	case r.URL.Path == api.PathForecast && days > 0:
		f := p.Forecast(now)
		f.Past = p.Foreseen(now, days)
		f.Days = p.Days(f.Past)
		for i := max(len(f.Days)-p.Backcasts, 0); i < len(f.Days); i++ {
			f.Days[i].Issued = api.IssuedBackcast
		}
		return f, nil, true
	case r.URL.Path == api.PathSiteAlerts:
		return api.SiteAlertsResponse{Alerts: map[string][]api.Alert{"TERM-" + p.SiteID: p.AlertLog(now)}}, nil, true
	case r.URL.Path == api.PathInverter:
		return api.RecordsResponse{Records: p.Samples(0, now)}, nil, true
	case r.URL.Path != api.PathAlerts:
		return nil, nil, false
	case q.Action == api.ActionHealth:
		return api.AlertsResponse{Success: true, Health: p.AlertHealth(), Count: 2}, nil, true
	case q.Action == api.ActionList:
		list := p.Alerts(now)
		counts := Counts(list)
		return api.AlertsResponse{Success: true, Alerts: list, Counts: &counts, Count: len(list)}, nil, true
	}
	for _, a := range p.Alerts(now) {
		if a.AlertID != q.AlertID {
			continue
		}
		a.State = map[string]string{api.ActionAcknowledge: api.AlertAcknowledged, api.ActionShelve: api.AlertShelved, api.ActionUnshelve: api.AlertUnacknowledged}[q.Action]
		return api.AlertsResponse{Success: true, Message: "Alert moved", Alert: &a, Count: 1}, nil, true
	}
	return nil, api.ErrAlertNotFound, true
}
