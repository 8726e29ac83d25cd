package plant

import (
	"net/http"
	"time"

	"app.sunloop/backend/api"
)

// Orders returns one in progress, one that should have begun yesterday, one on
// hold and one that is completed.
func (p *Plant) Orders(now time.Time) []api.Order {
	day := p.Midnight(now)
	at := func(days int, hour float64) api.Time {
		return api.At(day.AddDate(0, 0, days).Add(time.Duration(hour * float64(time.Hour))))
	}
	clocks := func(days int) api.OrderClocks {
		return api.OrderClocks{AcknowledgeDue: at(days, 8), StartDue: at(days+1, 8), RestoreDue: at(days+3, 8)}
	}
	order := func(id, status, family, priority string, unit, days int) api.Order {
		return api.Order{OrderID: id, AssetID: p.UnitID(unit), SiteID: p.SiteID, Status: status, CreatedAt: at(days, 7), BOMID: "bom_" + id, Priority: priority,
			MaintenanceType: api.MaintenanceCorrective, FaultFamily: family, AssignedTechnician: "thandi", EstimatedDurationHours: 2.5,
			PlannedStart: at(days+1, 6), EstimatedCompletion: at(days+1, 8.5), CreatedBy: "anna", Version: 1, Clocks: clocks(days)}
	}
	way := order("ord_way", api.OrderInProgress, "string_outage", api.PriorityMedium, WeakUnit, -1)
	way.SummaryID, way.Clocks.AcknowledgedAt, way.Clocks.StartedAt = "f-weak", at(-1, 7.5), at(0, 7)
	late := order("ord_late", api.OrderPending, "", api.PriorityHigh, 6, -2)
	late.MaintenanceType, late.AssignedTechnician, late.Clocks.AcknowledgedAt = api.MaintenancePreventive, api.TechnicianUnassigned, at(-2, 7.5)
	held := order("ord_held", api.OrderOnHold, "dc_ground_fault", api.PriorityLow, 5, -1)
	held.HoldReason, held.Clocks.Paused, held.Clocks.PausedMinutes, held.Clocks.AcknowledgedAt = api.HoldWeather, true, 95, at(-1, 7.2)
	done := order("ord_done", api.OrderCompleted, "string_outage", api.PriorityMedium, 1, -9)
	done.CompletionNotes, done.ActualHours, done.CompletedAt = "fuse replaced", 2.2, at(-7, 9)
	done.Clocks.AcknowledgedAt, done.Clocks.StartedAt, done.Clocks.RestoredAt = at(-9, 7.5), at(-8, 7), at(-7, 9)
	done.Verification = &api.Verification{State: api.VerificationVerified, At: at(-5, 18)}
	return []api.Order{held, way, late, done}
}

// Order returns an order with its parts and its history.
func (p *Plant) Order(now time.Time, id string) (api.Order, bool) {
	for _, o := range p.Orders(now) {
		if o.OrderID != id {
			continue
		}
		o.Parts = []api.OrderPart{
			{PartNumber: "FUSE-GPV-15A", Description: "String fuse 15 A", Quantity: 4, Reserved: 1, Short: 3, Essential: true},
			{PartNumber: "MC4-PAIR", Description: "Connector pair", Quantity: 2, Reserved: 2},
		}
		o.History = []api.WorkMove{{To: api.OrderPending, At: o.CreatedAt, Actor: "anna"}}
		if !o.Clocks.StartedAt.IsZero() {
			o.History = append(o.History, api.WorkMove{From: api.OrderPending, To: api.OrderInProgress, At: o.Clocks.StartedAt, Actor: "thandi", Note: "on site"})
		}
		return o, true
	}
	return api.Order{}, false
}

// Schedules returns one that is overdue, one of the days ahead and one far off.
func (p *Plant) Schedules(now time.Time) []api.Schedule {
	day := p.Midnight(now)
	plan := func(id string, unit, days int, status, reason string) api.Schedule {
		return api.Schedule{ScheduleID: id, AssetID: p.UnitID(unit), SiteID: p.SiteID, MaintenanceType: api.MaintenancePreventive, ScheduledDate: api.At(day.AddDate(0, 0, days).Add(7 * time.Hour)),
			Priority: api.PriorityLow, Status: status, Reason: reason, Overdue: days < 0, Version: 1}
	}
	return []api.Schedule{
		plan("sch_late", 3, -3, api.SchedulePending, "filters"), plan("sch_soon", 6, 2, api.ScheduleConfirmed, "thermography"), plan("sch_far", 7, 60, api.SchedulePending, "yearly inspection"),
	}
}

