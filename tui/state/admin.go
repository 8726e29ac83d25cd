package state

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// The queries that belong to no site: the fleet, and those of administration.
const (
	QueryKeys  Query = "keys"
	QueryUsers Query = "users"
	QueryFleet Query = "fleet"
	QueryLog   Query = "log"
	QueryAudit Query = "audit"

	QueryAllUploads Query = "all uploads"
	QueryImport     Query = "import" // the upload that [Need.Of] names

	QueryFleetUnits Query = "fleet units" // today at the site that [Need.Of] names, see [FleetUnitsOf]
)

// Admin is the data that belongs to no site: the fleet, and data for administrators.
type Admin struct {
	Keys  Value[[]api.KeyRecord]  // oldest first
	Users Value[[]api.UserRecord] // by name
	Fleet Value[[]api.FleetSite]  // by name
	Log   Value[[]api.LogEntry]   // of the service, newest first
	Audit Value[Trail]

	Uploads Value[[]api.Upload] // of all sites, newest first
	Import  Value[api.Upload]   // of this console, whose progress is shown

	FleetUnits Value[FleetUnits]
}

// FleetUnits is today at one site of the fleet: its units and what they reported, its
// alarms with their findings, and its forecast.
type FleetUnits struct {
	Site     api.SiteRef
	Assets   []api.Asset
	Day      Day
	Alerts   []api.Alert
	Findings []api.Finding
	Forecast api.GeneratedForecast
	// AlertsErr is why the alarms are unknown, ForecastErr why there is no forecast.
	AlertsErr, ForecastErr error
}

// FleetUnitsOf names a site to [QueryFleetUnits]. Neither ids nor names of time zones have a tab.
func FleetUnitsOf(f api.FleetSite) string {
	return strings.Join([]string{f.CustomerID, f.SiteID, f.Timezone}, "\t")
}

// fleetUnits asks for the units of a site, their means of a quarter of an hour since its midnight, its alarms and its forecast.
func fleetUnits(ctx context.Context, c *client.Client, r Request) (FleetUnits, error) {
	part := append(strings.Split(r.id, "\t"), "", "")
	out := FleetUnits{Site: api.SiteRef{CustomerID: part[0], SiteID: part[1]}}
	zone, err := time.LoadLocation(part[2])
	if err != nil {
		zone = time.UTC
	}
	out.Day.Start, out.Day.End = midnight(r.now, zone), nextMidnight(r.now, zone)
	out.Assets, err = everyPage(func(p api.Page) ([]api.Asset, string, error) {
		v, err := c.Assets(ctx, api.ListQuery{CustomerID: out.Site.CustomerID, SiteID: out.Site.SiteID, Page: p})
		if err != nil {
			return nil, "", err
		}
		return v.Assets, v.NextCursor, nil
	})
	if err != nil {
		return out, err
	}
	v, err := c.SiteRecords(ctx, api.RecordsQuery{
		CustomerID: out.Site.CustomerID, SiteID: out.Site.SiteID, Start: api.At(out.Day.Start), End: api.LastBefore(out.Day.End), Resolution: api.Resolution15Min,
	})
	if err != nil {
		return out, err
	}
	out.Day = out.Day.With(v.Records)
	return out, out.situation(ctx, c)
}

// situation asks for the alarms of the site, their findings and its forecast.
func (f *FleetUnits) situation(ctx context.Context, c *client.Client) error {
	of := api.ListQuery{CustomerID: f.Site.CustomerID, SiteID: f.Site.SiteID, Page: api.Page{Limit: api.MaxLimit}}
	alerts, err := c.Alerts(ctx, of, "")
	var findings *api.FindingsResponse
	if err == nil {
		findings, err = c.Findings(ctx, of)
	}
	switch {
	case err == nil:
		f.Alerts, f.Findings = alerts.Alerts, findings.MLEnhancedActivities
	case !missing(err):
		return err
	}
	f.AlertsErr = err
	forecast, err := c.Forecast(ctx, api.ForecastQuery{CustomerID: f.Site.CustomerID, SiteID: f.Site.SiteID, HorizonHours: 24})
	switch {
	case err == nil:
		f.Forecast = *forecast
	case !missing(err):
		return err
	}
	f.ForecastErr = err
	return nil
}

// missing reports whether the service refused a request because what is asked for does not
// exist or is not the user's to see, which is no reason to ask again soon.
func missing(err error) bool {
	var refusal *api.Error
	return errors.As(err, &refusal) && refusal.Status >= http.StatusBadRequest && refusal.Status < http.StatusInternalServerError &&
		refusal.Status != http.StatusTooManyRequests && refusal.Status != http.StatusUnauthorized
}

// Trail is the result of a query of the audit trail.
type Trail struct {
	Records []api.AuditRecord // newest first
	More    bool              // older ones are there
}

// AuditQuestion is a query of the audit trail; empty fields match everything.
type AuditQuestion struct {
	Actor    string   `json:"actor,omitempty"`
	SiteID   string   `json:"site_id,omitempty"`
	Customer string   `json:"customer_id,omitempty"` // of SiteID, where several customers have a site of it
	Route    string   `json:"route,omitempty"`
	TargetID string   `json:"target_id,omitempty"`
	From     api.Time `json:"from,omitzero"`
	To       api.Time `json:"to,omitzero"`
	Parts    int      `json:"parts"` // of auditPart records, from the newest on
}

