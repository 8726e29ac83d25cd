package plant

import (
	"encoding/json"
	"time"

	"app.sunloop/backend/api"
)

// Notifications is the configuration of the plant's customer: e-mail, a chat and a push
// service, three people, a weekly rotation with an override and an absence, and two routes.
func (p *Plant) Notifications(now time.Time) api.NotificationConfig {
	at := func(days, hour int) api.Time {
		return api.At(p.Midnight(now).AddDate(0, 0, days).Add(time.Duration(hour) * time.Hour))
	}
	zone := p.Zone.String()
	return api.NotificationConfig{
		Channels: []api.NotificationChannel{
			{ChannelID: "mail", Kind: "email", Version: 1, UpdatedAt: at(-90, 9), UpdatedBy: "anna"},
			{ChannelID: "push", Kind: "ntfy", Name: "Push of the crew", HasURL: true, Version: 3, UpdatedAt: at(-2, 9), UpdatedBy: "anna"},
			{ChannelID: "router", Kind: "webhook", HasURL: true, HasSecret: true, Disabled: true, Version: 1, UpdatedAt: at(-90, 9), UpdatedBy: "anna"},
		},
		People: []api.NotificationPerson{
			{PersonID: "anna", Name: "Anna", Username: "anna", Timezone: zone, Addresses: []api.NotificationAddress{{ChannelID: "mail", Address: "anna@example.com"}, {ChannelID: "push", Priority: api.AlertCritical}},
				QuietHours: []api.NotificationHours{{From: "22:00", To: "06:00"}}, Reports: []string{"daily", "weekly"}, Version: 2, UpdatedAt: at(-30, 9), UpdatedBy: "anna"},
			{PersonID: "ben", Name: "Ben", Timezone: zone, Addresses: []api.NotificationAddress{{ChannelID: "mail", Address: "ben@example.com"}}, WorkingHours: []api.NotificationHours{{Days: []string{"mon", "tue", "wed", "thu", "fri"}, From: "08:00", To: "17:00"}}, Version: 1},
			{PersonID: "boss", Name: "Thandi", Timezone: zone, Addresses: []api.NotificationAddress{{ChannelID: "mail", Address: "thandi@example.com"}}, Threshold: api.AlertMajor, Version: 1},
		},
		Rotations: []api.NotificationRotation{
			{RotationID: "solar", Name: "Solar crew", Timezone: zone, Start: "2026-01-05", Handovers: []string{"09:00"}, People: []string{"anna", "ben"}, Version: 4,
				Overrides: []api.NotificationOverride{{PersonID: "boss", From: at(1, 12), To: at(1, 20), Reason: "training"}}, Absences: []api.NotificationOverride{{PersonID: "ben", From: at(3, 0), To: at(5, 0), Reason: "leave"}}},
		},
		Routes: []api.NotificationRoute{
			{RouteID: "all", Steps: []api.NotificationStep{{To: []string{"rotation:solar"}}, {AfterMinutes: 30, To: []string{"person:boss"}}}, RepeatMinutes: 60, Version: 1, UpdatedAt: at(-90, 9), UpdatedBy: "anna"},
			{RouteID: "large", Name: "Large losses", Families: []string{"inverter_outage", "site_outage_grid"}, Priority: api.AlertCritical, MinKW: 100, Hours: []api.NotificationHours{{Days: []string{"sat", "sun"}, From: "06:00", To: "20:00"}}, Timezone: zone,
				Steps: []api.NotificationStep{{To: []string{"channel:push", "person:anna"}}}, RepeatMinutes: -1, Disabled: true, Version: 2},
		},
	}
}

// Shifts are who is on call in the plant's rotation: by turn, with its override and
// absence.
func (p *Plant) Shifts(now, from, to time.Time) []api.NotificationShift {
	r := p.Notifications(now).Rotations[0]
	override, absence := r.Overrides[0], r.Absences[0]
	start := time.Date(2026, 1, 5, 9, 0, 0, 0, p.Zone)
	by := func(at time.Time) (person, reason string) {
		weeks := int(at.Sub(start).Hours() / (7 * 24))
		turn := r.People[(weeks%2+2)%2]
		switch {
		case !at.Before(override.From.Time) && at.Before(override.To.Time):
			return override.PersonID, "override"
		case turn == absence.PersonID && !at.Before(absence.From.Time) && at.Before(absence.To.Time):
			return "anna", "instead of ben, who is absent"
		}
		return turn, "by turn"
	}
	list := []api.NotificationShift{}
	for at := from.Truncate(time.Hour); at.Before(to); at = at.Add(time.Hour) {
		person, reason := by(at)
		if n := len(list); n > 0 && list[n-1].PersonID == person && list[n-1].Reason == reason {
			list[n-1].To = api.At(at.Add(time.Hour))
			continue
		}
		list = append(list, api.NotificationShift{RotationID: r.RotationID, PersonID: person, Reason: reason, From: api.At(at), To: api.At(at.Add(time.Hour))})
	}
	return list
}

