package client

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"

	"app.sunloop/backend/api"
)

// Sites lists the accessible sites; q.CustomerID narrows.
func (c *Client) Sites(ctx context.Context, q api.ListQuery) (*api.SitesResponse, error) {
	return Call(ctx, c, api.ListSites, api.SitesRequest{CustomerID: q.CustomerID, Archived: q.Archived, Page: q.Page})
}

// Site is one site.
func (c *Client) Site(ctx context.Context, site api.SiteRef) (*api.Site, error) {
	r, err := Call(ctx, c, api.GetSite, api.SitesRequest{CustomerID: site.CustomerID, SiteID: site.SiteID})
	if err != nil {
		return nil, err
	}
	return r.Site, nil
}

// SetSite creates a site or changes the fields that are given.
func (c *Client) SetSite(ctx context.Context, site api.Site, clear ...string) (*api.SitesResponse, error) {
	return Call(ctx, c, api.SetSite, api.SitesRequest{CustomerID: site.CustomerID, SiteID: site.SiteID, Site: &site, Clear: clear})
}

// AddSite creates a site; one that exists is a conflict.
func (c *Client) AddSite(ctx context.Context, site api.Site) (*api.SitesResponse, error) {
	return Call(ctx, c, api.AddSite, api.SitesRequest{CustomerID: site.CustomerID, SiteID: site.SiteID, Site: &site})
}

// RenameSite sets the name that is shown of a site.
func (c *Client) RenameSite(ctx context.Context, site api.SiteRef, name string) (*api.SitesResponse, error) {
	return Call(ctx, c, api.RenameSite, api.SitesRequest{CustomerID: site.CustomerID, SiteID: site.SiteID, Name: name})
}

// ArchiveSite makes a site read-only.
func (c *Client) ArchiveSite(ctx context.Context, site api.SiteRef) (*api.SitesResponse, error) {
	return Call(ctx, c, api.ArchiveSite, api.SitesRequest{CustomerID: site.CustomerID, SiteID: site.SiteID})
}

// UnarchiveSite ends the archiving of a site.
func (c *Client) UnarchiveSite(ctx context.Context, site api.SiteRef) (*api.SitesResponse, error) {
	return Call(ctx, c, api.UnarchiveSite, api.SitesRequest{CustomerID: site.CustomerID, SiteID: site.SiteID})
}

// SetZone begins to read the files of a site again in another time zone; a dry run
// only says what that changes.
func (c *Client) SetZone(ctx context.Context, site api.SiteRef, zone string, dryRun bool) (*api.SitesResponse, error) {
	return Call(ctx, c, api.ZoneSite, api.SitesRequest{CustomerID: site.CustomerID, SiteID: site.SiteID, Timezone: zone, DryRun: dryRun})
}

// RemoveSite begins to delete a site with all its data; confirm is its id once more. A
// dry run only says what that deletes.
func (c *Client) RemoveSite(ctx context.Context, site api.SiteRef, confirm string, dryRun bool) (*api.SitesResponse, error) {
	return Call(ctx, c, api.RemoveSite, api.SitesRequest{CustomerID: site.CustomerID, SiteID: site.SiteID, Confirm: confirm, DryRun: dryRun})
}

// MergeAssets begins to move the values of the unit from into another one of the same
// site; a dry run only counts what that does.
func (c *Client) MergeAssets(ctx context.Context, to api.AssetRef, from string, dryRun bool) (*api.AssetsResponse, error) {
	return Call(ctx, c, api.MergeAssets, api.AssetsRequest{Asset: api.Asset{AssetID: to.AssetID, SiteID: to.SiteID, CustomerID: to.CustomerID}, FromAssetID: from, DryRun: dryRun})
}

// Assets lists units; q.CustomerID and q.SiteID narrow.
func (c *Client) Assets(ctx context.Context, q api.ListQuery) (*api.AssetsResponse, error) {
	return Call(ctx, c, api.ListAssets, api.AssetsRequest{Asset: api.Asset{CustomerID: q.CustomerID, SiteID: q.SiteID}, Page: q.Page})
}

// Asset is one unit.
func (c *Client) Asset(ctx context.Context, ref api.AssetRef) (*api.Asset, error) {
	r, err := Call(ctx, c, api.GetAsset, api.AssetsRequest{Asset: api.Asset{AssetID: ref.AssetID, SiteID: ref.SiteID, CustomerID: ref.CustomerID}})
	if err != nil {
		return nil, err
	}
	return r.Asset, nil
}