// Bill returns what the repair of a unit takes.
func (p *Plant) Bill(now time.Time, assetID string) api.BOM {
	return api.BOM{BOMID: "bom_1", AssetID: assetID, SiteID: p.SiteID, GeneratedAt: api.At(now), TotalCost: 1840.5, Currency: "ZAR", ItemCount: 2,
		MaintenanceType: api.MaintenanceCorrective, FaultFamily: "inverter_outage", SummaryID: "f-dead", EstimatedHours: 3, Isolating: true,
		Items: []api.BOMItem{
			{PartNumber: "FAN-KIT", Description: "Fan kit", Quantity: 1, UnitCost: 1200, TotalCost: 1200, Essential: true},
			{PartNumber: "RELAY-AC", Description: "AC relay", Quantity: 1, UnitCost: 640.5, TotalCost: 640.5},
		}}
}

// Parts returns the stock: one part below its minimum, one that was never counted.
func (p *Plant) Parts(now time.Time) []api.Part {
	return []api.Part{
		{PartNumber: "FAN-KIT", Description: "Fan kit", UnitCost: 1200, Currency: "ZAR", Essential: true, Counted: true, OnHand: 1, Reserved: 1, Minimum: 1, BelowMinimum: true, UpdatedAt: api.At(now)},
		{PartNumber: "FUSE-GPV-15A", Description: "String fuse 15 A", UnitCost: 5.4, Currency: "ZAR", Essential: true, Counted: true, OnHand: 20, Reserved: 1, Available: 19, Minimum: 10, UpdatedAt: api.At(now)},
		{PartNumber: "MC4-PAIR", Description: "Connector pair", UnitCost: 4.2, Currency: "ZAR", OnHand: 0},
		{PartNumber: "RELAY-AC", Description: "AC relay", UnitCost: 640.5, Currency: "ZAR", Counted: true, OnHand: 2, Available: 2, Minimum: 1, UpdatedAt: api.At(now)},
	}
}

// Windows are three mornings, the best first.
func (p *Plant) Windows(now time.Time, assetID string) api.ProposeResponse {
	day := p.Midnight(now)
	out := api.ProposeResponse{Success: true, SiteID: p.SiteID, AssetID: assetID, Kind: api.WorkIsolating, ForecastID: "fc-1", IssuedAt: api.At(now.Truncate(time.Hour)), Currency: "ZAR", CostOf: api.CostOfUnit, ProducingShare: 1, Bundle: []api.WorkNearby{}}
	for i, kwh := range []float64{38, 41.5, 44} {
		start := day.AddDate(0, 0, i+1).Add(6 * time.Hour)
		out.Windows = append(out.Windows, api.WorkWindow{Start: api.At(start), End: api.At(start.Add(3 * time.Hour)), EnergyKWh: kwh, Cost: kwh * 1.5, ExtraKWh: kwh - 38, ExtraCost: (kwh - 38) * 1.5,
			IrradianceWM2: 310, WindMS: 4 + 4*float64(i), Windy: i == 2})
	}
	out.Count = len(out.Windows)
	return out
}

// work answers requests about planned work; ok is false for other paths.
func (p *Plant) work(r *http.Request, now time.Time, q question) (answer any, refusal *api.Error, ok bool) {
	switch r.URL.Path + " " + q.Action {
	case api.PathOrder + " " + api.ActionList:
		return api.OrderResponse{Success: true, Orders: p.Orders(now)}, nil, true
	case api.PathOrder + " " + api.ActionGet:
		if o, there := p.Order(now, q.OrderID); there {
			return api.OrderResponse{Success: true, Order: &o}, nil, true
		}
		return nil, api.ErrOrderNotFound, true
	case api.PathSchedule + " " + api.ActionList:
		return api.ScheduleResponse{Success: true, Schedules: p.Schedules(now)}, nil, true
	case api.PathSchedule + " " + api.ActionPropose:
		return p.Windows(now, q.AssetID), nil, true
	case api.PathBOM + " " + api.ActionList:
		b := p.Bill(now, p.UnitID(DeadUnit))
		b.Items = nil
		return api.BOMResponse{Success: true, BOMs: []api.BOM{b}}, nil, true
	case api.PathTrack + " " + api.ActionList:
		return api.TrackResponse{Success: true, Subscriptions: p.Subscriptions(now)}, nil, true
	case api.PathTrack + " " + api.ActionDeliveries:
		return api.TrackResponse{Success: true, Deliveries: p.Deliveries(now, q.SubscriptionID)}, nil, true
	case api.PathParts + " " + api.ActionList:
		return api.PartsResponse{Success: true, Parts: p.Parts(now)}, nil, true
	case api.PathSchedule + " " + api.ActionGet:
		for _, s := range p.Schedules(now) {
			if s.ScheduleID == q.ScheduleID {
				s.History = []api.WorkMove{{To: api.SchedulePending, At: s.CreatedAt, Actor: "anna"}}
				return api.ScheduleResponse{Success: true, Schedule: &s}, nil, true
			}
		}
		return nil, api.ErrScheduleNotFound, true
	case api.PathBOM + " " + api.ActionGet:
		b := p.Bill(now, p.UnitID(DeadUnit))
		return api.BOMResponse{Success: true, BOM: &b}, nil, true
	case api.PathBOM + " " + api.ActionGenerate:
		b := p.Bill(now, q.AssetID)
		return api.BOMResponse{Success: true, BOM: &b}, nil, true
	}
	return nil, nil, false
}

