package httpapi

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/limit"
)

// Alerts tell of faults at terminal devices.
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
	// Alerts lists what wants doing first, with counts of all; an empty state
	// is all but cleared ones.
	Alerts(ctx context.Context, scope api.Scope, q api.ListQuery, state string) ([]api.Alert, api.AlertCounts, string, error)
	// AlertHealth are the figures of the alarm system over windows until now.
	AlertHealth(ctx context.Context, scope api.Scope, q api.ListQuery, windows ...time.Duration) ([]api.AlertHealth, error)
	// FindAlert answers api.ErrAlertNotFound for an unknown id.
	FindAlert(ctx context.Context, scope api.Scope, siteID, alertID string) (api.Alert, error)
	// MoveAlert does what the action says, and tells it in words; 409 for what
	// the state does not allow.
	MoveAlert(ctx context.Context, scope api.Scope, r api.AlertsRequest) (api.Alert, string, error)
}

// device refuses one that is none of the site's.
func (s *server) device(ctx context.Context, scope api.Scope, siteID, device string) error {
	all, err := s.Alerts.TerminalDevices(ctx, scope, siteID)
	if err == nil && !slices.Contains(all, device) {
		err = api.ErrTerminalNotFound
	}
	return err
}

func (s *server) alertPeriod(in *input) (*call, error) {
	site, err := in.required("site_id")
	if err != nil {
		return nil, err
	}
	device := in.parameter("terminal_device_id")
	return &call{target: target{customerID: in.parameter("customer_id"), siteID: &site, brief: true}, run: func(ctx context.Context, g granted) (any, error) {
		if device != "" {
			if err := s.device(ctx, g.scope, site, device); err != nil {
				return nil, err
			}
		}
		p := api.AlertPeriod{SiteID: site, TerminalDeviceID: device}
		first, last, ok, err := s.Alerts.AlertPeriod(ctx, site, device)
		if err == nil && ok {
			from, to := api.At(first), api.At(last)
			p.FirstRecord, p.LastRecord = &from, &to
		}
		return p, err
	}}, nil
}

// readAlertsQuery reads the parameters in the specification's order.
func readAlertsQuery(in *input, ofDevice bool) (q api.AlertsQuery, after alertCursor, err error) {
	if ofDevice {
		if q.TerminalDeviceID, err = in.required("terminal_device_id"); err != nil {
			return q, after, err
		}
	}
	if q.SiteID, err = in.required("site_id"); err != nil {
		return q, after, err
	}
	start, end, err := in.span()
	if err != nil {
		return q, after, err
	}
	q.Start, q.End = api.At(start), api.At(end)
	if q.Limit, err = in.integer("limit", 0, 1, math.MaxInt32); err != nil {
		return q, after, err
	}
	if q.Cursor = in.parameter("cursor"); q.Cursor != "" && ofDevice {
		after, err = readAlertCursor(q.Cursor, q.TerminalDeviceID)
	}
	return q, after, err
}

func (s *server) terminalAlerts(in *input) (*call, error) {
	q, after, err := readAlertsQuery(in, true)
	if err != nil {
		return nil, err
	}
	return &call{target: target{customerID: in.parameter("customer_id"), siteID: &q.SiteID, brief: true}, run: func(ctx context.Context, g granted) (any, error) {
		if err := s.device(ctx, g.scope, q.SiteID, q.TerminalDeviceID); err != nil {
			return nil, err
		}
		return streamed(func(b *body) error {
			b.buf = append(b.buf, `{"records":`...)
			if err := s.writeAlerts(ctx, b, q, after); err != nil {
				return err
			}
			b.buf = append(b.buf, "}\n"...)
			return nil
		}), nil
	}}, nil
}

func (s *server) siteAlerts(in *input) (*call, error) {
	q, _, err := readAlertsQuery(in, false)
	if err != nil {
		return nil, err
	}
	return &call{target: target{customerID: in.parameter("customer_id"), siteID: &q.SiteID, brief: true}, run: func(ctx context.Context, g granted) (any, error) {
		devices, err := s.Alerts.TerminalDevices(ctx, g.scope, q.SiteID)
		if err != nil {
			return nil, err
		}
		return streamed(func(b *body) error {
			b.buf = append(b.buf, `{"records":{`...)
			for i, d := range devices {
				if i > 0 {
					b.buf = append(b.buf, ',')
				}
				if b.buf, err = appendJSON(b.buf, d); err != nil {
					return err
				}
				b.buf = append(b.buf, ':')
				q.TerminalDeviceID = d
				if err := s.writeAlerts(ctx, b, q, alertCursor{}); err != nil {
					return err
				}
			}
			b.buf = append(b.buf, "}}\n"...)
			return nil
		}), nil
	}}, nil
}