// AddAsset registers a unit.
func (c *Client) AddAsset(ctx context.Context, asset api.Asset) (*api.AssetsResponse, error) {
	return Call(ctx, c, api.AddAsset, api.AssetsRequest{Asset: asset})
}

// SetAsset changes the fields of a unit that are given; one with a version is
// refused when the unit has another by now.
func (c *Client) SetAsset(ctx context.Context, asset api.Asset, clear ...string) (*api.AssetsResponse, error) {
	return Call(ctx, c, api.SetAsset, api.AssetsRequest{Asset: asset, Clear: clear})
}

// InstallComponent puts r.Component into a unit; it replaces the one with
// r.FormerSerial unless that is empty.
func (c *Client) InstallComponent(ctx context.Context, r api.AssetsRequest) (*api.AssetsResponse, error) {
	return Call(ctx, c, api.InstallComponent, r)
}

// RemoveComponent takes the component with r.FormerSerial out of a unit.
func (c *Client) RemoveComponent(ctx context.Context, r api.AssetsRequest) (*api.AssetsResponse, error) {
	return Call(ctx, c, api.RemoveComponent, r)
}

// StoredForecasts lists forecasts as they were issued, newest first.
func (c *Client) StoredForecasts(ctx context.Context, q api.ListQuery) (*api.StoredForecastsResponse, error) {
	return Call(ctx, c, api.ListForecasts, customerRequest(q))
}

// Accuracy is how stored forecasts have done, by lead.
func (c *Client) Accuracy(ctx context.Context, q api.AccuracyRequest) (*api.Accuracy, error) {
	r, err := Call(ctx, c, api.GetAccuracy, api.CustomerRequest{CustomerID: q.CustomerID, SiteID: q.SiteID, Days: q.Days})
	if err != nil {
		return nil, err
	}
	return &r.Accuracy, nil
}

// Interpolations lists what filling gaps gave, newest first.
func (c *Client) Interpolations(ctx context.Context, q api.ListQuery) (*api.InterpolationsResponse, error) {
	return Call(ctx, c, api.ListInterpolations, customerRequest(q))
}

// Gaps are those that one run filled, the longest first; an empty resultID is
// the newest run.
func (c *Client) Gaps(ctx context.Context, q api.ListQuery, resultID string) (*api.GapsResponse, error) {
	r := customerRequest(q)
	r.ResultID = resultID
	return Call(ctx, c, api.ListGaps, r)
}

// Findings lists OODA summaries, active first, most energy at risk first.
func (c *Client) Findings(ctx context.Context, q api.ListQuery) (*api.FindingsResponse, error) {
	return Call(ctx, c, api.ListFindings, api.FindingsRequest{CustomerID: q.CustomerID, SiteID: q.SiteID, From: q.From, To: q.To, Page: q.Page})
}

// History sums up the findings of q's period.
func (c *Client) History(ctx context.Context, q api.ListQuery) (*api.HistoryResponse, error) {
	return Call(ctx, c, api.GetHistory, api.FindingsRequest{CustomerID: q.CustomerID, SiteID: q.SiteID, From: q.From, To: q.To})
}

// Models lists the registry.
func (c *Client) Models(ctx context.Context, q api.ListQuery) (*api.ModelsResponse, error) {
	return Call(ctx, c, api.ListModels, api.ModelsRequest{CustomerID: q.CustomerID, SiteID: q.SiteID, Page: q.Page})
}

// ModelHistory lists the changes of status of a site's models, newest first.
func (c *Client) ModelHistory(ctx context.Context, req api.ModelsRequest) (*api.ModelHistoryResponse, error) {
	return Call(ctx, c, api.ListModelHistory, req)
}

// Detect runs the detector over a unit's last hours; 0 is its own span.
func (c *Client) Detect(ctx context.Context, ref api.AssetRef, lookbackHours int) (*api.DetectResponse, error) {
	return Call(ctx, c, api.RunDetection, api.DetectRequest{AssetID: ref.AssetID, SiteID: ref.SiteID, CustomerID: ref.CustomerID, LookbackHours: lookbackHours})
}

// Detections lists runs of the detector, newest first.
func (c *Client) Detections(ctx context.Context, q api.ListQuery) (*api.DetectResponse, error) {
	return Call(ctx, c, api.ListDetections, api.DetectRequest{AssetID: q.AssetID, SiteID: q.SiteID, CustomerID: q.CustomerID, Page: q.Page})
}

