package client

import (
	"context"
	"net/url"
	"strconv"

	"app.sunloop/backend/api"
)

// Forecast generates a forecast of a site, or of all sites of a customer.
func (c *Client) Forecast(ctx context.Context, q api.ForecastQuery) (*api.GeneratedForecast, error) {
	v := values{"customer_id", q.CustomerID, "site_id", q.SiteID, "horizon_hours", number(q.HorizonHours), "past_days", number(q.PastDays)}
	return get[api.GeneratedForecast](ctx, c, api.PathForecast, v.query())
}

// ForecastSnapshot is a site's newest forecast by the hour, with its worth; 0
// hours are a day.
func (c *Client) ForecastSnapshot(ctx context.Context, site api.SiteRef, hours int) (*api.ForecastSnapshot, error) {
	horizon := number(hours)
	if horizon != "" {
		horizon += "h"
	}
	return get[api.ForecastSnapshot](ctx, c, api.PathForecastSnapshot, append(siteValues(site), "horizon", horizon).query())
}

// EnergyForecast is the hourly energy to come.
func (c *Client) EnergyForecast(ctx context.Context, req api.EnergyForecastRequest) (*api.EnergyForecast, error) {
	return read[api.EnergyForecast](ctx, c, api.PathForecast, req)
}

// DataPeriod is the span of data of a site, or of one unit.
func (c *Client) DataPeriod(ctx context.Context, site api.SiteRef, assetID string) (*api.DataPeriod, error) {
	return get[api.DataPeriod](ctx, c, api.PathDataPeriod, append(siteValues(site), "asset_id", assetID).query())
}

// Inverter reads the records of one unit.
func (c *Client) Inverter(ctx context.Context, q api.RecordsQuery) (*api.RecordsResponse, error) {
	return get[api.RecordsResponse](ctx, c, api.PathInverter, recordsQuery(q))
}

// SiteRecords reads the records of all units of a site.
func (c *Client) SiteRecords(ctx context.Context, q api.RecordsQuery) (*api.SiteRecordsResponse, error) {
	q.AssetID = ""
	return get[api.SiteRecordsResponse](ctx, c, api.PathSiteData, recordsQuery(q))
}

// Latest reads the newest record of each unit of a site.
func (c *Client) Latest(ctx context.Context, site api.SiteRef) (*api.LatestResponse, error) {
	return get[api.LatestResponse](ctx, c, api.PathLatest, siteValues(site).query())
}

// Sites lists the sites in reach; q.CustomerID narrows.
func (c *Client) Sites(ctx context.Context, q api.ListQuery) (*api.SitesResponse, error) {
	return read[api.SitesResponse](ctx, c, api.PathSites, api.SitesRequest{Action: api.ActionList, CustomerID: q.CustomerID, Page: q.Page})
}

// Site is one site.
func (c *Client) Site(ctx context.Context, site api.SiteRef) (*api.Site, error) {
	r, err := read[api.SitesResponse](ctx, c, api.PathSites, api.SitesRequest{Action: api.ActionGet, CustomerID: site.CustomerID, SiteID: site.SiteID})
	if err != nil {
		return nil, err
	}
	return r.Site, nil
}

// SetSite creates a site or changes the fields that are given.
func (c *Client) SetSite(ctx context.Context, site api.Site) (*api.SitesResponse, error) {
	return post[api.SitesResponse](ctx, c, api.PathSites, api.SitesRequest{Action: api.ActionSet, CustomerID: site.CustomerID, SiteID: site.SiteID, Site: &site}, request{})
}

// Assets lists units; q.CustomerID and q.SiteID narrow.
func (c *Client) Assets(ctx context.Context, q api.ListQuery) (*api.AssetsResponse, error) {
	return read[api.AssetsResponse](ctx, c, api.PathAssets, api.AssetsRequest{Action: api.ActionList, Asset: api.Asset{CustomerID: q.CustomerID, SiteID: q.SiteID}, Page: q.Page})
}

// Asset is one unit.
func (c *Client) Asset(ctx context.Context, ref api.AssetRef) (*api.Asset, error) {
	r, err := read[api.AssetsResponse](ctx, c, api.PathAssets, api.AssetsRequest{Action: api.ActionGet, Asset: api.Asset{AssetID: ref.AssetID, SiteID: ref.SiteID, CustomerID: ref.CustomerID}})
	if err != nil {
		return nil, err
	}
	return r.Asset, nil
}

