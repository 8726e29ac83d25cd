package notification

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/alert"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/notify"
	"app.sunloop/backend/store"
)

// wireEntry is a planned message on the wire.
func wireEntry(e notify.Entry) api.NotificationDelivery {
	site := e.SiteID
	if site == noSite {
		site = ""
	}
	return api.NotificationDelivery{EntryID: e.ID, IncidentID: e.IncidentID, SiteID: site, AlertIDs: e.Message.AlertIDs, RouteID: e.RouteID, Step: e.Step,
		Recipient: e.Recipient, Kind: string(e.Message.Kind), Title: e.Message.Title, Status: e.Status, Reason: e.Why, Until: api.At(e.Until), SummaryID: e.SummaryID,
		PlannedAt: api.At(e.At)}
}

// wire adds a delivery to the planned message that it is of.
func (d delivery) wire(w api.NotificationDelivery) api.NotificationDelivery {
	w.DeliveryID, w.ChannelID, w.Address, w.Recipient, w.Status = d.DeliveryID, d.ChannelID, d.Address, d.Recipient, d.Status
	w.Attempts, w.Failure, w.Detail = d.Attempts, d.Failure, d.Detail
	for _, one := range []struct {
		at time.Time
		to *api.Time
	}{{d.LastAttemptAt, &w.LastAttemptAt}, {d.Due, &w.NextAttemptAt}, {d.DeliveredAt, &w.DeliveredAt}} {
		if !one.at.IsZero() {
			*one.to = api.At(one.at)
		}
	}
	if w.PlannedAt.IsZero() {
		w.PlannedAt = api.At(d.CreatedAt)
	}
	return w
}

// rows are the deliveries of a planned message, or the message itself without any.
func rows(tx store.Tx, e notify.Entry) ([]api.NotificationDelivery, error) {
	w := wireEntry(e)
	if e.Until.IsZero() {
		w.Until = api.Time{}
	}
	list, _, err := deliveries.List(tx, store.Query{Index: "entry", Prefix: store.Key(e.ID)})
	if err != nil {
		return nil, fmt.Errorf("read the deliveries of message %s: %w", e.ID, err)
	}
	if len(list) == 0 {
		return []api.NotificationDelivery{w}, nil
	}
	var out []api.NotificationDelivery
	for _, d := range list {
		out = append(out, d.wire(w))
	}
	return out, nil
}

// visible reports whether the scope covers a message of an owner about a site.
func visible(scope api.Scope, e notify.Entry) bool {
	if e.Owner == everyOwner {
		return scope.Unlimited()
	}
	return scope.CanWholeCustomer(e.Owner)
}

// List returns deliveries and messages that were held or suppressed, the newest first. A
// page has at most as many messages as its limit.
func (s *Service) List(ctx context.Context, scope api.Scope, r api.NotificationsRequest) (out []api.NotificationDelivery, next string, err error) {
	owner, err := ownerOf(scope, r.CustomerID)
	if err != nil {
		return nil, "", err
	}
	limit := r.Limit
	if limit <= 0 {
		limit = api.DefaultLimit
	}
	sq := store.Query{Index: "id", Reverse: true, Limit: limit, Cursor: r.Cursor}
	err = s.Records.View(ctx, func(tx store.Tx) error {
		out, next = []api.NotificationDelivery{}, ""
		for q := sq; ; q.Cursor = next {
			q.Limit = max(limit-len(out), 1)
			list, cursor, err := entries.List(tx, q)
			if err != nil {
				if r.Cursor != "" {
					return api.InvalidParameter("cursor", "it is not of this list")
				}
				return fmt.Errorf("list messages: %w", err)
			}
			next = cursor
			for _, e := range list {
				if e.Owner != owner || r.PersonID != "" && e.Recipient != "person:"+r.PersonID || r.SiteID != "" && e.SiteID != r.SiteID ||
					r.AlertID != "" && !slices.Contains(e.Message.AlertIDs, r.AlertID) {
					continue
				}
				of, err := rows(tx, e)
				if err != nil {
					return err
				}
				for _, w := range of {
					if r.Status == "" || w.Status == r.Status {
						out = append(out, w)
					}
				}
			}
			if next == "" || len(out) >= limit {
				return nil
			}
		}
	})
	return out, next, err
}