// SiteSummary is a site's day so far.
func (c *Client) SiteSummary(ctx context.Context, site api.SiteRef) (*api.SiteSummaryResponse, error) {
	return Call(ctx, c, api.GetSiteSummary, api.SiteSummaryRequest{CustomerID: site.CustomerID, SiteID: site.SiteID})
}

// Fleet is the day so far of all accessible sites, by name; q.CustomerID
// narrows.
func (c *Client) Fleet(ctx context.Context, q api.ListQuery) (*api.FleetResponse, error) {
	return Call(ctx, c, api.ListFleet, api.SiteSummaryRequest{CustomerID: q.CustomerID, Page: q.Page})
}

// Activities are what was done in the last 24 hours, newest first.
func (c *Client) Activities(ctx context.Context, q api.ListQuery) (*api.ActivitiesResponse, error) {
	return Call(ctx, c, api.ListActivities, api.ActivitiesRequest{CustomerID: q.CustomerID, SiteID: q.SiteID, Page: q.Page})
}

// Alerts lists the most urgent first, with the counts of all. An empty state
// is all but cleared ones.
func (c *Client) Alerts(ctx context.Context, q api.ListQuery, state string) (*api.AlertsResponse, error) {
	return Call(ctx, c, api.ListAlerts, api.AlertsRequest{CustomerID: q.CustomerID, SiteID: q.SiteID, AssetID: q.AssetID, State: state, Page: q.Page})
}

// Alert is one alert.
func (c *Client) Alert(ctx context.Context, alertID string) (*api.AlertsResponse, error) {
	return Call(ctx, c, api.GetAlert, api.AlertsRequest{AlertID: alertID})
}

// AlertHealth are the figures of the alarm system, of the last 24 hours and of
// the last 30 days.
func (c *Client) AlertHealth(ctx context.Context, q api.ListQuery) (*api.AlertsResponse, error) {
	return Call(ctx, c, api.GetAlertHealth, api.AlertsRequest{CustomerID: q.CustomerID, SiteID: q.SiteID, AssetID: q.AssetID})
}

// Users are those whom the caller may see, by name; q.CustomerID narrows.
func (c *Client) Users(ctx context.Context, q api.ListQuery) (*api.UsersResponse, error) {
	return Call(ctx, c, api.ListUsers, api.UsersRequest{CustomerID: q.CustomerID, Page: q.Page})
}

// User is one of them.
func (c *Client) User(ctx context.Context, userID string) (*api.UsersResponse, error) {
	return Call(ctx, c, api.GetUser, api.UsersRequest{UserID: userID})
}

// AddUser makes a user of username, password, role, customers and sites.
func (c *Client) AddUser(ctx context.Context, u api.UsersRequest) (*api.UsersResponse, error) {
	return Call(ctx, c, api.AddUser, u)
}

// SetUser changes of a user what is given: role, customers, sites,
// active, public keys for SSH.
func (c *Client) SetUser(ctx context.Context, u api.UsersRequest) (*api.UsersResponse, error) {
	return Call(ctx, c, api.SetUser, u)
}

// ResetPassword gives a user a new password and ends all sessions.
func (c *Client) ResetPassword(ctx context.Context, userID, password string) (*api.UsersResponse, error) {
	return Call(ctx, c, api.ResetPassword, api.UsersRequest{UserID: userID, Password: password})
}

// ResetMFA lets a user set up a new authenticator and ends all sessions.
func (c *Client) ResetMFA(ctx context.Context, userID string) (*api.UsersResponse, error) {
	return Call(ctx, c, api.ResetMFA, api.UsersRequest{UserID: userID})
}

// UnlinkUser forgets who a user is at an identity provider and ends all
// sessions.
func (c *Client) UnlinkUser(ctx context.Context, userID string) (*api.UsersResponse, error) {
	return Call(ctx, c, api.UnlinkUser, api.UsersRequest{UserID: userID})
}

// UnlockUser forgets a user's wrong passwords and codes: the next sign-in need
// not wait.
func (c *Client) UnlockUser(ctx context.Context, userID string) (*api.UsersResponse, error) {
	return Call(ctx, c, api.UnlockUser, api.UsersRequest{UserID: userID})
}

// DeleteUser removes a user for good.
func (c *Client) DeleteUser(ctx context.Context, userID string) (*api.UsersResponse, error) {
	return Call(ctx, c, api.DeleteUser, api.UsersRequest{UserID: userID})
}

