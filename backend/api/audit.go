package api

// PathAudit is the trail of who changed what, and PermissionAudit what reading
// it needs.
const (
	PathAudit = "/terminal/audit"

	PermissionAudit Permission = "audit.read"
)

// AuditRequest is the body of POST /terminal/audit.
type AuditRequest struct {
	Action     string `json:"action,omitempty"`
	CustomerID string `json:"customer_id,omitempty"`
	SiteID     string `json:"site_id,omitempty"`
	Actor      string `json:"actor,omitempty"`     // a username, the name of an API key, or the id of either
	Route      string `json:"route,omitempty"`     // as in the records, maybe with the action behind it: "keys revoke"
	TargetID   string `json:"target_id,omitempty"` // one of the ids of what was done something to
	From       Time   `json:"from,omitzero"`       // the first instant
	To         Time   `json:"to,omitzero"`         // the end, which is not in it
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

// AuditRecord is who did what, and what came of it.
type AuditRecord struct {
	AuditID     string            `json:"audit_id"`
	Timestamp   Time              `json:"timestamp"`
	Actor       string            `json:"actor,omitempty"`    // the username, or the name of the API key; absent: somebody unknown
	ActorID     string            `json:"actor_id,omitempty"` // user_id or api_key_id
	Address     string            `json:"address,omitempty"`  // where the request came from
	Route       string            `json:"route"`
	Action      string            `json:"action,omitempty"`
	CustomerIDs []string          `json:"customer_ids,omitempty"` // whose data it was about
	SiteID      string            `json:"site_id,omitempty"`
	TargetIDs   map[string]string `json:"target_ids,omitempty"` // what it was about, by the name of the id
	Status      int               `json:"status"`               // of the answer; HTTP
	Error       string            `json:"error,omitempty"`      // the message of a refusal
	RequestID   string            `json:"request_id,omitempty"`
	Replayed    bool              `json:"replayed,omitempty"` // the answer of a former request with the same Idempotency-Key
	Before      any               `json:"before,omitempty"`   // of administration: how it was
	After       any               `json:"after,omitempty"`    // and is
	Omitted     int               `json:"omitted,omitempty"`  // refusals of the same actor before this one that were too many to keep
}