// Explain returns what was sent of an alarm, held or suppressed, the oldest first, and
// what each route of the owner does with the alarm now. A person narrows it.
func (s *Service) Explain(ctx context.Context, scope api.Scope, r api.NotificationsRequest) (out []api.NotificationDelivery, decisions []api.NotificationDecision, err error) {
	now := s.Wall().UTC()
	err = s.Records.View(ctx, func(tx store.Tx) error {
		out, decisions = []api.NotificationDelivery{}, []api.NotificationDecision{}
		a, err := s.Domain.Alerts.Get(tx, scope, r.AlertID)
		if err != nil {
			return err
		}
		list, err := incidentsOf(tx, a)
		if err != nil {
			return err
		}
		if r.PersonID != "" {
			found := false
			err := items.Each(tx, store.Query{Index: "kind", Prefix: store.Key(kindPerson)}, func(v item) error {
				found = found || v.ID == r.PersonID && visible(scope, notify.Entry{Owner: v.Owner})
				return nil
			})
			if err != nil {
				return err
			}
			if !found {
				return api.ErrNotificationItemNotFound
			}
		}
		for _, i := range list {
			of, _, err := entries.List(tx, store.Query{Index: "incident", Prefix: store.Key(i.ID)})
			if err != nil {
				return fmt.Errorf("read the messages of incident %s: %w", i.ID, err)
			}
			for _, e := range of {
				if !visible(scope, e) || !slices.Contains(e.Message.AlertIDs, a.AlertID) || r.PersonID != "" && e.Recipient != "" && e.Recipient != "person:"+r.PersonID {
					continue
				}
				list, err := rows(tx, e)
				if err != nil {
					return err
				}
				out = append(out, list...)
			}
		}
		of, err := s.Domain.Sites.SiteIn(tx, api.Unlimited("notifications"), a.SiteID)
		if err != nil {
			return err
		}
		alarm := alarmOf(a, of, now)
		for _, i := range list {
			for _, b := range i.Alarms {
				if b.AlertID == a.AlertID {
					alarm.RaisedAt = b.RaisedAt
				}
			}
		}
		configs, err := allConfigs(tx)
		if err != nil {
			return err
		}
		for _, c := range configs {
			if c.Owner != everyOwner && c.Owner != a.CustomerID || !visible(scope, notify.Entry{Owner: c.Owner}) {
				continue
			}
			for _, route := range c.Routes {
				decisions = append(decisions, decide(route, alarm, list))
			}
		}
		return nil
	})
	return out, decisions, err
}

// decide says what a route does with an alarm, and whom it has notified.
func decide(route notify.Route, a notify.Alarm, list []notify.Incident) api.NotificationDecision {
	d := api.NotificationDecision{RouteID: route.ID}
	d.Selects, d.Reason = route.Selects(a)
	switch {
	case d.Selects && a.State == api.AlertAcknowledged:
		d.Reason = "it is acknowledged"
		if a.AcknowledgedBy != "" {
			d.Reason += " by " + a.AcknowledgedBy
		}
	case d.Selects && a.Ended():
		d.Reason = "it has ended"
	}
	for _, i := range list {
		for _, t := range i.Tracks {
			if t.RouteID == route.ID {
				d.Recipients = append(d.Recipients, t.Recipients...)
			}
		}
	}
	return d
}

// incidentsOf returns the incidents that an alert is or was part of, the oldest first.
func incidentsOf(tx store.Tx, a alert.Alert) (list []notify.Incident, err error) {
	known := map[string]bool{}
	add := func(i notify.Incident) error {
		if !known[i.ID] && slices.ContainsFunc(i.Alarms, func(b notify.Alarm) bool { return b.AlertID == a.AlertID }) {
			known[i.ID] = true
			list = append(list, i)
		}
		return nil
	}
	err = errors.Join(incidents.Each(tx, store.Query{Prefix: store.Key(a.SiteID)}, add),
		incidents.Each(tx, store.Query{Index: "open", Prefix: store.Key(a.CustomerID)}, add))
	slices.SortFunc(list, func(a, b notify.Incident) int { return strings.Compare(a.ID, b.ID) })
	return list, record.Wrap(err, "read the incidents of alert "+a.AlertID)
}

