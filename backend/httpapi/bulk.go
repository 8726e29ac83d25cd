package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"app.sunloop/backend/api"
	"app.sunloop/backend/limit"
	"app.sunloop/backend/store"
)

// The site of a request was replaced by its key, which may be that of a site to be made: records
// without a site get the id back, for permit to look it up as the id of any record.
func (s *server) bulkHandlers() {
	handle(s, api.AddAssets, func(ctx context.Context, c *caller, r *api.BulkRequest) (api.BulkResponse, error) {
		b := s.newBulk(c, len(r.Assets), "assets", r.Atomic)
		for i := range r.Assets {
			a := &r.Assets[i]
			b.ids[i] = a.AssetID
			setDefault(&a.SiteID, api.PublicSiteID(r.SiteID))
			setDefault(&a.CustomerID, r.CustomerID)
			request := api.AssetsRequest{Action: api.ActionAdd, Asset: *a}
			if b.check(i, api.AddAsset.Operation.Check(&request, noField)) {
				site := b.permit(ctx, i, api.AddAsset.Operation, target{customerID: a.CustomerID, siteID: &a.SiteID, newSite: true})
				if site.SiteID != "" {
					a.CustomerID = site.CustomerID
				}
			}
		}
		answer, err := b.write(ctx, "asset added", "assets added", func(ctx context.Context, i int) (siteID, customerID string, err error) {
			added, err := s.Assets.AddAsset(ctx, c.scope, r.Assets[i])
			return added.SiteID, added.CustomerID, err
		})
		s.lookups.invalidate()
		return answer, err
	})
	handle(s, api.AcknowledgeAlerts, func(ctx context.Context, c *caller, r *api.BulkRequest) (api.BulkResponse, error) {
		b := s.newBulk(c, len(r.Alerts), "alerts", r.Atomic)
		for i := range r.Alerts {
			a := &r.Alerts[i]
			b.ids[i] = a.AlertID
			setDefault(&a.SiteID, api.PublicSiteID(r.SiteID))
			if b.check(i, api.AcknowledgeAlert.Operation.Check(&api.AlertsRequest{Action: api.ActionAcknowledge, AlertID: a.AlertID}, noField)) {
				b.permit(ctx, i, api.AcknowledgeAlert.Operation, target{customerID: r.CustomerID, siteID: &a.SiteID})
			}
		}
		return b.write(ctx, "alert acknowledged", "alerts acknowledged", func(ctx context.Context, i int) (siteID, customerID string, err error) {
			a := r.Alerts[i]
			moved, _, err := s.Alerts.MoveAlert(ctx, c.scope, api.AlertsRequest{Action: api.ActionAcknowledge, SiteID: a.SiteID, AlertID: a.AlertID, Reason: a.Reason})
			return moved.SiteID, "", err
		})
	})
	handle(s, api.CreateSchedules, func(ctx context.Context, c *caller, r *api.BulkRequest) (api.BulkResponse, error) {
		b := s.newBulk(c, len(r.Schedules), "schedules", r.Atomic)
		requests := make([]api.ScheduleRequest, len(r.Schedules))
		for i, schedule := range r.Schedules {
			setDefault(&schedule.SiteID, api.PublicSiteID(r.SiteID))
			setDefault(&schedule.CustomerID, r.CustomerID)
			requests[i] = schedule.Request()
			q := &requests[i]
			if b.check(i, api.CreateSchedule.Operation.Check(q, noField)) {
				b.permit(ctx, i, api.CreateSchedule.Operation, target{customerID: q.CustomerID, siteID: &q.SiteID,
					asset: &api.AssetRef{AssetID: q.AssetID, SiteID: q.SiteID, CustomerID: q.CustomerID}})
			}
		}
		answer, err := b.write(ctx, "maintenance schedule created", "maintenance schedules created", func(ctx context.Context, i int) (siteID, customerID string, err error) {
			made, _, err := s.Schedules.CreateSchedule(ctx, c.scope, requests[i])
			b.ids[i] = made.ScheduleID
			return made.SiteID, "", err
		})
		if err == nil && answer.Count > 0 {
			s.Schedules.PlansChanged(ctx)
		}
		return answer, err
	})
}

