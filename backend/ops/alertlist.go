package ops

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// standing orders states by what wants doing.
var standing = []string{api.AlertUnacknowledged, api.AlertReturned, api.AlertAcknowledged, api.AlertSuppressed, api.AlertShelved, api.AlertCleared}

// alertsOf are the alerts within the scope that the ids of q select, of an
// index; "" is all of them.
func (s *Service) alertsOf(ctx context.Context, scope api.Scope, q api.ListQuery, index string) ([]Alert, error) {
	sq := store.Query{Index: index}
	if q.SiteID != "" {
		sq.Prefix = store.Key(q.SiteID)
	}
	var all []Alert
	err := s.records.View(ctx, func(tx store.Tx) error {
		var err error
		all, _, err = alerts.List(tx, sq)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list alerts: %w", err)
	}
	return s.wanted(all, scope, q), nil
}

// Alerts lists those within the scope whose state is the given one, or all but
// cleared ones: first what wants doing, the worst, the newest. The counts are
// of all that the ids of q select.
func (s *Service) Alerts(ctx context.Context, scope api.Scope, q api.ListQuery, state string) ([]api.Alert, api.AlertCounts, string, error) {
	counts := api.AlertCounts{Unacknowledged: map[string]int{}}
	index := "open"
	if state == api.AlertCleared {
		index = ""
	}
	all, err := s.alertsOf(ctx, scope, q, index)
	if err != nil {
		return nil, counts, "", err
	}
	for i := range all {
		switch all[i].State {
		case api.AlertUnacknowledged, api.AlertReturned:
			counts.Unacknowledged[all[i].AlertSeverity]++
		case api.AlertAcknowledged:
			counts.Acknowledged++
		case api.AlertShelved:
			counts.Shelved++
		case api.AlertSuppressed:
			counts.Suppressed++
		}
	}
	all = slices.DeleteFunc(all, func(a Alert) bool { return state != "" && a.State != state })
	slices.SortStableFunc(all, func(a, b Alert) int {
		return cmp.Or(cmp.Compare(slices.Index(standing, a.State), slices.Index(standing, b.State)),
			cmp.Compare(urgency(a.AlertSeverity), urgency(b.AlertSeverity)), b.Timestamp.Compare(a.Timestamp.Time))
	})
	part, next, err := page(all, q)
	out := make([]api.Alert, len(part))
	for i, a := range part {
		out[i] = a.Alert
	}
	return out, counts, next, err
}

// wanted are those within the scope that the ids of q select, as they are now.
func (s *Service) wanted(all []Alert, scope api.Scope, q api.ListQuery) []Alert {
	all = allowed(all, scope, api.ListQuery{CustomerID: q.CustomerID, SiteID: q.SiteID}, alertOwner)
	all = slices.DeleteFunc(all, func(a Alert) bool {
		return q.AssetID != "" && a.AssetID != q.AssetID && !slices.Contains(a.Metadata.AssetIDs, q.AssetID)
	})
	for i := range all {
		all[i].settled(s.now())
	}
	return all
}

// TerminalDevices are the devices of a site, sorted: the site's own, those of
// units, and those that alerts were raised at.
func (s *Service) TerminalDevices(ctx context.Context, scope api.Scope, siteID string) ([]string, error) {
	var devices []string
	err := s.records.View(ctx, func(tx store.Tx) error {
		site, err := s.site(tx, scope, siteID)
		if err != nil {
			return err
		}
		devices = []string{terminalOf(site)}
		units, err := withoutComponents(tx, store.Query{Prefix: store.Key(siteID)})
		if err != nil {
			return err
		}
		for _, u := range units {
			if u.TerminalDeviceID != "" {
				devices = append(devices, u.TerminalDeviceID)
			}
		}
		raised, _, err := alerts.List(tx, store.Query{Prefix: store.Key(siteID)})
		for _, a := range raised {
			devices = append(devices, a.TerminalDeviceID)
		}
		return err
	})
	slices.Sort(devices)
	return slices.Compact(devices), err
}

// AlertRecords are the alerts of a device with from <= timestamp < to, as they
// are now, ascending.
func (s *Service) AlertRecords(ctx context.Context, siteID, device string, from, to time.Time) ([]api.Alert, error) {
	out := []api.Alert{}
	err := s.records.View(ctx, func(tx store.Tx) error {
		out = out[:0]
		list, _, err := alerts.List(tx, store.Query{Prefix: store.Key(siteID, device)})
		for _, a := range list {
			if a.Timestamp.Before(from) || !a.Timestamp.Before(to) {
				continue
			}
			a.settled(s.now())
			out = append(out, a.Alert)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the alerts of terminal device %s: %w", device, err)
	}
	return out, nil
}

// AlertPeriod is the span of a site's alerts, or of one of its devices'; not
// ok when there is none.
func (s *Service) AlertPeriod(ctx context.Context, siteID, device string) (first, last time.Time, ok bool, err error) {
	prefix := store.Key(siteID)
	if device != "" {
		prefix = store.Key(siteID, device)
	}
	err = s.records.View(ctx, func(tx store.Tx) error {
		ok = false
		list, _, err := alerts.List(tx, store.Query{Prefix: prefix})
		for _, a := range list {
			if !ok || a.Timestamp.Before(first) {
				first = a.Timestamp.Time
			}
			if !ok || a.Timestamp.After(last) {
				last = a.Timestamp.Time
			}
			ok = true
		}
		return err
	})
	return first, last, ok, err
}
