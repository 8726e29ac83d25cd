package client

import (
	"context"
	"encoding/json"

	"app.sunloop/backend/api"
)

// KPIRollup are the key figures of a site's last whole days;
// [api.ErrNotFound] before they were made.
func (c *Client) KPIRollup(ctx context.Context, site api.SiteRef) (*api.KPIRollup, error) {
	return get[api.KPIRollup](ctx, c, api.PathKPIRollup, siteValues(site).query())
}

// MaintenanceSignals are a site's faults, newest signal first. The cursor of
// the answer, as q.Since, asks for what is new.
func (c *Client) MaintenanceSignals(ctx context.Context, q api.SignalsQuery) (*api.MaintenanceSignals, error) {
	since := ""
	if !q.Since.IsZero() {
		since = q.Since.String()
	}
	return get[api.MaintenanceSignals](ctx, c, api.PathMaintenanceSignals, values{"customer_id", q.CustomerID, "site_id", q.SiteID, "since", since, "severity", q.Severity}.query())
}

// MaintenanceSchedule is what is to be done at a site in the next 90 days.
func (c *Client) MaintenanceSchedule(ctx context.Context, site api.SiteRef) (*api.MaintenanceSchedule, error) {
	return get[api.MaintenanceSchedule](ctx, c, api.PathMaintenanceSchedule, siteValues(site).query())
}

// Snapshot is a snapshot of one of [api.SnapshotKinds], as it was made.
func (c *Client) Snapshot(ctx context.Context, site api.SiteRef, kind string) (json.RawMessage, error) {
	doc, err := get[json.RawMessage](ctx, c, api.PathSnapshot, append(siteValues(site), "kind", kind).query())
	if err != nil {
		return nil, err
	}
	return *doc, nil
}