// Keys are the API keys that the caller may see, oldest first; q.CustomerID
// narrows.
func (c *Client) Keys(ctx context.Context, q api.ListQuery) (*api.KeysResponse, error) {
	return Call(ctx, c, api.ListKeys, api.KeysRequest{CustomerID: q.CustomerID, Page: q.Page})
}

// Key is one of them, without the key.
func (c *Client) Key(ctx context.Context, apiKeyID string) (*api.KeysResponse, error) {
	return Call(ctx, c, api.GetKey, api.KeysRequest{APIKeyID: apiKeyID})
}

// CreateKey creates an API key, which only this response contains.
func (c *Client) CreateKey(ctx context.Context, k api.KeysRequest) (*api.KeysResponse, error) {
	return Call(ctx, c, api.CreateKey, k)
}

// RotateKey creates a key that replaces k.APIKeyID, which stays valid
// for k.OverlapHours; the response shows the new one once.
func (c *Client) RotateKey(ctx context.Context, k api.KeysRequest) (*api.KeysResponse, error) {
	return Call(ctx, c, api.RotateKey, k)
}

// WriteTelemetry stores points: an [api.PointBatch] as JSON, packed with gzip. An empty
// body asks which batches of the gateway are stored.
func (c *Client) WriteTelemetry(ctx context.Context, w api.WriteQuery, packed []byte) (*api.WriteResponse, error) {
	r, err := newRequest(api.WriteTelemetry.Operation, &w)
	if err != nil {
		return nil, err
	}
	if len(packed) > 0 {
		r.body, r.contentType, r.encoding = packed, api.MediaJSON, "gzip"
	}
	return call[api.WriteResponse](ctx, c, r)
}

// Gateways lists the gateways of a site, or of all that are accessible.
func (c *Client) Gateways(ctx context.Context, r api.GatewaysRequest) (*api.GatewaysResponse, error) {
	return Call(ctx, c, api.ListGateways, r)
}

// Sources lists the devices of a site that the service reads itself, and of one device
// the values as read last.
func (c *Client) Sources(ctx context.Context, r api.SourcesRequest) (*api.SourcesResponse, error) {
	return Call(ctx, c, api.ListSources, r)
}

// InviteGateway makes a code with which one gateway joins a site; it is shown once.
func (c *Client) InviteGateway(ctx context.Context, r api.GatewaysRequest) (*api.GatewaysResponse, error) {
	return Call(ctx, c, api.InviteGateway, r)
}

// RotateGatewayKey replaces the key of the calling gateway; the former one ends after a
// day.
func (c *Client) RotateGatewayKey(ctx context.Context) (*api.GatewaysResponse, error) {
	return Call(ctx, c, api.RotateGatewayKey, api.GatewaysRequest{})
}

// JoinGateway exchanges a code for the key of a gateway; it is shown once.
func (c *Client) JoinGateway(ctx context.Context, code string) (*api.JoinResponse, error) {
	return Call(ctx, c, api.JoinGateway, api.JoinRequest{Code: code})
}

// RevokeKey ends an API key for good.
func (c *Client) RevokeKey(ctx context.Context, apiKeyID string) (*api.KeysResponse, error) {
	return Call(ctx, c, api.RevokeKey, api.KeysRequest{APIKeyID: apiKeyID})
}

// Log is what the service has logged recently, newest first.
func (c *Client) Log(ctx context.Context, q api.LogRequest) (*api.LogResponse, error) {
	return Call(ctx, c, api.ListLog, q)
}

// Audit is the trail of who changed what, newest first.
func (c *Client) Audit(ctx context.Context, q api.AuditRequest) (*api.AuditResponse, error) {
	return Call(ctx, c, api.ListAudit, q)
}

// Diagnose explains a unit's detection, or, without one, what a new run of the
// detector finds.
func (c *Client) Diagnose(ctx context.Context, req api.DiagnoseRequest) (*api.DiagnoseResponse, error) {
	return Call(ctx, c, api.RunDiagnosis, req)
}

// Diagnostics lists diagnoses, newest first.
func (c *Client) Diagnostics(ctx context.Context, q api.ListQuery) (*api.DiagnoseResponse, error) {
	return Call(ctx, c, api.ListDiagnostics, api.DiagnoseRequest{AssetID: q.AssetID, SiteID: q.SiteID, CustomerID: q.CustomerID, Page: q.Page})
}

