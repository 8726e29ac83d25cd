package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"html/template"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Notifications configure who is notified of alarms, and say what was sent.
type Notifications interface {
	// Configuration returns the items of an owner, without secrets.
	Configuration(ctx context.Context, scope api.Scope, customerID string) (api.NotificationConfig, error)
	// Set creates or replaces one item, and returns its version and what it was and is.
	Set(ctx context.Context, scope api.Scope, r api.NotificationsRequest) (version int, before, after any, err error)
	// Remove returns what the item was; an error if another item refers to it.
	Remove(ctx context.Context, scope api.Scope, r api.NotificationsRequest) (before any, err error)
	// Apply replaces all items of an owner, and returns the differences.
	Apply(ctx context.Context, scope api.Scope, r api.NotificationsRequest) ([]api.NotificationChange, error)
	// ImportAbsences replaces the absences of a person in a rotation.
	ImportAbsences(ctx context.Context, scope api.Scope, r api.NotificationsRequest) (n int, before, after any, err error)
	// Test sends a message now.
	Test(ctx context.Context, scope api.Scope, r api.NotificationsRequest) ([]api.NotificationResult, error)
	// Retry makes a dead delivery pending.
	Retry(ctx context.Context, scope api.Scope, deliveryID string) (api.NotificationDelivery, error)
	// List returns deliveries, the newest first.
	List(ctx context.Context, scope api.Scope, r api.NotificationsRequest) ([]api.NotificationDelivery, string, error)
	// Explain says what was sent of an alarm, and what routes do with it.
	Explain(ctx context.Context, scope api.Scope, r api.NotificationsRequest) ([]api.NotificationDelivery, []api.NotificationDecision, error)
	// Simulate says who would be notified of an alarm.
	Simulate(ctx context.Context, scope api.Scope, r api.NotificationsRequest) ([]api.NotificationDelivery, []api.NotificationDecision, error)
	// OnCall returns shifts of rotations.
	OnCall(ctx context.Context, scope api.Scope, r api.NotificationsRequest) ([]api.NotificationShift, error)
	// Calendar returns the shifts of a rotation as iCalendar.
	Calendar(ctx context.Context, scope api.Scope, r api.NotificationsRequest) (string, error)

	// PendingAcknowledgement returns what a link would acknowledge; it changes nothing.
	// An unknown token is [api.ErrAcknowledgeLink].
	PendingAcknowledgement(ctx context.Context, token string) (api.AcknowledgePage, error)
	// AcknowledgeByLink acknowledges the alarms of a link, once.
	AcknowledgeByLink(ctx context.Context, token, comment string) (api.AcknowledgePage, error)
}

