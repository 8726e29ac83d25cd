package httpapi

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// Audit keeps the trail of who changed what.
type Audit interface {
	// Append writes a record, with its id and time.
	Append(ctx context.Context, r api.AuditRecord) error
	// List are the records that the scope may see, newest first.
	List(ctx context.Context, scope api.Scope, q api.AuditQuery) ([]api.AuditRecord, string, error)
}

// auditEntry collects what the trail records of a request that writes. Handlers
// add to it only by change.
type auditEntry struct {
	route     *api.Route
	request   *caller
	operation *operation // nil: the parameters were refused
	caller    caller     // as far as the checks came
	result    any
	err       error
	before    any
	after     any
	customers []string // whose data it was about, in addition to the target's

	idempotent bool // the request has an Idempotency-Key that counts
}

// change records the state before and after, nil if it did not or does not exist, and
// whose it is.
func (n *auditEntry) change(before, after any, customers ...string) {
	n.before, n.after = before, after
	for _, id := range customers {
		if !slices.Contains(n.customers, id) {
			n.customers = append(n.customers, id)
		}
	}
}

// newAuditEntry makes a request that writes leave its record, whatever becomes of
// it: before the status is sent, so that no caller learns of a change that is not in
// the trail.
func (s *server) newAuditEntry(w http.ResponseWriter, q *http.Request, rt *api.Route, c *caller) *auditEntry {
	n := &auditEntry{route: rt, request: c}
	if rt.Writes() {
		b := w.(*begunWriter)
		b.before = func(status int) { s.keep(b, q, n, status) }
		b.audit = n
	}
	return n
}

// action is the one that was asked for, also when its parameters were refused.
func (n *auditEntry) action() string {
	if n.operation != nil {
		return n.operation.op.Action
	}
	var body struct {
		Action string `json:"action"`
	}
	if in := n.request.request; in != nil && json.Unmarshal(in.body, &body) != nil {
		return ""
	}
	return body.Action
}

func (s *server) keep(w *begunWriter, q *http.Request, n *auditEntry, status int) {
	action := n.action()
	if op, ok := n.route.Operation(action); !ok || !op.Writes() || op.Frequent && status < http.StatusBadRequest && n.after == nil {
		return
	}
	r := api.AuditRecord{
		Actor: n.caller.Name, ActorID: n.caller.ID, Address: s.remote(q), Route: n.route.Name, Action: action,
		Status: status, RequestID: requestID(w), Replayed: w.Header().Get("Idempotency-Replayed") != "",
		Before: n.before, After: n.after, CustomerIDs: n.customers,
	}
	if w.refusal != nil {
		r.Error = w.refusal.Message
	}
	ids := map[string]string{}
	if n.operation != nil {
		n.operation.target.ids(ids)
	}
	idsIn(reflect.ValueOf(n.caller.asset), ids, false)
	idsIn(reflect.ValueOf(n.caller.site), ids, false)
	if in := n.request.request; r.ActorID != "" && in != nil {
		idsInBody(in.body, ids)
	}
	idsIn(reflect.ValueOf(n.result), ids, true)
	if id := q.PathValue("id"); id != "" && r.ActorID != "" {
		ids["id"] = brieflyID(id)
	}
	switch answer, signIn := n.result.(api.LoginResponse); {
	case n.err != nil:
		if id := auth.SubjectOf(n.err); id != "" {
			ids["user_id"] = id
		}
	case signIn && answer.Account != nil:
		r.Actor, r.ActorID, r.CustomerIDs = answer.Account.Username, answer.Account.UserID, answer.Account.CustomerIDs
		if answer.Before != nil {
			r.Before = answer.Before
		}
		if answer.After != nil {
			r.After = answer.After
		}
	}
	if id := ids["customer_id"]; id != "" && !slices.Contains(r.CustomerIDs, id) {
		r.CustomerIDs = append(slices.Clone(r.CustomerIDs), id)
	}
	r.SiteID = ids["site_id"]
	delete(ids, "customer_id")
	delete(ids, "site_id")
	if len(ids) > 0 {
		r.TargetIDs = ids
	}
	if err := s.Audit.Append(context.WithoutCancel(q.Context()), r); err != nil {
		// What is done is done; the log has what the trail has not.
		s.Log.Error("append to the audit trail", "error", err.Error(), "actor", r.Actor, "actor_id", r.ActorID, "route", r.Route, "action", r.Action,
			"site_id", r.SiteID, "status", r.Status, "request_id", r.RequestID)
	}
}

// ids are the target's own.
func (t target) ids(into map[string]string) {
	site := ""
	if t.siteID != nil {
		site = *t.siteID
	}
	for name, id := range map[string]string{"customer_id": t.customerID, "site_id": site} {
		if id != "" {
			into[name] = brieflyID(id)
		}
	}
	if t.asset != nil {
		into["asset_id"] = brieflyID(t.asset.AssetID)
	}
}

// Bounds of the ids that a caller may write into the trail.
const maxNotedIDs, maxNotedBytes = 12, 128

func brieflyID(id string) string {
	if len(id) > maxNotedBytes {
		id = strings.ToValidUTF8(id[:maxNotedBytes], "")
	}
	return id
}

// properties are fields that hold an id which says how something is, not what
// was done.
var properties = []string{"request_id", "terminal_device_id", "role_id", "group_id", "skin_id"}

// namesID says whether a field of JSON holds the id of what was done something
// to.
func namesID(name string) bool {
	return strings.HasSuffix(name, "_id") && !slices.Contains(properties, name) || name == "model_version"
}

// idsInBody adds the ids at the top of a JSON body, which may be one that was
// refused for what it would take decoded.
func idsInBody(body []byte, into map[string]string) {
	if !json.Valid(body) {
		return
	}
	found := map[string]string{}
	topTexts(body, func(quotedName, quotedText []byte) {
		if len(quotedName) > maxNotedBytes {
			return
		}
		var name, id string
		if json.Unmarshal(quotedName, &name) != nil || !namesID(name) || into[name] != "" || json.Unmarshal(quotedText, &id) != nil || id == "" {
			return
		}
		if _, again := found[name]; again || len(into)+len(found) < maxNotedIDs {
			found[name] = brieflyID(id) // the last of a name, as the decoder has it
		}
	})
	maps.Copy(into, found)
}

// idsIn adds the ids among the fields of a struct, and with deeper those of
// the structs in it.
func idsIn(v reflect.Value, into map[string]string, deeper bool) {
	for v.Kind() == reflect.Pointer && !v.IsNil() {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return
	}
	var inner []reflect.Value
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.IsExported() || name == "-":
		case f.Anonymous && name == "":
			idsIn(v.Field(i), into, deeper)
		case f.Type.Kind() == reflect.String && namesID(name):
			if id := v.Field(i).String(); id != "" && into[name] == "" {
				into[name] = brieflyID(id)
			}
		default:
			inner = append(inner, v.Field(i))
		}
	}
	if deeper {
		for _, f := range inner {
			idsIn(f, into, false)
		}
	}
}
