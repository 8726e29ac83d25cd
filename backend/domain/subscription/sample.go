package subscription

import (
	"cmp"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/stream"
)

// sample returns an event of a type with made-up data, as it would be posted for a site.
func sample(kind, customer, site string, now time.Time) api.WebhookEvent {
	out := api.WebhookEvent{EventID: record.NewID("evt", now), Type: kind, Timestamp: api.At(now), Sequence: 1,
		CustomerID: cmp.Or(customer, "customer123"), SiteID: cmp.Or(site, "Sibaya"), Test: true}
	for _, r := range samples(out.SiteID) {
		for _, e := range eventsOf(r) {
			if e.kind == kind {
				out.Object, out.ObjectID, out.Data, out.AssetID = e.object, e.objectID, e.data, r.After.AssetID
				return out
			}
		}
	}
	return out
}

// samples are records that were written, from which an event of each type follows.
func samples(site string) (list []stream.Record) {
	add := func(kind string, before, after stream.State) {
		before.SiteID, after.SiteID = site, site
		list = append(list, stream.Record{Kind: kind, Before: &before, After: after})
	}
	addNew := func(kind string, after stream.State) {
		after.SiteID = site
		list = append(list, stream.Record{Kind: kind, After: after})
	}
	order := stream.State{OrderID: "ord_01J9Z0", AssetID: "INV-1", Status: api.OrderPending, AssignedTechnician: unassigned, Priority: api.PriorityHigh, MaintenanceType: api.MaintenanceCorrective}
	assigned, started := order, order
	assigned.AssignedTechnician, started.Status = "thandi", api.OrderInProgress
	addNew(api.StreamOrder, order)
	add(api.StreamOrder, order, assigned)
	add(api.StreamOrder, order, started)

	yes, no := true, false
	opened := stream.State{SummaryID: "sum_01J9Z0", AssetID: "INV-1", SeverityLabel: api.SeverityCritical, FaultFamily: "inverter_outage", Summary: "INV-1 makes no power in daylight", Active: &yes}
	silent := stream.State{SummaryID: "sum_01J9Z1", SeverityLabel: api.SeverityWarning, FaultFamily: familySilent, Summary: "No data since 08:00", Active: &yes}
	for _, f := range []stream.State{opened, silent} {
		closed := f
		closed.Active = &no
		addNew(api.StreamFinding, f)
		add(api.StreamFinding, f, closed)
	}

	alert := stream.State{AlertID: "alt_01J9Z0", AssetID: "INV-1", AlertType: opened.FaultFamily, AlertSeverity: api.AlertCritical, Message: opened.Summary, SummaryID: opened.SummaryID, State: api.AlertUnacknowledged}
	addNew(api.StreamAlert, alert)
	for _, state := range []string{api.AlertAcknowledged, api.AlertReturned, api.AlertShelved, api.AlertSuppressed, api.AlertCleared} {
		moved := alert
		moved.State = state
		add(api.StreamAlert, alert, moved)
	}

	upload := stream.State{UploadID: "upl_01J9Z0", ProcessingStatus: api.UploadQueued, Filename: "march.csv"}
	addNew(stream.RecordUpload, upload)
	for _, status := range []string{api.UploadCompleted, api.UploadFailed, api.UploadRejected, api.UploadReverted} {
		ended := upload
		switch ended.ProcessingStatus = status; status {
		case api.UploadCompleted:
			ended.RowsStored = 8928
		case api.UploadFailed, api.UploadRejected:
			ended.Error = "line 2: the time cannot be read"
		}
		add(stream.RecordUpload, upload, ended)
	}

	challenger := stream.State{ModelName: "solar-forecast", ModelVersion: "v7", Status: api.ModelChallenger}
	promoted := challenger
	promoted.Status = api.ModelProduction
	add(stream.RecordModel, challenger, promoted)
	addNew(api.StreamForecast, stream.State{ForecastID: "fc_01J9Z0", ModelName: promoted.ModelName, ModelVersion: promoted.ModelVersion})
	return list
}
