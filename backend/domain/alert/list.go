package alert

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/store"
)

// stateOrder is the order of states in a list: those that require an action first.
var stateOrder = []string{api.AlertUnacknowledged, api.AlertReturned, api.AlertAcknowledged, api.AlertSuppressed, api.AlertShelved, api.AlertCleared}

// alertQuery selects the alerts of the site of q, or all, in the order of an index.
func alertQuery(q api.ListQuery, index string) store.Query {
	sq := store.Query{Index: index}
	if q.SiteID != "" {
		sq.Prefix = store.Key(q.SiteID)
	}
	return sq
}

// selects reports whether an alert is within the scope and has the ids of q.
func selects(scope api.Scope, q api.ListQuery, a *Alert) bool {
	return record.Matches(scope, api.ListQuery{CustomerID: q.CustomerID, SiteID: q.SiteID})(alertOwner(*a)) &&
		(q.AssetID == "" || a.AssetID == q.AssetID || slices.Contains(a.Metadata.AssetIDs, q.AssetID))
}

// Alerts lists the alerts within the scope that have the given state, or any state
// except cleared: first by state, then the worst, then the newest. The counts are
// of all alerts that the ids of q select.
func (s *Service) Alerts(ctx context.Context, scope api.Scope, q api.ListQuery, state string) ([]api.Alert, api.AlertCounts, string, error) {
	var counts api.AlertCounts
	index := "open"
	if state == api.AlertCleared {
		index = ""
	}
	part, next, err := record.SortedList[Alert]{
		Table: alerts, Query: alertQuery(q, index),
		Begin:  func() { counts = api.AlertCounts{Unacknowledged: map[string]int{}} },
		Update: func(a *Alert) { a.ExpireTimers(s.now()) },
		Keep: func(a *Alert) bool {
			if !selects(scope, q, a) {
				return false
			}
			countAlert(&counts, a)
			return (state == "" || a.State == state) && q.SinceUnix(a.UpdatedAtMS, a.Timestamp) && record.Is(q.Filter.Severity, a.AlertSeverity) && record.Is(q.Filter.Type, a.AlertType)
		},
		Order: func(a *Alert) record.SortKey {
			return record.SortKey{}.Number(int64(slices.Index(stateOrder, a.State))).Number(int64(finding.UrgencyRank(a.AlertSeverity))).NewestFirst(a.Timestamp.Time)
		},
	}.Page(ctx, s.records, q.Page)
	if err != nil {
		return nil, counts, "", record.Wrap(err, "list alerts")
	}
	out := make([]api.Alert, len(part))
	for i, a := range part {
		out[i] = a.Alert
	}
	return out, counts, next, nil
}

func countAlert(counts *api.AlertCounts, a *Alert) {
	switch a.State {
	case api.AlertUnacknowledged, api.AlertReturned:
		counts.Unacknowledged[a.AlertSeverity]++
	case api.AlertAcknowledged:
		counts.Acknowledged++
	case api.AlertShelved:
		counts.Shelved++
	case api.AlertSuppressed:
		counts.Suppressed++
	}
}

// TerminalDevices are the devices of a site, sorted: the site's own, those of
// units, and those that alerts were raised at.
func (s *Service) TerminalDevices(ctx context.Context, scope api.Scope, siteID string) ([]string, error) {
	var devices []string
	err := s.records.View(ctx, func(tx store.Tx) error {
		of, err := s.sites.SiteIn(tx, scope, siteID)
		if err != nil {
			return err
		}
		devices = []string{site.TerminalOf(of)}
		units, err := site.AssetsWithoutComponents(tx, store.Query{Prefix: store.Key(siteID)})
		if err != nil {
			return err
		}
		for _, u := range units {
			if u.TerminalDeviceID != "" {
				devices = append(devices, u.TerminalDeviceID)
			}
		}
		raised, err := alertDevices(tx, siteID)
		devices = append(devices, raised...)
		return err
	})
	slices.Sort(devices)
	return slices.Compact(devices), err
}