// writeAlerts writes the array of a device's alerts behind the cursor, which it
// reads part by part. The last alert of an array that was limited has the cursor of
// the next one.
func (s *server) writeAlerts(ctx context.Context, b *body, q api.AlertsQuery, after alertCursor) error {
	b.buf = append(b.buf, '[')
	most := q.Limit
	for n, more := 0, true; more; {
		if most > 0 {
			q.Limit = most - n
		}
		list, further, err := s.Alerts.AlertRecords(ctx, q, after.Timestamp, after.AlertID)
		if err != nil {
			return err
		}
		if share := limit.ShareOf(ctx); share != nil {
			// An answer that is on its way is not broken off.
			if err := share.Cover(limit.Size(list)); err != nil && !b.flowing {
				return err
			}
		}
		for _, a := range list {
			after = alertCursor{a.TerminalDeviceID, a.Timestamp.String(), a.AlertID}
			if n > 0 {
				b.buf = append(b.buf, ',')
			}
			if n++; n == most {
				a.Cursor = after.String()
			}
			if b.buf, err = appendJSON(b.buf, a); err != nil {
				return err
			}
			if err := b.pass(); err != nil {
				return err
			}
		}
		more = further && n != most
	}
	b.buf = append(b.buf, ']')
	return nil
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

func readAlertCursor(text, device string) (c alertCursor, err error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(b, &c)
	}
	if err == nil {
		_, err = api.ParseTime(c.Timestamp, time.UTC)
	}
	switch {
	case err != nil:
		return c, api.InvalidParameter("cursor", "not a cursor of this service")
	case c.TerminalDeviceID != device:
		return c, api.InvalidParameter("cursor", "of another terminal device")
	}
	return c, nil
}

func (s *server) alerts(in *input) (*call, error) {
	var b api.AlertsRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	c := &call{action: b.Action, target: target{customerID: b.CustomerID, siteID: &b.SiteID}, fingerprint: in.digest()}
	if b.Action == "" || b.Action == api.ActionList {
		page, err := pageOf(b.Page)
		if err != nil {
			return nil, err
		}
		if b.State != "" && !slices.Contains(api.AlertStates(), b.State) {
			return nil, api.InvalidField("state", fmt.Sprintf("it is one of %q", api.AlertStates()))
		}
		c.run = func(ctx context.Context, g granted) (any, error) {
			list, counts, next, err := s.Alerts.Alerts(ctx, g.scope, api.ListQuery{CustomerID: b.CustomerID, SiteID: b.SiteID, AssetID: b.AssetID, Page: page}, b.State)
			return api.AlertsResponse{Success: true, Alerts: there(list), Counts: &counts, Count: len(list), NextCursor: next}, err
		}
		return c, nil
	}
	if b.Action == api.ActionHealth {
		c.run = func(ctx context.Context, g granted) (any, error) {
			health, err := s.Alerts.AlertHealth(ctx, g.scope, api.ListQuery{CustomerID: b.CustomerID, SiteID: b.SiteID, AssetID: b.AssetID}, 24*time.Hour, 30*24*time.Hour)
			return api.AlertsResponse{Success: true, Health: health, Count: len(health)}, err
		}
		return c, nil
	}
	if err := checkAlertMove(b); err != nil {
		return nil, err
	}
	c.run = func(ctx context.Context, g granted) (any, error) {
		if b.Action == api.ActionGet {
			a, err := s.Alerts.FindAlert(ctx, g.scope, b.SiteID, b.AlertID)
			return api.AlertsResponse{Success: true, Alert: &a, Count: 1}, err
		}
		a, done, err := s.Alerts.MoveAlert(ctx, g.scope, b)
		return api.AlertsResponse{Success: true, Message: done, Alert: &a, Count: 1}, err
	}
	return c, nil
}

// checkAlertMove checks what an action other than list needs.
func checkAlertMove(b api.AlertsRequest) error {
	actions := []string{api.ActionGet, api.ActionAcknowledge, api.ActionShelve, api.ActionUnshelve, api.ActionSuppress, api.ActionUnsuppress}
	least, most := int(api.MinShelving/time.Minute), int(api.MaxShelving/time.Minute)
	hides := b.Action == api.ActionShelve || b.Action == api.ActionSuppress
	switch {
	case !slices.Contains(actions, b.Action):
		return api.ErrInvalidAction
	case b.AlertID == "":
		return api.MissingField("alert_id")
	case hides && blank(b.Reason):
		return api.MissingField("reason")
	case b.Action == api.ActionShelve && b.Minutes == 0:
		return api.MissingField("minutes")
	case b.Action == api.ActionShelve && (b.Minutes < least || b.Minutes > most):
		return api.InvalidField("minutes", fmt.Sprintf("a whole number from %d to %d", least, most))
	}
	return nil
}