// Notified are messages of each status, newest first.
func (p *Plant) Notified(now time.Time) []api.NotificationDelivery {
	at := func(minutes int) api.Time { return api.At(now.Add(-time.Duration(minutes) * time.Minute)) }
	unit := p.UnitID(DeadUnit)
	message := func(id, recipient, channel, status string, minutes int) api.NotificationDelivery {
		return api.NotificationDelivery{EntryID: "ntf_" + id, DeliveryID: "ntd_" + id, IncidentID: "inc_1", SiteID: p.SiteID, AlertIDs: []string{"alt_dead"}, RouteID: "all", Step: 1, Recipient: recipient, ChannelID: channel,
			Kind: "raised", Title: "Critical: Inverter outage at " + p.SiteID + ", " + unit, Status: status, PlannedAt: at(minutes), Attempts: 1, LastAttemptAt: at(minutes)}
	}
	sent := message("1", "person:anna", "mail", "delivered", 150)
	sent.Address, sent.DeliveredAt, sent.Detail, sent.Reason = "anna@example.com", at(150), "accepted by the mail server", "on call in rotation solar: by turn"
	dead := message("2", "person:anna", "push", "dead", 150)
	dead.Failure, dead.Attempts = "HTTP 403: check the credentials of the channel", 1
	escalated := message("3", "person:boss", "mail", "pending", 2)
	escalated.Kind, escalated.Step, escalated.Address, escalated.Title, escalated.Failure, escalated.Attempts, escalated.NextAttemptAt = "escalated", 2, "thandi@example.com", "Not acknowledged (step 2): Critical: Inverter outage at "+p.SiteID+", "+unit, "the mail server was not reachable", 3, at(-1)
	held := api.NotificationDelivery{EntryID: "ntf_4", IncidentID: "inc_2", SiteID: p.SiteID, AlertIDs: []string{"alt_weak"}, RouteID: "all", Step: 1, Recipient: "person:ben", Kind: "raised", Title: "Moderate: String outage at " + p.SiteID,
		Status: "held", Reason: "outside working hours", Until: at(-60 * 46), PlannedAt: at(30)}
	silent := api.NotificationDelivery{EntryID: "ntf_5", IncidentID: "inc_3", SiteID: p.SiteID, AlertIDs: []string{"alt_shelf"}, RouteID: "all", Kind: "", Status: "suppressed", Reason: "shelved", PlannedAt: at(240)}
	return []api.NotificationDelivery{escalated, held, sent, dead, silent}
}

// Explained has the notifications of the alarm of the dead unit.
func (p *Plant) Explained(now time.Time) (list []api.NotificationDelivery, decisions []api.NotificationDecision) {
	all := p.Notified(now)
	return []api.NotificationDelivery{all[2], all[3], all[0]}, []api.NotificationDecision{{RouteID: "all", Selects: true, Recipients: []string{"person:anna", "person:boss"}}, {RouteID: "large", Reason: "the route is disabled"}}
}

// Simulated is who would be notified of an alarm that is raised now.
func (p *Plant) Simulated(now time.Time) (list []api.NotificationDelivery, decisions []api.NotificationDecision) {
	at := func(minutes int) api.Time { return api.At(now.Add(time.Duration(minutes) * time.Minute)) }
	title := "High: Inverter outage at " + p.SiteID
	return []api.NotificationDelivery{
		{EntryID: "ntf_s1", SiteID: p.SiteID, RouteID: "all", Step: 1, Recipient: "person:anna", Kind: "raised", Title: title, Status: "due", Reason: "on call in rotation solar: by turn", PlannedAt: at(0)},
		{EntryID: "ntf_s2", SiteID: p.SiteID, RouteID: "all", Step: 2, Recipient: "person:boss", Kind: "escalated", Title: "Not acknowledged (step 2): " + title, Status: "due", Reason: "recipient of the route", PlannedAt: at(30)},
	}, []api.NotificationDecision{{RouteID: "all", Selects: true}, {RouteID: "large", Reason: "the route is disabled"}}
}

// notifications answers a request about notifications.
func (p *Plant) notifications(now time.Time, body []byte) (any, *api.Error) {
	var q api.NotificationsRequest
	if err := json.Unmarshal(body, &q); err != nil {
		return nil, api.InvalidField("body", err.Error())
	}
	out := api.NotificationsResponse{Success: true}
	switch q.Action {
	case api.ActionGet:
		c := p.Notifications(now)
		out.Configuration = &c
	case api.ActionOnCall:
		from, to := q.From.Time, q.To.Time
		if from.IsZero() {
			from, to = now, now.AddDate(0, 0, 28)
		}
		out.Shifts = p.Shifts(now, from, to)
	case api.ActionList:
		out.Deliveries = []api.NotificationDelivery{}
		for _, d := range p.Notified(now) {
			if q.Status == "" || d.Status == q.Status {
				out.Deliveries = append(out.Deliveries, d)
			}
		}
	case api.ActionExplain:
		out.Deliveries, out.Decisions = p.Explained(now)
	case api.ActionSimulate:
		out.Deliveries, out.Decisions = p.Simulated(now)
	case api.ActionTest:
		out.Results = []api.NotificationResult{{ChannelID: "mail", Kind: "email", Address: "anna@example.com", Delivered: true, Detail: "accepted by the mail server"}}
	default:
		out.Message, out.Version = "Stored", 2
	}
	return out, nil
}