// AddAsset registers a unit.
func (c *Client) AddAsset(ctx context.Context, asset api.Asset) (*api.AssetsResponse, error) {
	return post[api.AssetsResponse](ctx, c, api.PathAssets, api.AssetsRequest{Action: api.ActionAdd, Asset: asset}, request{})
}

// SetAsset changes the fields of a unit that are given; one with a version is
// refused when the unit has another by now.
func (c *Client) SetAsset(ctx context.Context, asset api.Asset) (*api.AssetsResponse, error) {
	return post[api.AssetsResponse](ctx, c, api.PathAssets, api.AssetsRequest{Action: api.ActionSet, Asset: asset}, request{})
}

// InstallComponent puts r.Component into a unit, in the place of the one with
// r.FormerSerial unless that is empty.
func (c *Client) InstallComponent(ctx context.Context, r api.AssetsRequest) (*api.AssetsResponse, error) {
	r.Action = api.ActionInstall
	return post[api.AssetsResponse](ctx, c, api.PathAssets, r, request{})
}

// RemoveComponent takes the component with r.FormerSerial out of a unit.
func (c *Client) RemoveComponent(ctx context.Context, r api.AssetsRequest) (*api.AssetsResponse, error) {
	r.Action = api.ActionRemove
	return post[api.AssetsResponse](ctx, c, api.PathAssets, r, request{})
}

// StoredForecasts lists forecasts as they were issued, newest first.
func (c *Client) StoredForecasts(ctx context.Context, q api.ListQuery) (*api.StoredForecastsResponse, error) {
	return read[api.StoredForecastsResponse](ctx, c, api.PathTerminalForecast, customerRequest(q))
}

// Accuracy is how stored forecasts have done, by lead.
func (c *Client) Accuracy(ctx context.Context, q api.AccuracyRequest) (*api.Accuracy, error) {
	r, err := read[api.AccuracyResponse](ctx, c, api.PathTerminalForecast, api.CustomerRequest{Action: api.ActionAccuracy, CustomerID: q.CustomerID, SiteID: q.SiteID, Days: q.Days})
	if err != nil {
		return nil, err
	}
	return &r.Accuracy, nil
}

// Interpolations lists what filling gaps gave, newest first.
func (c *Client) Interpolations(ctx context.Context, q api.ListQuery) (*api.InterpolationsResponse, error) {
	return read[api.InterpolationsResponse](ctx, c, api.PathInterpolation, customerRequest(q))
}

// Gaps are those that one run filled, the longest first; an empty resultID is
// the newest run.
func (c *Client) Gaps(ctx context.Context, q api.ListQuery, resultID string) (*api.GapsResponse, error) {
	r := customerRequest(q)
	r.Action, r.ResultID = api.ActionGaps, resultID
	return read[api.GapsResponse](ctx, c, api.PathInterpolation, r)
}

// Findings lists OODA summaries, active first, most energy at risk first.
func (c *Client) Findings(ctx context.Context, q api.ListQuery) (*api.FindingsResponse, error) {
	return read[api.FindingsResponse](ctx, c, api.PathOODA, customerRequest(q))
}

// Models lists the registry.
func (c *Client) Models(ctx context.Context, q api.ListQuery) (*api.ModelsResponse, error) {
	return read[api.ModelsResponse](ctx, c, api.PathModels, customerRequest(q))
}

// EvaluateModel holds a challenger against the model in production.
func (c *Client) EvaluateModel(ctx context.Context, req api.ModelsRequest) (*api.ModelMoveResponse, error) {
	return c.moveModel(ctx, api.ActionEvaluate, req)
}

// PromoteModel puts a challenger into production. The reason is kept.
func (c *Client) PromoteModel(ctx context.Context, req api.ModelsRequest) (*api.ModelMoveResponse, error) {
	return c.moveModel(ctx, api.ActionPromote, req)
}

// RollbackModel puts a former model into production again. The reason is kept.
func (c *Client) RollbackModel(ctx context.Context, req api.ModelsRequest) (*api.ModelMoveResponse, error) {
	return c.moveModel(ctx, api.ActionRollback, req)
}

func (c *Client) moveModel(ctx context.Context, action string, req api.ModelsRequest) (*api.ModelMoveResponse, error) {
	req.Action = action
	return post[api.ModelMoveResponse](ctx, c, api.PathModels, req, request{})
}