// noField says of each field that a body does not have it: of a record in a list, a zero is absent.
func noField(string) bool { return false }

func setDefault(to *string, v string) {
	if *to == "" {
		*to = v
	}
}

// bulk is a request that writes several records, of the list with the name.
type bulk struct {
	server *server
	caller *caller
	list   string
	atomic bool
	ids    []string // of the records
	errs   []error  // why records are refused; nil: they are not
	known  map[[2]string]permitted
}

// permitted is what the check of access found for a customer and a site.
type permitted struct {
	site api.Site
	key  string
	err  error
}

func (s *server) newBulk(c *caller, n int, list string, atomic bool) *bulk {
	return &bulk{server: s, caller: c, list: list, atomic: atomic, ids: make([]string, n), errs: make([]error, n), known: map[[2]string]permitted{}}
}

// check notes the error of a record, and reports whether it has none.
func (b *bulk) check(i int, err error) bool {
	b.errs[i] = err
	return err == nil
}

// permit checks that the caller may carry out an operation on the target of a record, and replaces
// the id of the site by its key. It returns the site, which may be unknown.
func (b *bulk) permit(ctx context.Context, i int, op *api.Operation, t target) api.Site {
	id := [2]string{t.customerID, *t.siteID}
	p, ok := b.known[id]
	if !ok || t.asset != nil {
		one := *b.caller
		one.site, one.asset = api.Site{}, api.Asset{}
		absent, refused := b.server.permit(ctx, &one, op, t)
		p = permitted{site: one.site, key: *t.siteID, err: errors.Join(refused, absent)}
		b.known[id] = p
	}
	*t.siteID = p.key
	b.check(i, p.err)
	return p.site
}

// refusal returns the error of the contract for a record that is refused, nil for an error that is
// no refusal.
func refusal(err error) *api.Error {
	var refused *api.Error
	var over *limit.Error
	switch {
	case errors.As(err, &refused) && refused.Status < http.StatusInternalServerError:
		return refused
	case errors.As(err, &over):
		return aboveLimit(over)
	}
	return nil
}

// write carries out do for the records that are not refused, in one transaction, and answers the
// results of all.
func (b *bulk) write(ctx context.Context, one, many string, do func(ctx context.Context, i int) (siteID, customerID string, err error)) (api.BulkResponse, error) {
	sites, customers := make([]string, len(b.ids)), make([]string, len(b.ids))
	errs, err := store.UpdateEach(ctx, b.server.Records, len(b.ids), b.atomic, func(err error) bool { return refusal(err) != nil }, func(ctx context.Context, i int) (err error) {
		if err := b.errs[i]; err != nil {
			return err
		}
		sites[i], customers[i], err = do(ctx, i)
		return err
	})
	if err != nil {
		return api.BulkResponse{}, err
	}
	answer := api.BulkResponse{Success: true, Results: make([]api.BulkResult, len(errs))}
	var refused []api.BulkResult
	written := api.BulkResponse{}
	var owners []string
	for i, err := range errs {
		result := api.BulkResult{Index: i, Status: http.StatusOK, ID: b.ids[i], SiteID: sites[i]}
		if e := refusal(hideUnknownID(b.caller.scope, err)); e != nil {
			body := e.Body("", "")
			reason, _ := e.Details["reason"].(string)
			result = api.BulkResult{Index: i, Status: e.Status, ID: b.ids[i], Error: body.Error, Code: body.Code, Field: body.Field, Reason: reason}
			refused = append(refused, result)
		} else {
			written.Results = append(written.Results, result)
			if customers[i] != "" {
				owners = append(owners, customers[i])
			}
		}
		answer.Results[i] = result
	}
	if b.atomic && len(refused) > 0 {
		return api.BulkResponse{}, api.BulkRefused(refused, len(errs))
	}
	if answer.Count, answer.Failed = len(errs)-len(refused), len(refused); answer.Count > 0 {
		written.Count = answer.Count
		b.caller.audit.change(nil, written, owners...)
	}
	answer.Message = fmt.Sprintf("%d %s", answer.Count, many)
	if answer.Count == 1 {
		answer.Message = "1 " + one
	}
	if answer.Failed > 0 {
		answer.Message += fmt.Sprintf("; %d refused", answer.Failed)
	}
	return answer, nil
}
