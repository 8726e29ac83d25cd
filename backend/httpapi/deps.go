package httpapi

import (
	"context"
	"io"

	"app.sunloop/backend/api"
)

// What the handlers need of the domain. Every method takes the caller's scope
// and holds to it: what is looked up by id answers the not-found refusal of
// the contract, or [api.ErrForbidden] when it is there but outside the
// scope; lists leave out what is outside. Refusals are *[api.Error]; any other
// error becomes 500. Lists answer the records and the cursor of the next part,
// empty at the end; a Page comes with its limit filled in.

// Sites keeps the plants.
type Sites interface {
	// Site answers api.ErrSiteNotFound for an unknown id.
	Site(ctx context.Context, scope api.Scope, siteID string) (api.Site, error)
	// SitesNamed lists the sites of all customers that have the id.
	SitesNamed(ctx context.Context, siteID string) ([]api.Site, error)
	// NewSiteKey is the key of a site that the customer does not have yet.
	NewSiteKey(ctx context.Context, customerID, siteID string) (string, error)
	// Sites lists by name; q.CustomerID narrows.
	Sites(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Site, string, error)
	// SetSite creates a site or changes the fields that are given, and answers
	// the site as it is now.
	SetSite(ctx context.Context, scope api.Scope, site api.Site) (api.Site, error)
}

// Assets keeps the units of the sites.
type Assets interface {
	// Asset answers api.ErrAssetNotFound for an unknown id.
	Asset(ctx context.Context, scope api.Scope, ref api.AssetRef) (api.Asset, error)
	// Assets lists by id; q.CustomerID and q.SiteID narrow.
	Assets(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Asset, string, error)
	// AddAsset answers the asset as stored; 409 for an id that is there already.
	AddAsset(ctx context.Context, scope api.Scope, asset api.Asset) (api.Asset, error)
	// SetAsset changes the fields that are given, InstallComponent puts a
	// component in, in the place of former unless that is empty, and
	// RemoveComponent takes one out. They answer how the asset was and is; 409
	// when a version is given that it has no longer.
	SetAsset(ctx context.Context, scope api.Scope, ref api.AssetRef, change api.Asset) (before, after api.Asset, err error)
	InstallComponent(ctx context.Context, scope api.Scope, ref api.AssetRef, version int, c api.Component, former string) (before, after api.Asset, err error)
	RemoveComponent(ctx context.Context, scope api.Scope, ref api.AssetRef, version int, serial string) (before, after api.Asset, err error)
}

// Uploads takes files in and tells what became of them.
type Uploads interface {
	// Upload keeps the file durably and queues its import in one step. The
	// required fields of req are there; the site need not exist yet.
	// A refused file leaves a record, whose upload_id is among the refusal's
	// details.
	Upload(ctx context.Context, scope api.Scope, req api.UploadRequest, file io.Reader) (api.UploadAck, error)
	// Refuse leaves the record of a file that was refused while it was read,
	// and answers the refusal with its upload_id.
	Refuse(ctx context.Context, scope api.Scope, req api.UploadRequest, refusal *api.Error) error
	// Import queues a file that is named by req.S3Path: an object of the
	// service that an upload of the customer put there, or a file in a place
	// that the operator allows; otherwise a 400 in words.
	Import(ctx context.Context, scope api.Scope, req api.UploadRequest) (api.UploadAck, error)
	// Find answers api.ErrNotFound for an unknown id.
	Find(ctx context.Context, scope api.Scope, uploadID string) (api.Upload, error)
	// Cancel ends an import or the training after it; api.ErrNotFound for an
	// unknown id, 409 where there is nothing to end.
	Cancel(ctx context.Context, scope api.Scope, uploadID string) (api.Upload, error)
	// Uploads lists newest first; q.CustomerID and q.SiteID narrow.
	Uploads(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Upload, string, error)
}