// Issues lists open issues first, then the last changed.
func (c *Client) Issues(ctx context.Context, q api.ListQuery) (*api.IssuesResponse, error) {
	return Call(ctx, c, api.ListIssues, api.IssuesRequest{CustomerID: q.CustomerID, SiteID: q.SiteID, AssetID: q.AssetID, Page: q.Page})
}

// CreateIssue makes an issue of a component.
func (c *Client) CreateIssue(ctx context.Context, req api.IssuesRequest) (*api.IssuesResponse, error) {
	return Call(ctx, c, api.CreateIssue, req)
}

// AcknowledgeIssue takes an issue on; the note may be empty.
func (c *Client) AcknowledgeIssue(ctx context.Context, issueID, note string) (*api.IssuesResponse, error) {
	return Call(ctx, c, api.AcknowledgeIssue, api.IssuesRequest{IssueID: issueID, Reason: note})
}

// ResolveIssue ends an issue that was taken on.
func (c *Client) ResolveIssue(ctx context.Context, issueID, reason string) (*api.IssuesResponse, error) {
	return Call(ctx, c, api.ResolveIssue, api.IssuesRequest{IssueID: issueID, Reason: reason})
}

// Nowcast is the live overview of a customer's units: r names the customer,
// and may name a range and units.
func (c *Client) Nowcast(ctx context.Context, r api.NowcastRequest) (*api.NowcastResponse, error) {
	return Call(ctx, c, api.GetNowcast, r)
}

// Schedules lists open ones first, what is due first before the others; an
// empty status is all.
func (c *Client) Schedules(ctx context.Context, q api.ListQuery, status string) (*api.ScheduleResponse, error) {
	return Call(ctx, c, api.ListSchedules, api.ScheduleRequest{CustomerID: q.CustomerID, SiteID: q.SiteID, AssetID: q.AssetID, Status: status, Page: q.Page})
}

// Schedule is one schedule with its history.
func (c *Client) Schedule(ctx context.Context, scheduleID string) (*api.Schedule, error) {
	r, err := Call(ctx, c, api.GetSchedule, api.ScheduleRequest{ScheduleID: scheduleID})
	if err != nil {
		return nil, err
	}
	return r.Schedule, nil
}

// Propose says when work should be done, the best window first.
func (c *Client) Propose(ctx context.Context, req api.ScheduleRequest) (*api.ProposeResponse, error) {
	return Call(ctx, c, api.ProposeSchedule, req)
}

// BOMs lists the newest first, without their items.
func (c *Client) BOMs(ctx context.Context, q api.ListQuery) (*api.BOMResponse, error) {
	return Call(ctx, c, api.ListBOMs, api.BOMRequest{CustomerID: q.CustomerID, SiteID: q.SiteID, AssetID: q.AssetID, Page: q.Page})
}

// BOM is one bill of materials with its items.
func (c *Client) BOM(ctx context.Context, bomID string) (*api.BOM, error) {
	r, err := Call(ctx, c, api.GetBOM, api.BOMRequest{BOMID: bomID})
	if err != nil {
		return nil, err
	}
	return r.BOM, nil
}

// GenerateBOM makes the bill of materials of work at an asset.
func (c *Client) GenerateBOM(ctx context.Context, req api.BOMRequest) (*api.BOMResponse, error) {
	return Call(ctx, c, api.GenerateBOM, req)
}

// Parts lists the catalogue with a customer's stock, by part number.
func (c *Client) Parts(ctx context.Context, req api.PartsRequest) (*api.PartsResponse, error) {
	return Call(ctx, c, api.ListParts, req)
}

// AdjustStock counts a part, or books what came or went.
func (c *Client) AdjustStock(ctx context.Context, req api.PartsRequest) (*api.PartsResponse, error) {
	return Call(ctx, c, api.AdjustStock, req)
}

// Order is one work order with its parts and its history.
func (c *Client) Order(ctx context.Context, orderID string) (*api.Order, error) {
	r, err := Call(ctx, c, api.GetOrder, api.OrderRequest{OrderID: orderID})
	if err != nil {
		return nil, err
	}
	return r.Order, nil
}

// Subscribe asks for the changes of an order's status to be posted to a URL.
// The secret of a new subscription is in the answer, and nowhere again.
func (c *Client) Subscribe(ctx context.Context, orderID, callbackURL string) (*api.TrackResponse, error) {
	return Call(ctx, c, api.Subscribe, api.TrackRequest{OrderID: orderID, CallbackURL: callbackURL})
}

