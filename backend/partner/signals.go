package partner

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/detection"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/engine/detect"
)

// signalDays is how long after its end a fault is still a signal.
const signalDays = 30

// signalTypes of families; the others are a critical or a warning state by
// their severity.
var signalTypes = map[detect.Family]string{
	detect.InverterOutage:   api.SignalZero,
	detect.SiteOutage:       api.SignalZero,
	detect.ThermalDerating:  api.SignalTemperature,
	detect.StringOutage:     api.SignalCapacity,
	detect.PartialShading:   api.SignalCapacity,
	detect.Soiling:          api.SignalCapacity,
	detect.SnowCover:        api.SignalCapacity,
	detect.Curtailment:      api.SignalCapacity,
	detect.CapacityChange:   api.SignalCapacity,
	detect.TrackerFault:     api.SignalCapacity,
	detect.Degradation:      api.SignalCapacity,
	detect.Underperformance: api.SignalCapacity,
}

// signalType is what kind of signal a finding is.
func signalType(f finding.Finding) string {
	if t, ok := signalTypes[detect.Family(f.FaultFamily)]; ok {
		return t
	}
	if urgency(f.Severity()) <= urgency(api.PartnerHigh) {
		return api.SignalCritical
	}
	return api.SignalWarning
}

// urgency orders severities: 0 is the worst.
func urgency(severity string) int { return slices.Index(api.PartnerSeverities(), severity) }

// signals lists the faults with a cost whose alerts are not suppressed. former
// is the previous document: signals that are new relative to it are stamped
// after its cursor, so that a caller that pages by cursor gets each signal
// once.
func (s *Service) signals(site api.Site, units []api.Asset, faults []detection.Fault, end time.Time, former *api.MaintenanceSignals) api.MaintenanceSignals {
	out := api.MaintenanceSignals{SiteID: site.SiteID, GeneratedAt: api.At(s.Now()), Signals: []api.Signal{}}
	cursor := api.At(end.AddDate(0, 0, -signalDays))
	known := map[string]api.Signal{}
	if former != nil {
		if t, err := api.ParseTime(former.Cursor, time.UTC); err == nil {
			cursor = t
		}
		for _, one := range former.Signals {
			known[one.ID] = one
		}
	}
	newest := cursor
	for _, f := range faults {
		if f.Informational() || f.Alert != nil && f.Alert.State == api.AlertSuppressed {
			continue
		}
		one := signalOf(f, units)
		was, there := known[one.ID]
		switch {
		case there && urgency(one.Severity) >= urgency(was.Severity) && (was.Active || !one.Active):
			one.Timestamp = was.Timestamp
		case there:
			one.Timestamp = after(out.GeneratedAt, cursor)
		case former != nil:
			one.Timestamp = after(one.Timestamp, cursor)
		}
		if one.Timestamp.After(newest.Time) {
			newest = one.Timestamp
		}
		out.Signals = append(out.Signals, one)
	}
	out.Cursor = newest.String()
	slices.SortStableFunc(out.Signals, func(a, b api.Signal) int {
		return cmp.Or(b.Timestamp.Compare(a.Timestamp.Time), cmp.Compare(urgency(a.Severity), urgency(b.Severity)), cmp.Compare(a.ID, b.ID))
	})
	return out.Counted()
}

// after is t, or the second after the cursor where t is not behind it.
func after(t, cursor api.Time) api.Time {
	if t.After(cursor.Time) {
		return t
	}
	return api.At(cursor.Add(time.Second))
}

// signalOf writes a fault as partners read it.
func signalOf(f detection.Fault, units []api.Asset) api.Signal {
	out := api.Signal{ID: f.SummaryID, Timestamp: f.StartedAt, AssetID: f.AssetID, Type: signalType(f.Finding), Severity: f.Severity(),
		Description: cmp.Or(f.Summary, f.FaultFamily), FaultFamily: f.FaultFamily, AssetIDs: f.AssetIDs, StartedAt: f.StartedAt,
		EndedAt: f.EndedAt, Active: f.Active, LostKWh: rounded(f.LostKWh)}
	if f.Alert != nil {
		out.AlertID, out.AlertState = f.Alert.AlertID, f.Alert.State
	}
	rated := 0.0
	for _, u := range units {
		if slices.Contains(f.Units(), u.AssetID) {
			rated += u.CapacityKW
		}
	}
	if rated > 0 {
		rated = rounded(rated)
		out.RatedKW = &rated
	}
	if m := f.Metrics; m != nil {
		out.ExpectedKW, out.ActualKW, out.IrradianceWM2 = m.BaselinePowerKW, m.LatestPowerKW, m.LatestIrradianceWM2
		if m.LatestInverterState != nil {
			out.StateCode = strconv.Itoa(*m.LatestInverterState)
		}
		if m.LatestPowerKW != nil && rated > 0 {
			share := rounded(100 * *m.LatestPowerKW / rated)
			out.CapacityPct = &share
		}
	}
	return out
}

// Signals returns the stored signals that q selects, with their counts;
// [api.ErrNotFound] if none were made. The caller checks access to the site.
func (s *Service) Signals(ctx context.Context, q api.SignalsQuery) (api.MaintenanceSignals, error) {
	all, err := read[api.MaintenanceSignals](ctx, s, q.SiteID, api.SnapshotSignals)
	if err != nil {
		return api.MaintenanceSignals{}, err
	}
	all.Signals = slices.DeleteFunc(all.Signals, func(one api.Signal) bool {
		return q.Severity != "" && one.Severity != q.Severity || !q.Since.IsZero() && !one.Timestamp.After(q.Since.Time)
	})
	return all.Counted(), nil
}