// Forecasts makes and keeps forecasts.
type Forecasts interface {
	// Generate answers api.ErrNoModel until a model is trained.
	Generate(ctx context.Context, scope api.Scope, q api.ForecastQuery) (api.GeneratedForecast, error)
	// Energy is the hourly energy of POST /forecast; ForecastHours is filled in.
	Energy(ctx context.Context, scope api.Scope, req api.EnergyForecastRequest) (api.EnergyForecast, error)
	// Stored lists newest first; api.ErrNoForecastResult when the customer has none.
	Stored(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.StoredForecast, string, error)
	// ForecastSnapshot answers api.ErrNotFound until a model is trained.
	ForecastSnapshot(ctx context.Context, scope api.Scope, siteID string, hours int) (api.ForecastSnapshot, error)
	// Accuracy is how stored forecasts have done, by lead.
	Accuracy(ctx context.Context, scope api.Scope, q api.AccuracyRequest) (api.Accuracy, error)
}

// Findings are the OODA summaries and what was done.
type Findings interface {
	// Findings lists active first, most energy at risk first;
	// api.ErrNoSummaries when there is none.
	Findings(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Finding, string, error)
	// Activities are of the last 24 hours, newest first.
	Activities(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Activity, string, error)
}

// Detector looks for faults.
type Detector interface {
	// Detect runs over one asset's last hours (0: the detector's own span) and
	// stores the run.
	Detect(ctx context.Context, scope api.Scope, ref api.AssetRef, lookbackHours int) (api.Detection, error)
	// Detections lists stored runs newest first; all ids of q narrow.
	Detections(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Detection, string, error)
}

// Models is the registry.
type Models interface {
	// Models lists by site, newest version first.
	Models(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Model, string, error)
	// EvaluateModel answers the challenger with its verdict;
	// api.ErrModelNotFound for an unknown one, 409 for one that is none.
	EvaluateModel(ctx context.Context, scope api.Scope, r api.ModelsRequest) (api.Model, error)
	// PromoteModel and RollbackModel answer the model that is in production
	// now, and the version of the one that was.
	PromoteModel(ctx context.Context, scope api.Scope, r api.ModelsRequest) (m api.Model, former string, err error)
	RollbackModel(ctx context.Context, scope api.Scope, r api.ModelsRequest) (m api.Model, former string, err error)
	// ModelHistory lists changes of status, newest first.
	ModelHistory(ctx context.Context, scope api.Scope, r api.ModelsRequest) ([]api.ModelMove, string, error)
}

// Interpolations are what filling gaps gave.
type Interpolations interface {
	// Interpolations lists newest first; api.ErrNoInterpolation when the
	// customer has none.
	Interpolations(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.InterpolationResult, string, error)
	// Gaps are those that one run filled, the longest first.
	Gaps(ctx context.Context, scope api.Scope, resultID string, q api.ListQuery) (api.GapsResponse, error)
}

// Summaries are a site's vital signs.
type Summaries interface {
	SiteSummary(ctx context.Context, scope api.Scope, siteID string) (api.SiteSummary, error)
	// Fleet lists the sites by name; q.CustomerID narrows.
	Fleet(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.FleetSite, string, error)
}

// Journal is what the service has logged of late.
type Journal interface {
	// Entries lists those of a level and above (empty: all), newest first, that
	// came before a sequence (0: all), at most limit of them.
	Entries(level string, before int64, limit int) []api.LogEntry
}

// Freemium forecasts without an account.
type Freemium interface {
	// SendCode sends a code to an address, asked for from the network address
	// remote; api.ErrInvalidEmail, 429 for too many of a network, 503 for too many in all.
	SendCode(ctx context.Context, email, remote string) error
	// Forecast redeems the code of req, whose required fields are there, for a
	// caller at the network address remote.
	Forecast(ctx context.Context, req api.FreemiumRequest, remote string, file io.Reader) (api.FreemiumForecast, error)
}