// Subscriptions lists those of an order, or with an empty one of what q names.
func (c *Client) Subscriptions(ctx context.Context, q api.ListQuery, orderID string) (*api.TrackResponse, error) {
	return Call(ctx, c, api.ListSubscriptions, api.TrackRequest{OrderID: orderID, CustomerID: q.CustomerID, SiteID: q.SiteID, Page: q.Page})
}

// Unsubscribe ends a subscription.
func (c *Client) Unsubscribe(ctx context.Context, subscriptionID string) (*api.TrackResponse, error) {
	return Call(ctx, c, api.Unsubscribe, api.TrackRequest{SubscriptionID: subscriptionID})
}

// PauseSubscription keeps the events of a subscription until it is resumed.
func (c *Client) PauseSubscription(ctx context.Context, subscriptionID string) (*api.TrackResponse, error) {
	return Call(ctx, c, api.PauseSubscription, api.TrackRequest{SubscriptionID: subscriptionID})
}

// ResumeSubscription lets them go, the oldest first.
func (c *Client) ResumeSubscription(ctx context.Context, subscriptionID string) (*api.TrackResponse, error) {
	return Call(ctx, c, api.ResumeSubscription, api.TrackRequest{SubscriptionID: subscriptionID})
}

// RotateSecret gives a subscription a new secret, which is in the answer and
// nowhere again. The former one signs too for [api.SecretOverlap].
func (c *Client) RotateSecret(ctx context.Context, subscriptionID string) (*api.TrackResponse, error) {
	return Call(ctx, c, api.RotateSubscription, api.TrackRequest{SubscriptionID: subscriptionID})
}

// Deliveries lists those of an order or of a subscription, the newest first.
func (c *Client) Deliveries(ctx context.Context, req api.TrackRequest) (*api.TrackResponse, error) {
	return Call(ctx, c, api.ListDeliveries, req)
}

// Replay sends a delivery again, or all of a subscription that were given up.
func (c *Client) Replay(ctx context.Context, req api.TrackRequest) (*api.TrackResponse, error) {
	return Call(ctx, c, api.ReplayDeliveries, req)
}

// Forecast generates a forecast of a site, or of all sites of a customer.
func (c *Client) Forecast(ctx context.Context, q api.ForecastQuery) (*api.GeneratedForecast, error) {
	return Call(ctx, c, api.GenerateForecast, q)
}

// ForecastSnapshot is a site's newest forecast by the hour, with its worth; 0
// hours are a day.
func (c *Client) ForecastSnapshot(ctx context.Context, site api.SiteRef, hours int) (*api.ForecastSnapshot, error) {
	q := snapshotOf(site)
	if hours != 0 {
		q.Horizon = strconv.Itoa(hours) + "h"
	}
	return Call(ctx, c, api.GetForecastSnapshot, q)
}

// EnergyForecast is the hourly energy to come.
func (c *Client) EnergyForecast(ctx context.Context, req api.EnergyForecastRequest) (*api.EnergyForecast, error) {
	return Call(ctx, c, api.ForecastEnergy, req)
}

// DataPeriod is the span of data of a site, or of one unit.
func (c *Client) DataPeriod(ctx context.Context, site api.SiteRef, assetID string) (*api.DataPeriod, error) {
	return Call(ctx, c, api.GetDataPeriod, api.PeriodQuery{CustomerID: site.CustomerID, SiteID: site.SiteID, AssetID: assetID})
}

// Inverter reads the records of one unit: a page if q.Limit is given, otherwise the whole
// span, page by page.
func (c *Client) Inverter(ctx context.Context, q api.RecordsQuery) (*api.RecordsResponse, error) {
	lists := func(r *api.RecordsResponse) map[string][]api.Record { return map[string][]api.Record{"": r.Records} }
	all, err := readPages(ctx, c, api.ListRecords, &q, &q.Limit, &q.Cursor, lists, recordCursor)
	if err != nil {
		return nil, err
	}
	return &api.RecordsResponse{Records: all[""]}, nil
}

// SiteRecords reads the records of all units of a site: a page if q.Limit is given, otherwise
// the whole span, page by page.
func (c *Client) SiteRecords(ctx context.Context, q api.RecordsQuery) (*api.SiteRecordsResponse, error) {
	q.AssetID = ""
	lists := func(r *api.SiteRecordsResponse) map[string][]api.Record { return r.Records }
	all, err := readPages(ctx, c, api.ListSiteRecords, &q, &q.Limit, &q.Cursor, lists, recordCursor)
	if err != nil {
		return nil, err
	}
	return &api.SiteRecordsResponse{Records: all}, nil
}

