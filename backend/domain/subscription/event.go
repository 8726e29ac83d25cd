package subscription

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
	"app.sunloop/backend/stream"
	"app.sunloop/engine/detect"
)

// unassigned is the technician of an order that has none.
const unassigned = "unassigned"

// familySilent is the family of findings that a site, or one of its units, sends no data.
const familySilent = string(detect.DataSilence)

// event is what happened to an object.
type event struct {
	kind, object, objectID string
	data                   api.WebhookData
}

// alertTypes are the types of events by the state that an alert enters.
var alertTypes = map[string]string{
	api.AlertUnacknowledged: api.EventAlertRaised, api.AlertAcknowledged: api.EventAlertAcknowledged, api.AlertReturned: api.EventAlertReturned,
	api.AlertShelved: api.EventAlertShelved, api.AlertSuppressed: api.EventAlertSuppressed, api.AlertCleared: api.EventAlertCleared,
}

// uploadTypes are the types of events by the status that an upload enters.
var uploadTypes = map[string]string{
	api.UploadCompleted: api.EventUploadCompleted, api.UploadWithWarnings: api.EventUploadCompleted, api.UploadFailed: api.EventUploadFailed,
	api.UploadRejected: api.EventUploadRejected, api.UploadReverted: api.EventUploadReverted,
}

// eventsOf returns the events that follow from a record that was written.
func eventsOf(r stream.Record) (list []event) {
	v, was := r.After, cmp.Or(r.Before, &stream.State{})
	switch r.Kind {
	case api.StreamOrder:
		data := api.WebhookData{Status: v.Status, FormerStatus: was.Status, AssignedTechnician: v.AssignedTechnician, Priority: v.Priority, MaintenanceType: v.MaintenanceType, SummaryID: v.SummaryID}
		add := func(kind string) { list = append(list, event{kind, api.ObjectOrder, v.OrderID, data}) }
		if r.Before == nil {
			add(api.EventOrderCreated)
		}
		if v.AssignedTechnician != was.AssignedTechnician && v.AssignedTechnician != "" && v.AssignedTechnician != unassigned {
			add(api.EventOrderAssigned)
		}
		if r.Before != nil && v.Status != was.Status {
			add(api.EventOrderStatusChanged)
		}
	case api.StreamFinding:
		// A finding that is found after it has ended has no event of its begin.
		if r.Before != nil && v.IsActive() == was.IsActive() {
			return nil
		}
		data := api.WebhookData{Status: api.StreamClosed, Severity: v.SeverityLabel, FaultFamily: v.FaultFamily, Summary: v.Summary, SummaryID: v.SummaryID}
		kind, ofSite := api.EventFindingClosed, api.EventSiteReporting
		if v.IsActive() {
			kind, ofSite, data.Status = api.EventFindingOpened, api.EventSiteSilent, api.StreamOpen
		}
		if r.Before != nil {
			data.FormerStatus = map[bool]string{true: api.StreamOpen, false: api.StreamClosed}[was.IsActive()]
		}
		list = append(list, event{kind, api.ObjectFinding, v.SummaryID, data})
		if v.FaultFamily == familySilent {
			list = append(list, event{ofSite, api.ObjectSite, v.SiteID, api.WebhookData{Summary: v.Summary, SummaryID: v.SummaryID}})
		}
	case api.StreamAlert:
		if kind := alertTypes[v.State]; kind != "" && v.State != was.State {
			list = append(list, event{kind, api.ObjectAlert, v.AlertID, api.WebhookData{Status: v.State, FormerStatus: was.State, Severity: v.AlertSeverity,
				FaultFamily: v.AlertType, Summary: v.Message, SummaryID: v.SummaryID}})
		}
	case stream.RecordUpload:
		kind := uploadTypes[v.ProcessingStatus]
		if kind == "" && r.Before == nil {
			kind = api.EventUploadAccepted
		}
		if kind != "" && v.ProcessingStatus != was.ProcessingStatus {
			list = append(list, event{kind, api.ObjectUpload, v.UploadID, api.WebhookData{Status: v.ProcessingStatus, FormerStatus: was.ProcessingStatus,
				Filename: v.Filename, RowsStored: v.RowsStored, Error: v.Error}})
		}
	case api.StreamForecast:
		if r.Before == nil {
			list = append(list, event{api.EventForecastIssued, api.ObjectForecast, v.SiteID, api.WebhookData{ForecastID: v.ForecastID, ModelName: v.ModelName, ModelVersion: v.ModelVersion}})
		}
	case stream.RecordModel:
		if v.Status == api.ModelProduction && was.Status != api.ModelProduction {
			list = append(list, event{api.EventModelPromoted, api.ObjectModel, v.ModelName, api.WebhookData{Status: v.Status, FormerStatus: was.Status, ModelName: v.ModelName, ModelVersion: v.ModelVersion}})
		}
	}
	return list
}