// Subscriptions returns one that goes well, one that fails and one whose order is
// done.
func (p *Plant) Subscriptions(now time.Time) []api.Subscription {
	sub := func(id, order, url, status string, hours int) api.Subscription {
		return api.Subscription{SubscriptionID: id, OrderID: order, CallbackURL: url, Status: status, SiteID: p.SiteID, CreatedAt: api.At(now.Add(-time.Duration(hours) * time.Hour)), CreatedBy: "anna"}
	}
	good := sub("sub_good", "ord_way", "https://cmms.example.com/hooks/sunloop", api.SubscriptionActive, 30)
	good.LastSuccessAt = api.At(now.Add(-4 * time.Hour))
	bad := sub("sub_bad", "ord_held", "https://old.example.com/hook", api.SubscriptionFailing, 50)
	bad.FailingSince, bad.StatusReason = api.At(now.Add(-20*time.Hour)), "its last delivery was given up"
	return []api.Subscription{good, bad, sub("sub_done", "ord_done", "https://cmms.example.com/hooks/sunloop", api.SubscriptionCompleted, 200)}
}

// Deliveries returns those of a subscription: one received, one pending, one
// given up.
func (p *Plant) Deliveries(now time.Time, subscriptionID string) []api.Delivery {
	one := func(id, status, event string, hours, attempts, answer int) api.Delivery {
		at := now.Add(-time.Duration(hours) * time.Hour)
		return api.Delivery{DeliveryID: id, SubscriptionID: subscriptionID, OrderID: "ord_way", Status: status, CreatedAt: api.At(at), Attempts: attempts, AnswerStatus: answer, LastAttemptAt: api.At(at.Add(time.Minute)),
			Event: api.OrderEvent{OrderID: "ord_way", Status: event, UpdatedAt: api.At(at)}}
	}
	pending := one("whd_3", api.DeliveryPending, api.OrderOnHold, 1, 2, 503)
	pending.NextAttemptAt, pending.Failure = api.At(now.Add(20*time.Minute)), "503 Service Unavailable"
	good := one("whd_2", api.DeliveryDelivered, api.OrderInProgress, 4, 1, 204)
	good.DeliveredAt = good.LastAttemptAt
	failed := one("whd_1", api.DeliveryFailed, api.OrderPending, 30, 10, 500)
	failed.Failure = "500 Internal Server Error"
	return []api.Delivery{pending, good, failed}
}

// Shift is the shift log: a hand-over of this morning that anna has read, and a note. The user looked last at six.
func (p *Plant) Shift(now time.Time) api.ShiftResponse {
	at := func(hour, minute int) api.Time {
		return api.At(p.Midnight(now).Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute))
	}
	entries := []api.ShiftEntry{
		{EntryID: "shf_2", SiteID: p.SiteID, Kind: api.ShiftNote, Text: "The gate code has changed; ask the guard", SignedBy: "thandi", At: at(9, 5)},
		{EntryID: "shf_1", SiteID: p.SiteID, Kind: api.ShiftHandOver, SignedBy: "thandi", At: at(6, 10), Since: at(-2, 0), ReadBy: []api.ShiftReader{{Name: "anna", At: at(6, 30)}},
			Text: "INV-05: string outage since 11 November, fuses are in stock; order of INV-06 on hold, thandi"},
	}
	return api.ShiftResponse{Success: true, SeenAt: at(6, 0), Entries: entries, Count: len(entries)}
}