func recordCursor(r api.Record) string { return r.Cursor }

func alertCursor(a api.Alert) string { return a.Cursor }

// readPages reads records of a span with an operation: one page if *limit is given, otherwise
// all pages. limit and cursor are fields of q. lists returns the lists of a page by their ids;
// the last record of one of them has the cursor of the next page.
func readPages[Req, Resp, T any](ctx context.Context, c *Client, e api.Endpoint[Req, Resp], q *Req, limit *int, cursor *string,
	lists func(*Resp) map[string][]T, cursorOf func(T) string) (map[string][]T, error) {
	single := *limit != 0
	if !single {
		*limit = api.MaxLimit
	}
	var all map[string][]T
	for {
		r, err := Call(ctx, c, e, *q)
		if err != nil {
			return nil, err
		}
		page, next := lists(r), ""
		for _, list := range page {
			if n := len(list); n > 0 {
				next = cmp.Or(next, cursorOf(list[n-1]))
			}
		}
		if all == nil && (single || next == "") {
			return page, nil
		}
		if all == nil {
			all = map[string][]T{} // r may be a response that the client keeps
		}
		for id, list := range page {
			all[id] = append(all[id], list...)
		}
		if *cursor = next; next == "" {
			return all, nil
		}
	}
}

// Latest reads the newest record of each unit of a site.
func (c *Client) Latest(ctx context.Context, site api.SiteRef) (*api.LatestResponse, error) {
	return Call(ctx, c, api.GetLatest, api.PeriodQuery{CustomerID: site.CustomerID, SiteID: site.SiteID})
}

// EvaluateModel compares a challenger with the model in production.
func (c *Client) EvaluateModel(ctx context.Context, req api.ModelsRequest) (*api.ModelMoveResponse, error) {
	return Call(ctx, c, api.EvaluateModel, req)
}

// PromoteModel puts a challenger into production. The reason is kept.
func (c *Client) PromoteModel(ctx context.Context, req api.ModelsRequest) (*api.ModelMoveResponse, error) {
	return Call(ctx, c, api.PromoteModel, req)
}

// RollbackModel puts a former model into production again. The reason is kept.
func (c *Client) RollbackModel(ctx context.Context, req api.ModelsRequest) (*api.ModelMoveResponse, error) {
	return Call(ctx, c, api.RollbackModel, req)
}

// Health asks whether the service is alive.
func (c *Client) Health(ctx context.Context) error {
	_, err := Call(ctx, c, api.GetHealth, api.None{})
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
	return Call(ctx, c, api.GetReady, api.ReadyQuery{Capability: capability})
}

// AlertPeriod is the span of a site's alerts, or of one of its terminal
// devices'.
func (c *Client) AlertPeriod(ctx context.Context, site api.SiteRef, terminalDeviceID string) (*api.AlertPeriod, error) {
	return Call(ctx, c, api.GetAlertPeriod, api.AlertPeriodQuery{CustomerID: site.CustomerID, SiteID: site.SiteID, TerminalDeviceID: terminalDeviceID})
}

// TerminalAlerts reads the alerts of q.TerminalDeviceID, ascending in time: a page if q.Limit
// is given, otherwise the whole span, page by page. The last one of a full page has the
// cursor of the next.
func (c *Client) TerminalAlerts(ctx context.Context, q api.AlertsQuery) (*api.AlertRecordsResponse, error) {
	lists := func(r *api.AlertRecordsResponse) map[string][]api.Alert { return map[string][]api.Alert{"": r.Alerts} }
	all, err := readPages(ctx, c, api.ListTerminalAlerts, &q, &q.Limit, &q.Cursor, lists, alertCursor)
	if err != nil {
		return nil, err
	}
	return &api.AlertRecordsResponse{Alerts: all[""]}, nil
}

// SiteAlerts reads the alerts of all terminal devices of a site: a page if q.Limit is given,
// otherwise the whole span, page by page.
func (c *Client) SiteAlerts(ctx context.Context, q api.AlertsQuery) (*api.SiteAlertsResponse, error) {
	q.TerminalDeviceID = ""
	lists := func(r *api.SiteAlertsResponse) map[string][]api.Alert { return r.Alerts }
	all, err := readPages(ctx, c, api.ListSiteAlerts, &q, &q.Limit, &q.Cursor, lists, alertCursor)
	if err != nil {
		return nil, err
	}
	return &api.SiteAlertsResponse{Alerts: all}, nil
}

