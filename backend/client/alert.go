package client

import (
	"context"
	"net/url"
	"strconv"

	"app.sunloop/backend/api"
)

// AlertPeriod is the span of a site's alerts, or of one of its terminal
// devices'.
func (c *Client) AlertPeriod(ctx context.Context, site api.SiteRef, terminalDeviceID string) (*api.AlertPeriod, error) {
	return get[api.AlertPeriod](ctx, c, api.PathAlertPeriod, append(siteValues(site), "terminal_device_id", terminalDeviceID).query())
}

// TerminalAlerts reads the alerts of q.TerminalDeviceID, ascending in time.
// The last one of a part that q.Limit cut carries the cursor to go on from.
func (c *Client) TerminalAlerts(ctx context.Context, q api.AlertsQuery) (*api.AlertRecordsResponse, error) {
	return get[api.AlertRecordsResponse](ctx, c, api.PathTerminalAlerts, alertValues(q))
}

// SiteAlerts reads the alerts of all terminal devices of a site; q.Limit is of
// each.
func (c *Client) SiteAlerts(ctx context.Context, q api.AlertsQuery) (*api.SiteAlertsResponse, error) {
	q.TerminalDeviceID, q.Cursor = "", ""
	return get[api.SiteAlertsResponse](ctx, c, api.PathSiteAlerts, alertValues(q))
}

func alertValues(q api.AlertsQuery) url.Values {
	v := url.Values{"site_id": {q.SiteID}, "start": {q.Start.String()}, "end": {q.End.String()}}
	for name, value := range map[string]string{"customer_id": q.CustomerID, "terminal_device_id": q.TerminalDeviceID, "cursor": q.Cursor} {
		if value != "" {
			v.Set(name, value)
		}
	}
	if q.Limit > 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return v
}

// Alerts lists what wants doing first, with the counts of all. An empty state
// is all but cleared ones.
func (c *Client) Alerts(ctx context.Context, q api.ListQuery, state string) (*api.AlertsResponse, error) {
	return read[api.AlertsResponse](ctx, c, api.PathAlerts, api.AlertsRequest{Action: api.ActionList, CustomerID: q.CustomerID, SiteID: q.SiteID, AssetID: q.AssetID, State: state, Page: q.Page})
}

// Alert is one alert.
func (c *Client) Alert(ctx context.Context, alertID string) (*api.AlertsResponse, error) {
	return read[api.AlertsResponse](ctx, c, api.PathAlerts, api.AlertsRequest{Action: api.ActionGet, AlertID: alertID})
}

// MoveAlert acknowledges, shelves, unshelves, suppresses or unsuppresses an
// alert, as req.Action says.
func (c *Client) MoveAlert(ctx context.Context, req api.AlertsRequest) (*api.AlertsResponse, error) {
	return post[api.AlertsResponse](ctx, c, api.PathAlerts, req, request{})
}

// AlertHealth are the figures of the alarm system, of the last 24 hours and of
// the last 30 days.
func (c *Client) AlertHealth(ctx context.Context, q api.ListQuery) (*api.AlertsResponse, error) {
	return read[api.AlertsResponse](ctx, c, api.PathAlerts, api.AlertsRequest{Action: api.ActionHealth, CustomerID: q.CustomerID, SiteID: q.SiteID, AssetID: q.AssetID})
}
