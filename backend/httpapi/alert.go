package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/limit"
)

// Alerts report faults at terminal devices.
type Alerts interface {
	// TerminalDevices are those of a site, sorted.
	TerminalDevices(ctx context.Context, scope api.Scope, siteID string) ([]string, error)
	// AlertRecords returns the next alerts of a device with Start <= timestamp < End,
	// ascending, behind the time and id of an alert if a time is given. more reports
	// that there may be further ones: it limits their bytes, and their number to
	// q.Limit if that is above 0.
	AlertRecords(ctx context.Context, q api.AlertsQuery, afterTime, afterID string) (list []api.Alert, more bool, err error)
	// AlertPeriod is their span; of all of the site's for an empty device.
	AlertPeriod(ctx context.Context, siteID, device string) (first, last time.Time, ok bool, err error)
	// Alerts lists the most urgent first, with counts of all; an empty state
	// is all except cleared ones.
	Alerts(ctx context.Context, scope api.Scope, q api.ListQuery, state string) ([]api.Alert, api.AlertCounts, string, error)
	// AlertHealth are the figures of the alarm system over windows until now.
	AlertHealth(ctx context.Context, scope api.Scope, q api.ListQuery, windows ...time.Duration) ([]api.AlertHealth, error)
	// FindAlert returns api.ErrAlertNotFound for an unknown id.
	FindAlert(ctx context.Context, scope api.Scope, siteID, alertID string) (api.Alert, error)
	// MoveAlert performs the action and returns a description of it; 409 for what
	// the state does not allow.
	MoveAlert(ctx context.Context, scope api.Scope, r api.AlertsRequest) (api.Alert, string, error)
}

func (s *server) alertHandlers() {
	handle(s, api.GetAlertPeriod, s.alertPeriod)
	handleStream(s, api.ListTerminalAlerts, s.listTerminalAlerts, func(q *api.AlertsQuery) error { _, err := alertCursorOf(q); return err })
	handleStream(s, api.ListSiteAlerts, s.listSiteAlerts, func(q *api.AlertsQuery) error { _, err := readAlertCursor(q); return err })
	handle(s, api.ListAlerts, func(ctx context.Context, c *caller, r *api.AlertsRequest) (api.AlertsResponse, error) {
		list, counts, next, err := s.Alerts.Alerts(ctx, c.scope, api.ListQuery{CustomerID: r.CustomerID, SiteID: r.SiteID, AssetID: r.AssetID, Filter: api.Filter{Severity: r.Severity, Type: r.Type}, Page: r.Page}, r.State)
		return api.AlertsResponse{Success: true, Alerts: nonNil(list), Counts: &counts, Count: len(list), NextCursor: next}, err
	})
	handle(s, api.GetAlertHealth, func(ctx context.Context, c *caller, r *api.AlertsRequest) (api.AlertsResponse, error) {
		health, err := s.Alerts.AlertHealth(ctx, c.scope, api.ListQuery{CustomerID: r.CustomerID, SiteID: r.SiteID, AssetID: r.AssetID}, 24*time.Hour, 30*24*time.Hour)
		return api.AlertsResponse{Success: true, Health: health, Count: len(health)}, err
	})
	handle(s, api.GetAlert, func(ctx context.Context, c *caller, r *api.AlertsRequest) (api.AlertsResponse, error) {
		a, err := s.Alerts.FindAlert(ctx, c.scope, r.SiteID, r.AlertID)
		return api.AlertsResponse{Success: true, Alert: &a, Count: 1}, err
	})
	for _, e := range []api.Endpoint[api.AlertsRequest, api.AlertsResponse]{api.AcknowledgeAlert, api.ShelveAlert, api.UnshelveAlert, api.SuppressAlert, api.UnsuppressAlert} {
		handle(s, e, func(ctx context.Context, c *caller, r *api.AlertsRequest) (api.AlertsResponse, error) {
			a, done, err := s.Alerts.MoveAlert(ctx, c.scope, *r)
			return api.AlertsResponse{Success: true, Message: done, Alert: &a, Count: 1}, err
		})
	}
}

// checkDevice returns an error for a terminal device that is none of the site's.
func (s *server) checkDevice(ctx context.Context, scope api.Scope, siteID, device string) error {
	all, err := s.Alerts.TerminalDevices(ctx, scope, siteID)
	if err == nil && !slices.Contains(all, device) {
		err = api.ErrTerminalNotFound
	}
	return err
}

