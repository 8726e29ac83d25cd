package api

// Statuses of an issue.
const (
	IssueNew        = "New"
	IssueInProgress = "In Progress"
	IssueResolved   = "Resolved"
)

// Reasons that resolve an unacknowledged issue.
const (
	ReasonAuto      = "auto" // its finding cleared; the service alone gives it
	ReasonDuplicate = "duplicate"
)

// ErrIssueNotFound refuses an issue_id that is not there.
var ErrIssueNotFound = UnknownID("Issue not found")

// IssuesRequest is the body of POST /terminal/issues: action list, create,
// acknowledge or resolve.
type IssuesRequest struct {
	Action      string `json:"action" limit:"word"`
	CustomerID  string `json:"customer_id,omitempty" limit:"id"`
	SiteID      string `json:"site_id,omitempty" limit:"id"`
	AssetID     string `json:"asset_id,omitempty" limit:"id"`     // list
	IssueID     string `json:"issue_id,omitempty" limit:"id"`     // acknowledge, resolve
	Reason      string `json:"reason,omitempty" limit:"text"`     // resolve; acknowledge: a note
	Site        string `json:"site,omitempty" limit:"id"`         // create: the site's id
	Component   string `json:"component,omitempty" limit:"name"`  // create: a unit's id, or what else is ill
	IssueType   string `json:"issue_type,omitempty" limit:"name"` // create
	Description string `json:"description,omitempty" limit:"text"`
	Priority    string `json:"priority,omitempty" limit:"word"` // create: high, medium (when empty), low; list
	Status      string `json:"status,omitempty" limit:"word"`   // list
	Page
}

// Issue is a fault that requires the attention of a user.
type Issue struct {
	IssueID         string      `json:"issue_id" limit:"id"`
	AssetID         string      `json:"asset_id,omitempty" limit:"id"`
	AssetIDs        []string    `json:"asset_ids,omitempty" limit:"10000 id cut"` // all units, where there are several
	SiteID          string      `json:"site_id" limit:"id"`
	Component       string      `json:"component" limit:"name cut"`
	IssueType       string      `json:"issue_type" limit:"name cut"` // the fault's family, when the service made it
	Status          string      `json:"status" limit:"word"`
	Priority        string      `json:"priority" limit:"word"`
	EnergyAtRiskKW  float64     `json:"energy_at_risk_kw"` // a power in kW: the mean that is lost in the daylight of the next 24 h
	FinancialImpact float64     `json:"financial_impact"`  // a day's revenue at risk, in the site's currency
	CreatedAt       Time        `json:"created_at"`
	UpdatedAt       Time        `json:"updated_at"`
	UpdatedAtMS     int64       `json:"updated_at_ms,omitempty"` // when it was changed last, in milliseconds since 1970; absent: not known
	Description     string      `json:"description" limit:"line cut"`
	History         []IssueMove `json:"history" limit:"1000 last"` // oldest first
	SummaryID       string      `json:"summary_id,omitempty" limit:"id"`
	Reopened        int         `json:"reopened,omitempty"` // times
}

// IssueMove is a change of an issue's status.
type IssueMove struct {
	From  string `json:"from,omitempty" limit:"word"` // absent: it was made
	To    string `json:"to" limit:"word"`
	At    Time   `json:"at"`
	Actor string `json:"actor" limit:"name cut"`
	Note  string `json:"note,omitempty" limit:"text cut"`
}

// IssuesResponse answers /terminal/issues.
type IssuesResponse struct {
	Success    bool    `json:"success"`
	Message    string  `json:"message,omitempty"`
	IssueID    string  `json:"issue_id,omitempty"`
	Issue      *Issue  `json:"issue,omitempty"`
	Issues     []Issue `json:"issues,omitzero"` // list: there even when empty
	Count      int     `json:"count"`
	NextCursor string  `json:"next_cursor,omitempty"`
}

var issues = Route{
	Name: "issues", Path: PathIssues,
	Summary: "List, create and change issues", Description: "Open ones first. New, In Progress, Resolved.",
	Example: IssuesRequest{Action: ActionCreate, Site: exampleSite, Component: exampleAsset, IssueType: "soiling", Description: "Dust after the storm",
		Priority: PriorityMedium},
	Errors: []*Error{ErrInvalidAction, MissingField("issue_id"), ErrIssueNotFound, InvalidTransition("Issue iss_01J9Z0 is Resolved; it cannot become In Progress")},
}

// Issues.
var (
	ListIssues  = define[IssuesRequest, IssuesResponse](&issues, Operation{Action: ActionList, DefaultAction: true, Permission: PermissionRead, Cacheable: true, Fields: Fields{optional("status").oneOf(IssueNew, IssueInProgress, IssueResolved), since(), pageLimit()}})
	CreateIssue = define[IssuesRequest, IssuesResponse](&issues, Operation{Action: ActionCreate, Permission: PermissionOrders, Idempotent: true, Target: Target{Site: "site"}, Fields: Fields{
		required("component"), required("site"), required("issue_type"), required("description"),
		optional("priority").anyCase(PriorityHigh, PriorityMedium, PriorityLow).withReason("it is high, medium or low")}})
	AcknowledgeIssue = define[IssuesRequest, IssuesResponse](&issues, Operation{Action: ActionAcknowledge, Permission: PermissionOrders, Fields: Fields{required("issue_id")}})
	ResolveIssue     = define[IssuesRequest, IssuesResponse](&issues, Operation{Action: ActionResolve, Permission: PermissionOrders,
		Fields: Fields{required("issue_id"), required("reason").text().unless("customer_id")}})
)