// alertDevices returns the terminal devices at which a site has alerts. It reads one
// key of each.
func alertDevices(tx store.Tx, siteID string) (devices []string, err error) {
	prefix := store.Key(siteID)
	for from := prefix; ; {
		device, found := "", false
		for e, err := range tx.Scan(alerts.Bucket, from, store.After(prefix), false) {
			if err != nil {
				return nil, fmt.Errorf("list the terminal devices of site %s: %w", siteID, err)
			}
			if device, _, found = alertPlace(e.Key); !found {
				return nil, fmt.Errorf("list the terminal devices of site %s: %q is not the key of an alert", siteID, e.Key)
			}
			break
		}
		if !found {
			return devices, nil
		}
		devices = append(devices, device)
		from = store.After(store.Key(siteID, device))
	}
}

// alertPlace returns the device and the time of an alert from its key.
func alertPlace(key []byte) (device, at string, ok bool) {
	parts := store.Parts(key)
	if len(parts) != 4 {
		return "", "", false
	}
	return parts[1], parts[2], true
}

// maxAlertBytes bounds the alerts that are read at a time, as they are stored.
const maxAlertBytes = 256 << 10

// AlertRecords returns the next alerts of a device with Start <= timestamp <= End, as
// they are now, ascending: those after the time and id of an alert, if a time is
// given. more reports that there may be further ones: an answer has at most q.Limit
// alerts, if that is above 0, and is limited by their bytes.
func (s *Service) AlertRecords(ctx context.Context, q api.AlertsQuery, afterTime, afterID string) (list []api.Alert, more bool, err error) {
	from := store.Key(q.SiteID, q.TerminalDeviceID, wholeSecond(q.Start.Time))
	if after := append(store.Key(q.SiteID, q.TerminalDeviceID, afterTime, afterID), 0); afterTime != "" && bytes.Compare(after, from) > 0 {
		from = after
	}
	to := store.Key(q.SiteID, q.TerminalDeviceID, api.At(q.End.Add(time.Second)).String())
	if q.End.Year() >= 9999 { // the second after it may have no key
		to = store.After(store.Key(q.SiteID, q.TerminalDeviceID))
	}
	err = s.records.View(ctx, func(tx store.Tx) error {
		list, more = nil, false
		size := 0
		for e, err := range tx.Scan(alerts.Bucket, from, to, false) {
			if err != nil {
				return err
			}
			if size += len(e.Value); len(list) > 0 && (size > maxAlertBytes || len(list) == q.Limit) {
				more = true
				return nil
			}
			a, err := alerts.Decode(e.Value)
			if err != nil {
				return err
			}
			a.ExpireTimers(s.now())
			list = append(list, a.Alert)
		}
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("list the alerts of terminal device %s: %w", q.TerminalDeviceID, err)
	}
	return list, more, nil
}

// wholeSecond is the first whole second that is not before a time, as it is in the
// keys of alerts.
func wholeSecond(t time.Time) string {
	return api.At(t.Add(time.Second - time.Nanosecond).Truncate(time.Second)).String()
}

// AlertPeriod returns the times of the first and the last alert of a site, or of one
// of its devices; ok is false without alerts. It reads two keys of each device.
func (s *Service) AlertPeriod(ctx context.Context, siteID, device string) (first, last time.Time, ok bool, err error) {
	err = s.records.View(ctx, func(tx store.Tx) error {
		first, last, ok = time.Time{}, time.Time{}, false
		devices := []string{device}
		if device == "" {
			if devices, err = alertDevices(tx, siteID); err != nil {
				return err
			}
		}
		for _, d := range devices {
			prefix := store.Key(siteID, d)
			for _, reverse := range []bool{false, true} {
				for e, err := range tx.Scan(alerts.Bucket, prefix, store.After(prefix), reverse) {
					if err != nil {
						return err
					}
					_, text, _ := alertPlace(e.Key)
					at, err := api.ParseTime(text, time.UTC)
					if err != nil {
						return fmt.Errorf("%q is not the key of an alert", e.Key)
					}
					if !ok || at.Before(first) {
						first = at.Time
					}
					if !ok || at.After(last) {
						last = at.Time
					}
					ok = true
					break
				}
			}
		}
		return nil
	})
	return first, last, ok, record.Wrap(err, "read the period of the alerts of site "+siteID)
}