// MoveAlert acknowledges, shelves, unshelves, suppresses or unsuppresses an
// alert, as req.Action says.
func (c *Client) MoveAlert(ctx context.Context, req api.AlertsRequest) (*api.AlertsResponse, error) {
	return callAction(ctx, c, api.AcknowledgeAlert, req)
}

// KPIs are a site's KPIs over a window, each with its unit, window and
// source; zero times of q are the last 30 whole days. An unknown site is
// [api.ErrSiteNotFound], a window that is empty or too large a 400.
func (c *Client) KPIs(ctx context.Context, q api.KPIQuery) (*api.KPIs, error) {
	return Call(ctx, c, api.GetKPIs, api.KPIRequest{SiteID: q.SiteID, CustomerID: q.CustomerID, From: timeText(q.From), To: timeText(q.To)})
}

// KPIRollup are the KPIs of a site's last whole days;
// [api.ErrNotFound] before they were computed.
func (c *Client) KPIRollup(ctx context.Context, site api.SiteRef) (*api.KPIRollup, error) {
	return Call(ctx, c, api.GetKPIRollup, snapshotOf(site))
}

// MaintenanceSignals are a site's faults, newest signal first. The cursor of
// the answer, as q.Since, asks for what is new.
func (c *Client) MaintenanceSignals(ctx context.Context, q api.SignalsQuery) (*api.MaintenanceSignals, error) {
	return Call(ctx, c, api.GetMaintenanceSignals, api.SnapshotQuery{SiteID: q.SiteID, CustomerID: q.CustomerID, Since: timeText(q.Since), Severity: q.Severity})
}

// MaintenanceSchedule is what is to be done at a site in the next 90 days.
func (c *Client) MaintenanceSchedule(ctx context.Context, site api.SiteRef) (*api.MaintenanceSchedule, error) {
	return Call(ctx, c, api.GetMaintenanceSchedule, snapshotOf(site))
}

// Snapshot is a snapshot of one of [api.SnapshotKinds], as it was made.
func (c *Client) Snapshot(ctx context.Context, site api.SiteRef, kind string) (json.RawMessage, error) {
	q := snapshotOf(site)
	q.Kind = kind
	doc, err := callAs[json.RawMessage](ctx, c, api.GetSnapshot, q)
	if err != nil {
		return nil, err
	}
	return *doc, nil
}

// CreateSchedule plans maintenance of an asset.
func (c *Client) CreateSchedule(ctx context.Context, req api.ScheduleRequest) (*api.ScheduleResponse, error) {
	return Call(ctx, c, api.CreateSchedule, req)
}

// MoveSchedule confirms, completes or cancels a schedule, as req.Action says.
func (c *Client) MoveSchedule(ctx context.Context, req api.ScheduleRequest) (*api.ScheduleResponse, error) {
	return callAction(ctx, c, api.ConfirmSchedule, req)
}

// Orders lists open work orders first, each the newest first; narrow selects by
// Status, OpenOnly and Technician.
func (c *Client) Orders(ctx context.Context, q api.ListQuery, narrow api.OrderRequest) (*api.OrderResponse, error) {
	return Call(ctx, c, api.ListOrders, api.OrderRequest{CustomerID: q.CustomerID, SiteID: q.SiteID, AssetID: q.AssetID, Page: q.Page,
		Status: narrow.Status, OpenOnly: narrow.OpenOnly, Technician: narrow.Technician})
}

// CreateOrder makes a work order.
func (c *Client) CreateOrder(ctx context.Context, req api.OrderRequest) (*api.OrderResponse, error) {
	return Call(ctx, c, api.CreateOrder, req)
}

// MoveOrder assigns, starts, holds, resumes, completes, cancels or reopens a
// work order, as req.Action says.
func (c *Client) MoveOrder(ctx context.Context, req api.OrderRequest) (*api.OrderResponse, error) {
	return callAction(ctx, c, api.AssignOrder, req)
}

func customerRequest(q api.ListQuery) api.CustomerRequest {
	return api.CustomerRequest{CustomerID: q.CustomerID, SiteID: q.SiteID, Page: q.Page}
}

func snapshotOf(site api.SiteRef) api.SnapshotQuery {
	return api.SnapshotQuery{CustomerID: site.CustomerID, SiteID: site.SiteID}
}

// timeText returns a time as it is sent, empty for the zero time.
func timeText(t api.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.String()
}