// auditPart is how many records a part of the trail has at most; one that the
// service cut short counts as well.
const auditPart = 500

// Of names the question to the planner.
func (q AuditQuestion) Of() string {
	q.Parts = max(q.Parts, 1)
	b, err := json.Marshal(q)
	if err != nil {
		panic(err) // text, times and a number
	}
	return string(b)
}

// trail asks for the parts of a question.
func trail(ctx context.Context, c *client.Client, of string) (t Trail, err error) {
	var q AuditQuestion
	if err := json.Unmarshal([]byte(of), &q); err != nil {
		return t, err
	}
	r := api.AuditRequest{Actor: q.Actor, CustomerID: q.Customer, SiteID: q.SiteID, Route: q.Route, TargetID: q.TargetID, From: q.From, To: q.To, Page: api.Page{Limit: auditPart}}
	for range q.Parts {
		v, err := c.Audit(ctx, r)
		if err != nil {
			return t, err
		}
		t.Records = append(t.Records, v.Records...)
		r.Cursor = v.NextCursor
		if t.More = r.Cursor != ""; !t.More {
			break
		}
	}
	return t, nil
}

var adminSources = map[Query]source{
	QueryKeys: anywhere(func(s *Store) *Value[[]api.KeyRecord] { return &s.Admin.Keys }, func(ctx context.Context, c *client.Client, _ Request) ([]api.KeyRecord, error) {
		return everyPage(func(p api.Page) ([]api.KeyRecord, string, error) {
			v, err := c.Keys(ctx, api.ListQuery{Page: p})
			if err != nil {
				return nil, "", err
			}
			return v.Keys, v.NextCursor, nil
		})
	}),
	QueryFleet: anywhere(func(s *Store) *Value[[]api.FleetSite] { return &s.Admin.Fleet }, func(ctx context.Context, c *client.Client, _ Request) ([]api.FleetSite, error) {
		return everyPage(func(p api.Page) ([]api.FleetSite, string, error) {
			v, err := c.Fleet(ctx, api.ListQuery{Page: p})
			if err != nil {
				return nil, "", err
			}
			return v.Sites, v.NextCursor, nil
		})
	}),
	QueryLog: anywhere(func(s *Store) *Value[[]api.LogEntry] { return &s.Admin.Log }, func(ctx context.Context, c *client.Client, _ Request) ([]api.LogEntry, error) {
		v, err := c.Log(ctx, api.LogRequest{Page: api.Page{Limit: api.MaxLimit}})
		return field(v, err, func() []api.LogEntry { return v.Lines })
	}),
	QueryUsers: anywhere(func(s *Store) *Value[[]api.UserRecord] { return &s.Admin.Users }, func(ctx context.Context, c *client.Client, _ Request) ([]api.UserRecord, error) {
		return everyPage(func(p api.Page) ([]api.UserRecord, string, error) {
			v, err := c.Users(ctx, api.ListQuery{Page: p})
			if err != nil {
				return nil, "", err
			}
			return v.Users, v.NextCursor, nil
		})
	}),
	QueryAllUploads: anywhere(func(s *Store) *Value[[]api.Upload] { return &s.Admin.Uploads }, func(ctx context.Context, c *client.Client, _ Request) ([]api.Upload, error) {
		v, err := c.Uploads(ctx, api.ListQuery{Page: api.Page{Limit: api.MaxLimit}})
		return field(v, err, func() []api.Upload { return v.Uploads })
	}),
	QueryImport: asked(anywhere(func(s *Store) *Value[api.Upload] { return &s.Admin.Import }, func(ctx context.Context, c *client.Client, r Request) (api.Upload, error) {
		v, err := c.Upload(ctx, r.id)
		return field(v, err, func() api.Upload { return *v })
	})),
	QueryFleetUnits: asked(anywhere(func(s *Store) *Value[FleetUnits] { return &s.Admin.FleetUnits }, fleetUnits)),
	QueryAudit: asked(anywhere(func(s *Store) *Value[Trail] { return &s.Admin.Audit }, func(ctx context.Context, c *client.Client, r Request) (Trail, error) {
		return trail(ctx, c, r.id)
	})),
}

// asked returns a query about what [Need.Of] says.
func asked(src source) source {
	src.named = true
	return src
}

// roles are the ids of the roles with their names, the one with the fewest permissions
// first.
var roles = []struct{ id, name string }{
	{api.RoleAnalyst, "Analyst"}, {api.RoleTechnician, "Technician"}, {api.RoleOperator, "Operator"}, {api.RoleAdmin, "Administrator"},
}

// Roles returns the ids of all roles, the one with the fewest permissions first.
func Roles() []string {
	ids := make([]string, len(roles))
	for i, r := range roles {
		ids[i] = r.id
	}
	return ids
}

// KeyRoles returns the ids of the roles that an API key may have: those of users, and that of
// collectors.
func KeyRoles() []string { return append(Roles(), api.RoleCollector) }

// RoleName returns a role's name, the id of one that is not known.
func RoleName(id string) string {
	if id == api.RoleCollector {
		return "Collector"
	}
	for _, r := range roles {
		if r.id == id {
			return r.name
		}
	}
	return id
}