// Written writes the events of the records that a transaction wrote into the outbox; see
// [stream.Watcher].
func (s *Service) Written(ctx context.Context, tx store.Tx, list []stream.Record) (some bool, err error) {
	of := map[string][]subscription{} // by customer
	for _, r := range list {
		events := eventsOf(r)
		if len(events) == 0 {
			continue
		}
		customer, site := r.After.CustomerID, r.After.SiteID
		if r.Kind == api.StreamFinding && r.After.FaultFamily == familySilent && r.After.Subject != "" {
			single, err := s.Single(tx, site)
			if err != nil {
				return false, fmt.Errorf("count the units of site %s: %w", site, err)
			}
			if !single { // the silence of a unit, while the site delivers
				events = slices.DeleteFunc(events, func(e event) bool { return e.object == api.ObjectSite })
			}
		}
		all, ok := of[customer]
		if !ok {
			if all, err = ofCustomer(tx, customer); err != nil {
				return false, err
			}
			of[customer] = all
		}
		for _, e := range events {
			added, err := s.announce(ctx, tx, all, customer, site, r.After.AssetID, e)
			if err != nil {
				return false, err
			}
			some = some || added
		}
	}
	return some, nil
}

// announce writes an event for the subscriptions of a customer that select it. Objects of
// sites without subscriptions are not numbered.
func (s *Service) announce(ctx context.Context, tx store.Tx, all []subscription, customer, site, asset string, e event) (some bool, err error) {
	now := s.Wall()
	var body []byte
	number := 0
	for _, v := range all {
		if v.SiteID != "" && v.SiteID != site {
			continue
		}
		if number == 0 {
			if number, err = next(tx, site, e, now); err != nil {
				return false, err
			}
		}
		if !api.SelectsEvent(v.Events, e.kind) {
			continue
		}
		if body == nil {
			body, err = json.Marshal(api.WebhookEvent{EventID: s.ids.New("evt", now), Type: e.kind, Timestamp: api.At(now), Sequence: number, Object: e.object, ObjectID: e.objectID,
				CustomerID: customer, SiteID: site, AssetID: asset, Data: e.data})
			if err != nil {
				return false, fmt.Errorf("encode an event of %s %s: %w", e.object, e.objectID, err)
			}
		}
		d := delivery{DeliveryID: s.ids.New("evd", now), SubscriptionID: v.SubscriptionID, CustomerID: customer, SiteID: site, Object: e.object, ObjectID: e.objectID,
			Sequence: number, Body: body, CreatedAt: api.At(now), Origin: store.OriginOf(ctx)}
		before, err := firstOpen(tx, d.queue())
		if err != nil {
			return false, err
		}
		if d.due(now, now); before != nil || !v.live() {
			d.setStatus(api.DeliveryHeld)
		}
		if err := putDelivery(tx, d); err != nil {
			return false, err
		}
		some = true
	}
	return some, nil
}

// next numbers an event of an object.
func next(tx store.Tx, site string, e event, now time.Time) (int, error) {
	v := sequence{SiteID: site, Object: e.object, ObjectID: e.objectID}
	switch last, err := sequences.Get(tx, sequences.Key(v)); {
	case err == nil:
		v = last
	case !errors.Is(err, store.ErrNotFound):
		return 0, fmt.Errorf("read the sequence of %s %s: %w", e.object, e.objectID, err)
	}
	v.Last++
	v.At = api.At(now)
	return v.Last, record.Wrap(sequences.Put(tx, v), "store the sequence of "+e.object+" "+e.objectID)
}