// ModelHistory lists the changes of status of a site's models, newest first.
func (c *Client) ModelHistory(ctx context.Context, req api.ModelsRequest) (*api.ModelHistoryResponse, error) {
	req.Action = api.ActionHistory
	return read[api.ModelHistoryResponse](ctx, c, api.PathModels, req)
}

// Detect runs the detector over a unit's last hours; 0 is its own span.
func (c *Client) Detect(ctx context.Context, ref api.AssetRef, lookbackHours int) (*api.DetectResponse, error) {
	return post[api.DetectResponse](ctx, c, api.PathDetect, api.DetectRequest{Action: api.ActionRun, AssetID: ref.AssetID, SiteID: ref.SiteID, CustomerID: ref.CustomerID, LookbackHours: lookbackHours}, request{})
}

// Detections lists runs of the detector, newest first.
func (c *Client) Detections(ctx context.Context, q api.ListQuery) (*api.DetectResponse, error) {
	return read[api.DetectResponse](ctx, c, api.PathDetections, api.DetectRequest{Action: api.ActionList, AssetID: q.AssetID, SiteID: q.SiteID, CustomerID: q.CustomerID, Page: q.Page})
}

// SiteSummary is a site's day so far.
func (c *Client) SiteSummary(ctx context.Context, site api.SiteRef) (*api.SiteSummaryResponse, error) {
	return read[api.SiteSummaryResponse](ctx, c, api.PathTerminalTelemetry, api.SiteSummaryRequest{Action: api.ActionSiteSummary, CustomerID: site.CustomerID, SiteID: site.SiteID})
}

// Fleet is the day so far of all sites in reach, by name; q.CustomerID narrows.
func (c *Client) Fleet(ctx context.Context, q api.ListQuery) (*api.FleetResponse, error) {
	return read[api.FleetResponse](ctx, c, api.PathTerminalTelemetry, api.SiteSummaryRequest{Action: api.ActionFleet, CustomerID: q.CustomerID, Page: q.Page})
}

// Activities are what was done in the last 24 hours, newest first.
func (c *Client) Activities(ctx context.Context, q api.ListQuery) (*api.ActivitiesResponse, error) {
	return read[api.ActivitiesResponse](ctx, c, api.PathActivities, api.ActivitiesRequest{Action: api.ActionList, CustomerID: q.CustomerID, SiteID: q.SiteID, Page: q.Page})
}

// Health asks whether the service lives.
func (c *Client) Health(ctx context.Context) error {
	_, err := call[api.Done](ctx, c, request{method: "GET", path: api.PathHealth, bare: true})
	return err
}

// Ready asks whether the service can do what most requests need.
func (c *Client) Ready(ctx context.Context) error {
	_, err := c.Readiness(ctx, "")
	return err
}

// Readiness asks what the service can do. If the capability, such as
// [api.CapabilityUploads], is unavailable, the error is a 503 whose details say
// why.
func (c *Client) Readiness(ctx context.Context, capability string) (*api.Readiness, error) {
	var query url.Values
	if capability != "" {
		query = url.Values{"capability": {capability}}
	}
	return call[api.Readiness](ctx, c, request{method: "GET", path: api.PathReady, query: query, bare: true})
}

func customerRequest(q api.ListQuery) api.CustomerRequest {
	return api.CustomerRequest{CustomerID: q.CustomerID, SiteID: q.SiteID, Page: q.Page}
}

func recordsQuery(q api.RecordsQuery) url.Values {
	return values{
		"asset_id", q.AssetID, "customer_id", q.CustomerID, "site_id", q.SiteID, "start", q.Start.String(), "end", q.End.String(),
		"resolution", q.Resolution, "limit", number(q.Limit), "cursor", q.Cursor,
	}.query()
}

// siteValues are the parameters that name a site.
func siteValues(site api.SiteRef) values {
	return values{"customer_id", site.CustomerID, "site_id", site.SiteID}
}

// values are names and values in turn; empty values are left out.
type values []string

func (v values) query() url.Values {
	out := url.Values{}
	for i := 0; i+1 < len(v); i += 2 {
		if v[i+1] != "" {
			out.Set(v[i], v[i+1])
		}
	}
	return out
}

// number is n as text, empty for 0.
func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}