// Bounds of a simulation.
const (
	simulatedTime  = 48 * time.Hour
	simulatedPlans = 60
)

// Simulate says who would be notified if an alarm were raised and no person acknowledged
// it: the messages of two days, in order. It changes nothing.
func (s *Service) Simulate(ctx context.Context, scope api.Scope, r api.NotificationsRequest) (out []api.NotificationDelivery, decisions []api.NotificationDecision, err error) {
	at := r.At.Time
	if at.IsZero() {
		at = s.Wall().UTC()
	}
	err = s.Records.View(ctx, func(tx store.Tx) error {
		out, decisions = []api.NotificationDelivery{}, []api.NotificationDecision{}
		of, err := s.Domain.Sites.SiteIn(tx, scope, r.SiteID)
		if err != nil {
			return err
		}
		configs, err := allConfigs(tx)
		if err != nil {
			return err
		}
		configs = slices.DeleteFunc(configs, func(c notify.Owned) bool {
			return c.Owner != everyOwner && c.Owner != of.CustomerID || !visible(scope, notify.Entry{Owner: c.Owner})
		})
		a := alert.Alert{CustomerID: of.CustomerID}
		a.AlertID, a.SiteID, a.AssetID, a.AlertType, a.AlertSeverity, a.State, a.Timestamp = "simulated", of.SiteID, r.AssetID, r.Family, r.Priority, api.AlertUnacknowledged, api.At(at)
		if r.EnergyAtRiskKW != nil {
			a.EnergyAtRiskKW = *r.EnergyAtRiskKW
		}
		alarm := alarmOf(a, of, at)
		alarm.LostKW, alarm.LostKWh = r.EnergyAtRiskKW, r.LostKWh
		if r.EnergyAtRiskKW == nil {
			alarm.MoneyAtRisk = nil
		}
		for _, c := range configs {
			for _, route := range c.Routes {
				d := api.NotificationDecision{RouteID: route.ID}
				d.Selects, d.Reason = route.Selects(alarm)
				decisions = append(decisions, d)
			}
		}
		windows, err := windowsOf(tx, at, map[string]bool{of.SiteID: true})
		if err != nil {
			return err
		}
		for _, e := range simulate(configs, windows, alarm, at) {
			w := wireEntry(e)
			if e.Until.IsZero() {
				w.Until = api.Time{}
			}
			w.AlertIDs = nil
			out = append(out, w)
		}
		return nil
	})
	return out, decisions, err
}

func simulate(configs []notify.Owned, windows []notify.Window, a notify.Alarm, at time.Time) (out []notify.Entry) {
	state, n := notify.State{}, 0
	events := []notify.Alarm{a}
	byID := map[string]int{}
	for now := at; ; {
		plan := notify.Make(state, notify.Input{Configs: configs, Windows: windows, Events: events, Now: now, NewID: func(prefix string) string {
			n++
			return fmt.Sprintf("%s_simulated_%03d", prefix, n)
		}})
		if len(plan.Incidents) > 0 {
			state.Incidents = plan.Incidents
		}
		for _, e := range plan.Entries {
			if k, ok := byID[e.ID]; ok {
				out[k] = e
			} else {
				byID[e.ID] = len(out)
				out = append(out, e)
			}
		}
		state.Held, state.Sent = nil, nil
		for _, e := range out {
			switch {
			case e.Status == notify.StatusHeld:
				state.Held = append(state.Held, e)
			case e.Status == notify.StatusDue && now.Sub(e.At) < notify.FloodSpan:
				state.Sent = append(state.Sent, e)
			}
		}
		events = nil
		if n > simulatedPlans || plan.Next.IsZero() || plan.Next.Sub(at) > simulatedTime {
			return out
		}
		now = plan.Next
	}
}