func (s *server) notificationHandlers() {
	type request = api.NotificationsRequest
	type response = api.NotificationsResponse
	handle(s, api.GetNotificationConfig, func(ctx context.Context, c *caller, r *request) (response, error) {
		config, err := s.Notifications.Configuration(ctx, c.scope, r.CustomerID)
		return response{Success: true, Configuration: &config, Count: len(config.Channels) + len(config.People) + len(config.Rotations) + len(config.Routes)}, err
	})
	handle(s, api.SetNotificationItem, func(ctx context.Context, c *caller, r *request) (response, error) {
		version, before, after, err := s.Notifications.Set(ctx, c.scope, *r)
		c.audit.change(before, after)
		return response{Success: true, Message: "Stored", Version: version, Count: 1}, err
	})
	handle(s, api.RemoveNotificationItem, func(ctx context.Context, c *caller, r *request) (response, error) {
		before, err := s.Notifications.Remove(ctx, c.scope, *r)
		c.audit.change(before, nil)
		return response{Success: true, Message: "Removed", Count: 1}, err
	})
	handle(s, api.ApplyNotificationConfig, func(ctx context.Context, c *caller, r *request) (response, error) {
		changes, err := s.Notifications.Apply(ctx, c.scope, *r)
		message := "Applied"
		if r.DryRun {
			message = "Not applied: dry run"
		} else if err == nil {
			c.audit.change(nil, changes)
		}
		return response{Success: true, Message: message, Changes: nonNil(changes), Count: len(changes)}, err
	})
	handle(s, api.ImportAbsences, func(ctx context.Context, c *caller, r *request) (response, error) {
		n, before, after, err := s.Notifications.ImportAbsences(ctx, c.scope, *r)
		c.audit.change(before, after)
		return response{Success: true, Message: strconv.Itoa(n) + " absences read", Count: n}, err
	})
	handle(s, api.TestNotification, func(ctx context.Context, c *caller, r *request) (response, error) {
		results, err := s.Notifications.Test(ctx, c.scope, *r)
		return response{Success: true, Results: nonNil(results), Count: len(results)}, err
	})
	handle(s, api.RetryNotification, func(ctx context.Context, c *caller, r *request) (response, error) {
		d, err := s.Notifications.Retry(ctx, c.scope, r.DeliveryID)
		return response{Success: true, Message: "Waits to be sent again", Deliveries: []api.NotificationDelivery{d}, Count: 1}, err
	})
	handle(s, api.ListNotifications, func(ctx context.Context, c *caller, r *request) (response, error) {
		list, next, err := s.Notifications.List(ctx, c.scope, *r)
		return response{Success: true, Deliveries: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.ExplainNotification, func(ctx context.Context, c *caller, r *request) (response, error) {
		list, decisions, err := s.Notifications.Explain(ctx, c.scope, *r)
		return response{Success: true, Deliveries: nonNil(list), Decisions: nonNil(decisions), Count: len(list)}, err
	})
	handle(s, api.SimulateNotification, func(ctx context.Context, c *caller, r *request) (response, error) {
		list, decisions, err := s.Notifications.Simulate(ctx, c.scope, *r)
		return response{Success: true, Deliveries: nonNil(list), Decisions: nonNil(decisions), Count: len(list)}, err
	})
	handle(s, api.ListOnCall, func(ctx context.Context, c *caller, r *request) (response, error) {
		shifts, err := s.Notifications.OnCall(ctx, c.scope, *r)
		return response{Success: true, Shifts: nonNil(shifts), Count: len(shifts)}, err
	})
	handle(s, api.ExportOnCall, func(ctx context.Context, c *caller, r *request) (response, error) {
		calendar, err := s.Notifications.Calendar(ctx, c.scope, *r)
		return response{Success: true, Calendar: calendar, Count: 1}, err
	})
}

//go:embed acknowledge.html
var acknowledgeHTML string

//go:embed acknowledge.css
var acknowledgeCSS string

var acknowledgeTemplate = template.Must(template.New("acknowledge").Funcs(template.FuncMap{
	"style": func() template.HTML { return template.HTML("<style>" + acknowledgeCSS + "</style>") }, //nolint:gosec // our own file
}).Parse(acknowledgeHTML))

// acknowledgePolicy allows only the page's own style, and its form to its own place.
var acknowledgePolicy = func() string {
	sum := sha256.Sum256([]byte(acknowledgeCSS))
	return "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
}()

// maxAcknowledgeBody bounds the form of the page.
const maxAcknowledgeBody = 16 << 10

// acknowledge serves the page of a link of a message. It needs no account: the link is
// the credential. GET changes nothing, so that programs that open links of messages
// acknowledge nothing.
func (s *server) acknowledge(w http.ResponseWriter, q *http.Request) {
	if hosts := viewOf(q.Context()).hosts; len(hosts) > 0 && !slices.Contains(hosts, api.HostMain) {
		s.dispatch(w, q, nil)
		return
	}
	token := q.PathValue("token")
	ctx := q.Context()
	q = q.Clone(ctx)
	q.URL.Path, q.URL.RawPath = api.PathAcknowledge, "" // the log has no token
	annotateExchange(ctx, func(x *Exchange) { x.Route = "acknowledge" })
	if s.Closed != nil {
		if err := s.Closed(); err != nil {
			s.refuse(w, q, err)
			return
		}
	}
	ctx = store.WithBudget(ctx, s.Wait, s.Wait/waitReserve)
	var page api.AcknowledgePage
	var err error
	switch q.Method {
	case http.MethodGet, http.MethodHead:
		page, err = s.Notifications.PendingAcknowledgement(ctx, token)
	case http.MethodPost:
		if kind, _, _ := strings.Cut(q.Header.Get("Content-Type"), ";"); !strings.EqualFold(strings.TrimSpace(kind), "application/x-www-form-urlencoded") {
			s.refuse(w, q, errUnsupportedType)
			return
		}
		body, readErr := io.ReadAll(http.MaxBytesReader(w, q.Body, maxAcknowledgeBody))
		form, parseErr := url.ParseQuery(string(body))
		if readErr != nil || parseErr != nil || len([]rune(form.Get("comment"))) > 1000 {
			s.refuse(w, q, api.InvalidField("comment", "at most 1000 characters"))
			return
		}
		page, err = s.Notifications.AcknowledgeByLink(ctx, token, form.Get("comment"))
		s.auditAcknowledgement(w, q, page, err)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		s.refuse(w, q, api.ErrMethodNotAllowed)
		return
	}
	status := http.StatusOK
	switch {
	case errors.Is(err, api.ErrAcknowledgeLink):
		status, page = http.StatusNotFound, api.AcknowledgePage{State: "unknown"}
	case err != nil:
		s.refuse(w, q, err)
		return
	}
	var b bytes.Buffer
	if err := acknowledgeTemplate.Execute(&b, page); err != nil {
		s.refuse(w, q, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", acknowledgePolicy)
	h.Set("Referrer-Policy", "no-referrer") // the address is a credential
	h.Set("Cache-Control", "no-store")
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	if q.Method != http.MethodHead {
		_, _ = w.Write(b.Bytes())
	}
}

// auditAcknowledgement records who acknowledged by a link, before the response is sent.
func (s *server) auditAcknowledgement(w http.ResponseWriter, q *http.Request, page api.AcknowledgePage, err error) {
	r := api.AuditRecord{Address: s.remote(q), Route: "acknowledge", Action: api.ActionAcknowledge, Status: http.StatusOK, RequestID: requestID(w), SiteID: page.SiteID}
	var e *api.Error
	switch {
	case errors.As(err, &e):
		r.Status, r.Error = e.Status, e.Message
	case err != nil:
		r.Status, r.Error = http.StatusInternalServerError, api.ErrInternal.Message
	default:
		r.Actor, r.ActorID = page.By, page.Recipient
		r.TargetIDs = map[string]string{"incident_id": page.IncidentID, "delivery_id": page.DeliveryID}
		if page.CustomerID != "" {
			r.CustomerIDs = []string{page.CustomerID}
		}
		if len(page.AlertIDs) > 0 {
			r.TargetIDs["alert_id"] = page.AlertIDs[0]
		}
		r.After = map[string]any{"state": page.State, "alert_ids": page.AlertIDs}
	}
	if err := s.Audit.Append(context.WithoutCancel(q.Context()), r); err != nil {
		s.Log.Error("append to the audit trail", "error", err.Error(), "route", r.Route, "actor", r.Actor, "request_id", r.RequestID)
	}
}
