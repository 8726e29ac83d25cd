package api

import "net/http"

// Statuses of an issue.
const (
	IssueNew        = "New"
	IssueInProgress = "In Progress"
	IssueResolved   = "Resolved"
)

// Reasons that resolve an issue which nobody has acknowledged.
const (
	ReasonAuto      = "auto" // its finding cleared; the service alone gives it
	ReasonDuplicate = "duplicate"
)

// ErrIssueNotFound refuses an issue_id that is not there.
var ErrIssueNotFound = refuse(http.StatusNotFound, "Issue not found")

// IssuesRequest is the body of POST /terminal/issues: action list, create,
// acknowledge or resolve.
type IssuesRequest struct {
	Action      string `json:"action"`
	CustomerID  string `json:"customer_id,omitempty"`
	SiteID      string `json:"site_id,omitempty"`
	AssetID     string `json:"asset_id,omitempty"`   // list
	IssueID     string `json:"issue_id,omitempty"`   // acknowledge, resolve
	Reason      string `json:"reason,omitempty"`     // resolve; acknowledge: a note
	Site        string `json:"site,omitempty"`       // create: the site's id
	Component   string `json:"component,omitempty"`  // create: a unit's id, or what else is ill
	IssueType   string `json:"issue_type,omitempty"` // create
	Description string `json:"description,omitempty"`
	Priority    string `json:"priority,omitempty"` // create: high, medium (when empty), low
	Page
}

// Issue is something that somebody must see to.
type Issue struct {
	IssueID         string      `json:"issue_id"`
	AssetID         string      `json:"asset_id,omitempty"`
	SiteID          string      `json:"site_id"`
	Component       string      `json:"component"`
	IssueType       string      `json:"issue_type"` // the fault's family, when the service made it
	Status          string      `json:"status"`
	Priority        string      `json:"priority"`
	EnergyAtRiskKW  float64     `json:"energy_at_risk_kw"`
	FinancialImpact float64     `json:"financial_impact"` // a day's revenue at risk, in the site's currency
	CreatedAt       Time        `json:"created_at"`
	UpdatedAt       Time        `json:"updated_at"`
	Description     string      `json:"description"`
	History         []IssueMove `json:"history"` // oldest first
	SummaryID       string      `json:"summary_id,omitempty"`
	Reopened        int         `json:"reopened,omitempty"` // times
}

// IssueMove is a change of an issue's status.
type IssueMove struct {
	From  string `json:"from,omitempty"` // absent: it was made
	To    string `json:"to"`
	At    Time   `json:"at"`
	Actor string `json:"actor"`
	Note  string `json:"note,omitempty"`
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