// period is the span of a request, by default four weeks from now.
func (s *Service) period(r api.NotificationsRequest) (from, to time.Time, err error) {
	from, to = r.From.Time, r.To.Time
	if from.IsZero() {
		from = s.Wall().UTC()
	}
	if to.IsZero() {
		to = from.AddDate(0, 0, 28)
	}
	if !to.After(from) || to.Sub(from) > 400*24*time.Hour {
		return from, to, api.InvalidField("to", "it is after from, at most 400 days")
	}
	return from, to, nil
}

// OnCall returns the shifts of one rotation, or of all of the owner.
func (s *Service) OnCall(ctx context.Context, scope api.Scope, r api.NotificationsRequest) (out []api.NotificationShift, err error) {
	config, err := s.configFor(ctx, scope, r)
	if err != nil {
		return nil, err
	}
	from, to, err := s.period(r)
	if err != nil {
		return nil, err
	}
	out = []api.NotificationShift{}
	for _, v := range config.Rotations {
		if r.RotationID != "" && v.ID != r.RotationID {
			continue
		}
		for _, shift := range v.Shifts(from, to) {
			out = append(out, api.NotificationShift{RotationID: v.ID, PersonID: shift.Person, Reason: shift.Why, From: api.At(shift.From), To: api.At(shift.To)})
		}
	}
	return out, nil
}

// configFor returns the configuration that a request names, and an error if it names a
// rotation that does not exist.
func (s *Service) configFor(ctx context.Context, scope api.Scope, r api.NotificationsRequest) (config notify.Config, err error) {
	owner, err := ownerOf(scope, r.CustomerID)
	if err != nil {
		return config, err
	}
	err = s.Records.View(ctx, func(tx store.Tx) error {
		config, err = configOf(tx, owner)
		return err
	})
	if err == nil && r.RotationID != "" && !slices.ContainsFunc(config.Rotations, func(v notify.Rotation) bool { return v.ID == r.RotationID }) {
		err = api.ErrNotificationItemNotFound
	}
	return config, err
}

// Calendar returns the shifts of a rotation as iCalendar.
func (s *Service) Calendar(ctx context.Context, scope api.Scope, r api.NotificationsRequest) (string, error) {
	config, err := s.configFor(ctx, scope, r)
	if err != nil {
		return "", err
	}
	from, to, err := s.period(r)
	if err != nil {
		return "", err
	}
	names := map[string]string{}
	for _, p := range config.People {
		names[p.ID] = p.Name
	}
	for _, v := range config.Rotations {
		if v.ID == r.RotationID {
			return notify.Calendar(v, v.Shifts(from, to), names, s.Wall()), nil
		}
	}
	return "", api.ErrNotificationItemNotFound
}

// ImportAbsences replaces the absences of a person in a rotation by the events of an
// iCalendar text, and returns their number.
func (s *Service) ImportAbsences(ctx context.Context, scope api.Scope, r api.NotificationsRequest) (n int, before, after any, err error) {
	owner, err := ownerOf(scope, r.CustomerID)
	if err != nil {
		return 0, nil, nil, err
	}
	err = s.Records.Update(ctx, func(tx store.Tx) error {
		old, err := items.Get(tx, store.Key(owner, kindRotation, r.RotationID))
		if err != nil {
			return record.NotFoundAs(err, api.ErrNotificationItemNotFound, "rotation "+r.RotationID)
		}
		zone := time.UTC
		if z, err := store.Zone(old.Rotation.Zone); err == nil {
			zone = z
		}
		list, err := notify.ParseCalendar(r.Calendar, r.PersonID, zone)
		if err != nil {
			return api.InvalidField("calendar", err.Error())
		}
		next := *old.Rotation
		next.Absences = append(slices.DeleteFunc(slices.Clone(next.Absences), func(o notify.Override) bool { return o.Person == r.PersonID }), list...)
		v, err := s.store(tx, scope, given{item: item{Owner: owner, Kind: kindRotation, ID: r.RotationID, Rotation: &next}}, old)
		if err != nil {
			return err
		}
		n, before, after = len(list), plain(old), plain(v)
		return s.check(tx, owner)
	})
	return n, before, after, err
}