func (s *server) alertPeriod(ctx context.Context, c *caller, q *api.AlertPeriodQuery) (api.AlertPeriod, error) {
	p := api.AlertPeriod{SiteID: q.SiteID, TerminalDeviceID: q.TerminalDeviceID}
	if q.TerminalDeviceID != "" {
		if err := s.checkDevice(ctx, c.scope, q.SiteID, q.TerminalDeviceID); err != nil {
			return p, err
		}
	}
	first, last, ok, err := s.Alerts.AlertPeriod(ctx, q.SiteID, q.TerminalDeviceID)
	if err == nil && ok {
		from, to := api.At(first), api.At(last)
		p.FirstRecord, p.LastRecord = &from, &to
	}
	return p, err
}

func (s *server) listTerminalAlerts(ctx context.Context, c *caller, q *api.AlertsQuery) (any, error) {
	after, err := alertCursorOf(q)
	if err == nil {
		err = s.checkDevice(ctx, c.scope, q.SiteID, q.TerminalDeviceID)
	}
	if err != nil {
		return nil, err
	}
	return streamedArray("alerts", func(b *body) (int, error) { return s.writeAlerts(ctx, b, *q, after, nil) }), nil
}

func (s *server) listSiteAlerts(ctx context.Context, c *caller, q *api.AlertsQuery) (any, error) {
	devices, err := s.Alerts.TerminalDevices(ctx, c.scope, q.SiteID)
	if err != nil {
		return nil, err
	}
	slices.Sort(devices)
	from, err := readAlertCursor(q)
	if err != nil {
		return nil, err
	}
	return streamedArrays("alerts", devices, func(b *body, device string, prefix []byte) (int, error) {
		if device < from.TerminalDeviceID || q.Limit == 0 {
			return 0, nil
		}
		after := alertCursor{}
		if device == from.TerminalDeviceID {
			after = from
		}
		q.TerminalDeviceID = device
		n, err := s.writeAlerts(ctx, b, *q, after, prefix)
		q.Limit -= n
		return n, err
	}), nil
}

// writeAlerts writes the array of a device's alerts after the cursor, which it
// reads part by part, behind prefix, and returns their number; it writes nothing if
// there are none. The last alert of an array that was limited has the cursor of the
// next one.
func (s *server) writeAlerts(ctx context.Context, b *body, q api.AlertsQuery, after alertCursor, prefix []byte) (n int, err error) {
	most := q.Limit
	for more := true; more; {
		if most > 0 {
			q.Limit = most - n
		}
		list, further, err := s.Alerts.AlertRecords(ctx, q, after.Timestamp, after.AlertID)
		if err != nil {
			return n, err
		}
		if share := limit.ShareOf(ctx); share != nil {
			// A response that is being sent is not interrupted.
			if err := share.Cover(limit.Size(list)); err != nil && !b.flowing {
				return n, err
			}
		}
		for _, a := range list {
			after = alertCursor{a.TerminalDeviceID, a.Timestamp.String(), a.AlertID}
			if n == 0 {
				b.buf = append(append(b.buf, prefix...), '[')
			} else {
				b.buf = append(b.buf, ',')
			}
			if n++; n == most {
				a.Cursor = after.String()
			}
			if b.buf, err = appendJSON(b.buf, a); err != nil {
				return n, err
			}
			if err := b.pass(); err != nil {
				return n, err
			}
		}
		more = further && n != most
	}
	if n > 0 {
		b.buf = append(b.buf, ']')
	}
	return n, nil
}

// appendJSON appends a value as an answer has it, without a line end.
func appendJSON(b []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	if err := encode(buf, v); err != nil {
		return b, err
	}
	return buf.Bytes()[:buf.Len()-1], nil
}

// alertCursor is a cursor of alerts in plain.
type alertCursor struct {
	TerminalDeviceID string `json:"terminal_device_id"`
	Timestamp        string `json:"timestamp"`
	AlertID          string `json:"alert_id"`
}

// String is the cursor as clients hand it back.
func (c alertCursor) String() string {
	b, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("httpapi: a cursor of three strings: %v", err))
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

// alertCursorOf returns the cursor of a query of a terminal device; empty if the
// query has none.
func alertCursorOf(q *api.AlertsQuery) (c alertCursor, err error) {
	c, err = readAlertCursor(q)
	if err == nil && q.Cursor != "" && c.TerminalDeviceID != q.TerminalDeviceID {
		err = api.InvalidParameter("cursor", "of another terminal device")
	}
	return c, err
}

// readAlertCursor returns the cursor of a query; empty if the query has none.
func readAlertCursor(q *api.AlertsQuery) (c alertCursor, err error) {
	if q.Cursor == "" {
		return c, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(q.Cursor)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err == nil {
		_, err = api.ParseTime(c.Timestamp, time.UTC)
	}
	if err != nil || c.TerminalDeviceID == "" {
		return alertCursor{}, api.InvalidParameter("cursor", "not a cursor of this service")
	}
	return c, nil
}
