package api

// PathAudit is the trail of who changed what, and PermissionAudit what reading
// it needs.
const (
	PathAudit = "/terminal/audit"

	PermissionAudit Permission = "audit.read"
)

// AuditRequest is the body of POST /terminal/audit.
type AuditRequest struct {
	Action     string `json:"action,omitempty" limit:"word"`
	CustomerID string `json:"customer_id,omitempty" limit:"id"`
	SiteID     string `json:"site_id,omitempty" limit:"id"`
	Actor      string `json:"actor,omitempty" limit:"id"`     // a username, the name of an API key, or the id of either
	Route      string `json:"route,omitempty" limit:"name"`   // as in the records, maybe with the action behind it: "keys revoke"
	TargetID   string `json:"target_id,omitempty" limit:"id"` // one of the ids of what was done something to
	From       Time   `json:"from,omitzero"`                  // the first instant
	To         Time   `json:"to,omitzero"`                    // the end, which is not in it
	Page
}

// AuditQuery selects records of the trail; what is empty does not narrow.
type AuditQuery struct {
	CustomerID, SiteID, Actor, Route, TargetID string
	From, To                                   Time
	Page
}

// AuditResponse lists records of the trail, newest first.
type AuditResponse struct {
	Success    bool          `json:"success"`
	Records    []AuditRecord `json:"records"`
	Count      int           `json:"count"`
	NextCursor string        `json:"next_cursor,omitempty"` // a part that has it may be short, or empty
}

// AuditRecord is an action with its actor and its result.
type AuditRecord struct {
	AuditID     string            `json:"audit_id" limit:"id"`
	Timestamp   Time              `json:"timestamp"`
	Actor       string            `json:"actor,omitempty" limit:"name cut"`   // the username, or the name of the API key; absent: an unknown caller
	ActorID     string            `json:"actor_id,omitempty" limit:"id cut"`  // user_id or api_key_id
	Address     string            `json:"address,omitempty" limit:"name cut"` // where the request came from
	Route       string            `json:"route" limit:"name cut"`
	Action      string            `json:"action,omitempty" limit:"word cut"`
	CustomerIDs []string          `json:"customer_ids,omitempty" limit:"1000 id cut"` // whose data it was about
	SiteID      string            `json:"site_id,omitempty" limit:"id cut"`
	TargetIDs   map[string]string `json:"target_ids,omitempty" limit:"50 word id cut"` // what it was about, by the name of the id
	Status      int               `json:"status"`                                      // of the answer; HTTP
	Error       string            `json:"error,omitempty" limit:"line cut"`            // the message of a refusal
	RequestID   string            `json:"request_id,omitempty" limit:"id"`
	Replayed    bool              `json:"replayed,omitempty"`                  // the answer of a former request with the same Idempotency-Key
	Before      any               `json:"before,omitempty" limit:"128KiB cut"` // of administration: how it was
	After       any               `json:"after,omitempty" limit:"128KiB cut"`  // and is
	Omitted     int               `json:"omitted,omitempty"`                   // refusals of the same actor before this one that were too many to keep
}

var auditTrail = Route{
	Name: "audit", Path: PathAudit,
	Summary: "List the audit trail", Description: "Newest first: one record for each request that writes, including denied ones. Records of a caller's denied requests are bounded; the others are counted.",
	Example: AuditRequest{Action: ActionList, Actor: "ana", SiteID: exampleSite},
	Errors:  []*Error{ErrInvalidAction, ErrForbidden, InvalidField("to", "lies before from")},
}

// ListAudit lists the audit trail. A refused request may have been about a site
// that does not exist.
var ListAudit = define[AuditRequest, AuditResponse](&auditTrail, Operation{Action: ActionList, DefaultAction: true, Permission: PermissionAudit, Cacheable: true, Target: Target{NewSite: true}, Fields: Fields{
	since(), pageLimit(),
	rule(func(r *AuditRequest) error {
		if !r.From.IsZero() && !r.To.IsZero() && r.To.Before(r.From.Time) {
			return InvalidField("to", "lies before from")
		}
		return nil
	})}})
