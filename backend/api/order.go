package api

import (
	"fmt"
	"time"
)

// Statuses of a work order.
const (
	OrderPending    = "pending"
	OrderInProgress = "in_progress"
	OrderOnHold     = "on_hold"
	OrderCompleted  = "completed"
	OrderCancelled  = "cancelled"
)

// OrderStatuses are all there are.
func OrderStatuses() []string {
	return []string{OrderPending, OrderInProgress, OrderOnHold, OrderCompleted, OrderCancelled}
}

// OrderActions are the moves that an order of a status allows, as far as the
// status alone decides it.
func OrderActions(status string) []string {
	switch status {
	case OrderPending:
		return []string{ActionStart, ActionHold, ActionCancel}
	case OrderInProgress:
		return []string{ActionHold, ActionComplete, ActionCancel}
	case OrderOnHold:
		return []string{ActionStart, ActionResume, ActionCancel}
	case OrderCompleted:
		return []string{ActionReopen}
	}
	return nil
}

// Reasons to hold an order. The limits are paused during the first three, which
// the operator cannot change.
const (
	HoldWeather = "weather"
	HoldUtility = "utility"
	HoldAccess  = "access"
	HoldParts   = "parts"
	HoldSafety  = "safety"
	HoldOther   = "other"
)

// HoldReasons are all there are.
func HoldReasons() []string {
	return []string{HoldWeather, HoldUtility, HoldAccess, HoldParts, HoldSafety, HoldOther}
}

// TechnicianUnassigned is the technician of an unassigned order.
const TechnicianUnassigned = "unassigned"

// ReopenWithin is how long after its completion an order may be opened again.
const ReopenWithin = 7 * 24 * time.Hour

// ReservationLasts is how long after its planned start an order that was not
// started keeps its parts.
const ReservationLasts = 14 * 24 * time.Hour

// ErrOrderNotFound refuses an order_id that is not there.
var ErrOrderNotFound = UnknownID("Order not found")

// Order is a work order: maintenance of an asset to be done by a technician.
// The fields after Priority are extensions.
type Order struct {
	OrderID                string  `json:"order_id" limit:"id"`
	AssetID                string  `json:"asset_id" limit:"id"`
	Status                 string  `json:"status" limit:"word"`
	CreatedAt              Time    `json:"created_at"`
	EstimatedCompletion    Time    `json:"estimated_completion"`
	ScheduleID             string  `json:"schedule_id,omitempty" limit:"id"`
	BOMID                  string  `json:"bom_id" limit:"id"`
	AssignedTechnician     string  `json:"assigned_technician" limit:"name"` // TechnicianUnassigned: none
	EstimatedDurationHours float64 `json:"estimated_duration_hours"`
	Priority               string  `json:"priority" limit:"word"`

	SiteID          string        `json:"site_id" limit:"id"`
	MaintenanceType string        `json:"maintenance_type" limit:"word"`
	FaultFamily     string        `json:"fault_family,omitempty" limit:"word"`
	SummaryID       string        `json:"summary_id,omitempty" limit:"id"` // the finding that it is about
	IssueID         string        `json:"issue_id,omitempty" limit:"id"`   // the issue that it fixes
	PlannedStart    Time          `json:"planned_start"`
	Isolating       bool          `json:"isolating"` // the unit is down during the work
	HoldReason      string        `json:"hold_reason,omitempty" limit:"word"`
	CompletionNotes string        `json:"completion_notes,omitempty" limit:"text"`
	CompletedAt     Time          `json:"completed_at,omitzero"`
	ActualHours     float64       `json:"actual_hours,omitempty"`
	UpdatedAt       Time          `json:"updated_at"`
	UpdatedAtMS     int64         `json:"updated_at_ms,omitempty"` // when it was changed last, in milliseconds since 1970; absent: not known
	CreatedBy       string        `json:"created_by,omitempty" limit:"name cut"`
	Version         int           `json:"version"` // 1 when it is made; each change adds one
	Clocks          OrderClocks   `json:"clocks"`
	Parts           []OrderPart   `json:"parts,omitzero" limit:"500 cut"`  // not in lists
	Downtime        []Downtime    `json:"downtime,omitempty" limit:"1000"` // of the unit, by isolating work; not in lists
	Verification    *Verification `json:"verification,omitempty"`          // after the repair of a fault
	Proposals       []Proposal    `json:"proposals,omitempty" limit:"100 last"`
	PartsShort      int           `json:"parts_short,omitempty"` // pieces that an open order lacks
	Warnings        []string      `json:"warnings,omitempty" limit:"100 line cut"`
	History         []WorkMove    `json:"history,omitzero" limit:"1000"` // oldest first; not in lists
	Costs           *OrderCosts   `json:"costs,omitempty"`               // of a completed order; not in lists
}

// OrderCosts are what a completed order took, and what its fault cost.
type OrderCosts struct {
	Parts        []OrderPartCost `json:"parts" limit:"500"`
	PartsCost    *float64        `json:"parts_cost,omitempty"`  // absent: the price of a part is not known
	Currency     string          `json:"currency" limit:"word"` // of the parts and the total
	Hours        float64         `json:"hours"`
	LostKWh      *float64        `json:"lost_kwh,omitempty"` // by the fault, until it ended or until now; absent: the finding is not known
	LostFrom     Time            `json:"lost_from,omitzero"`
	LostTo       Time            `json:"lost_to,omitzero"`     // absent: the fault is still detected
	LostMoney    *float64        `json:"lost_money,omitempty"` // absent: the site has no tariff
	LostCurrency string          `json:"lost_currency,omitempty" limit:"word"`
	Total        *float64        `json:"total,omitempty"` // parts and lost money; absent if either is not known, or in different currencies
}

// OrderPartCost is what the used pieces of a part cost.
type OrderPartCost struct {
	PartNumber  string   `json:"part_number" limit:"id"`
	Description string   `json:"description" limit:"text cut"`
	Used        int      `json:"used"`
	Cost        *float64 `json:"cost,omitempty"` // absent: its price is not known
}

// OrderClocks are when an order should be acknowledged, started and restored,
// and when it was. Due times move on by the time for which the order was held
// for weather, utility or access.
type OrderClocks struct {
	AcknowledgeDue Time     `json:"acknowledge_due"`
	StartDue       Time     `json:"start_due"`
	RestoreDue     Time     `json:"restore_due"`
	AcknowledgedAt Time     `json:"acknowledged_at,omitzero"` // first response: an assigned technician, or a transition other than hold
	StartedAt      Time     `json:"started_at,omitzero"`
	RestoredAt     Time     `json:"restored_at,omitzero"`
	PausedMinutes  int      `json:"paused_minutes"`
	Paused         bool     `json:"paused"`                             // now
	Breached       []string `json:"breached,omitempty" limit:"10 word"` // of acknowledge, start, restore: those that were or are late
}

// OrderPart is what an order takes of a part.
type OrderPart struct {
	PartNumber  string `json:"part_number" limit:"id"`
	Description string `json:"description" limit:"text cut"`
	Quantity    int    `json:"quantity"`       // as planned; 0 for one that was used beyond the plan
	Reserved    int    `json:"reserved"`       // in stock, for this order
	Short       int    `json:"short"`          // of a part that is not at hand
	Used        int    `json:"used,omitempty"` // once it is completed
	Essential   bool   `json:"essential"`      // work does not start while it is short
}

// PartCount is how many of a part were used.
type PartCount struct {
	PartNumber string `json:"part_number" limit:"id"`
	Quantity   int    `json:"quantity"`
}

// Downtime is a span for which a unit stood still for work.
type Downtime struct {
	From Time `json:"from"`
	To   Time `json:"to,omitzero"` // absent: until now
}

// States of the verification of a repair.
const (
	VerificationWaiting  = "waiting"   // for a clear day of the unit
	VerificationVerified = "verified"  // the unit produces the expected power, and its fault is not detected any more
	VerificationFailed   = "not_clean" // after a clear day it does not
	VerificationExpired  = "expired"   // no clear day came in time
)

// Verification is what the detector says of a repair.
type Verification struct {
	State string  `json:"state" limit:"word"`
	At    Time    `json:"at"`
	Day   string  `json:"day,omitempty" limit:"word"` // the clear day of the verification, by the site's calendar
	Ratio float64 `json:"ratio,omitempty"`            // of what was made to what was expected on it
}

// Kinds of proposal.
const (
	ProposeResolve = "resolve_issue"
	ProposeReopen  = "reopen_order"
)

// Proposal is what the service thinks a person should do next.
type Proposal struct {
	Kind    string `json:"kind" limit:"word"`
	IssueID string `json:"issue_id,omitempty" limit:"id"`
	Text    string `json:"text" limit:"line cut"`
	At      Time   `json:"at"`
}

// OrderRequest is the body of POST /terminal/order: action create, list, get,
// assign, start, hold, resume, complete, cancel or reopen.
type OrderRequest struct {
	Action                 string  `json:"action" limit:"word"`
	AssetID                string  `json:"asset_id,omitempty" limit:"id"`
	SiteID                 string  `json:"site_id,omitempty" limit:"id"`
	CustomerID             string  `json:"customer_id,omitempty" limit:"id"`
	ScheduleID             string  `json:"schedule_id,omitempty" limit:"id"`
	BOMID                  string  `json:"bom_id,omitempty" limit:"id"`
	AssignedTechnician     string  `json:"assigned_technician,omitempty" limit:"name"` // create, assign, start
	EstimatedDurationHours float64 `json:"estimated_duration_hours,omitempty"`
	Priority               string  `json:"priority,omitempty" limit:"word"`

	IssueID         string      `json:"issue_id,omitempty" limit:"id"`      // create; empty: the open one of the fault
	Additional      bool        `json:"additional,omitempty"`               // create: although another open order is about the same finding
	PlannedStart    Time        `json:"planned_start,omitzero"`             // create; absent: the schedule's date. With it and without a schedule, the order makes its own
	OrderID         string      `json:"order_id,omitempty" limit:"id"`      // all but create and list
	Version         int         `json:"version,omitempty"`                  // a move: refused with 409 unless it is still this one
	Note            string      `json:"note,omitempty" limit:"text"`        // of a move; needed with force
	Force           bool        `json:"force,omitempty"`                    // start: although essential parts are short
	HoldReason      string      `json:"hold_reason,omitempty" limit:"word"` // hold: one of HoldReasons
	Reason          string      `json:"reason,omitempty" limit:"text"`      // cancel, reopen
	CompletionNotes string      `json:"completion_notes,omitempty" limit:"text"`
	ActualHours     float64     `json:"actual_hours,omitempty"`            // complete; 0: the time since it was started, without holds
	PartsUsed       []PartCount `json:"parts_used,omitzero" limit:"500"`   // complete; absent: what was reserved
	Status          string      `json:"status,omitempty" limit:"word"`     // list
	OpenOnly        bool        `json:"open_only,omitempty"`               // list
	Technician      string      `json:"technician,omitempty" limit:"name"` // list
	Page
}

// OrderResponse answers /terminal/order. A list has open orders first, then
// those that ended, each the newest first.
type OrderResponse struct {
	Success             bool    `json:"success"`
	Message             string  `json:"message,omitempty"`
	OrderID             string  `json:"order_id,omitempty"`
	AssetID             string  `json:"asset_id,omitempty"`
	Status              string  `json:"status,omitempty"`
	EstimatedCompletion Time    `json:"estimated_completion,omitzero"`
	Order               *Order  `json:"order,omitempty"`
	Orders              []Order `json:"orders,omitzero"` // list: there even when empty
	Count               int     `json:"count"`
	NextCursor          string  `json:"next_cursor,omitempty"`
}

var orders = Route{
	Name: "order", Path: PathOrder,
	Summary: "Create work orders and change their status", Description: "A list has open orders first, then the newest. With customer_id, an order is created from its bill of materials only. A second open order of the same finding is a 409 that names the first, unless additional is true. A transition that is not allowed is a 409 whose details name the allowed ones.",
	Example: OrderRequest{Action: ActionCreate, AssetID: exampleAsset, ScheduleID: "sch_01J9Z0", BOMID: "bom_01J9Z0", AssignedTechnician: "grace",
		EstimatedDurationHours: 4, Priority: PriorityHigh},
	Errors: append(assetErrors[:3:3], ErrOrderNotFound, ErrBOMNotFound, ErrScheduleNotFound, MissingField("order_id"), InvalidTransition("Order ord_01J9Z0 is completed: start is not possible"),
		Conflict("Finding fnd_01J9Z0 is dealt with by order ord_01J9Z0, which is pending: move that one, or ask for an additional one")),
}

// Work orders. With customer_id, a new order needs only its bill of materials.
var (
	CreateOrder = define[OrderRequest, OrderResponse](&orders, Operation{Action: ActionCreate, Permission: PermissionOrders, Idempotent: true, Target: Target{Asset: "asset_id"}, AllMissing: true, Fields: Fields{
		required("asset_id").unless("customer_id"), required("schedule_id").unless("customer_id"), required("bom_id"), required("assigned_technician").unless("customer_id"),
		required("estimated_duration_hours").unless("customer_id"), required("priority").unless("customer_id").anyCase(Priorities()...), optional("estimated_duration_hours").hours()}})
	ListOrders = define[OrderRequest, OrderResponse](&orders, Operation{Action: ActionList, Permission: PermissionRead, Cacheable: true, Target: Target{Asset: "asset_id"},
		Fields: Fields{optional("status").anyCase(OrderStatuses()...), since(), pageLimit(), required("asset_id").or("site_id", "customer_id")}})
	GetOrder      = define[OrderRequest, OrderResponse](&orders, Operation{Action: ActionGet, Permission: PermissionRead, Cacheable: true, Fields: orderFields()})
	AssignOrder   = orderMove(ActionAssign, required("assigned_technician").text())
	StartOrder    = orderMove(ActionStart)
	HoldOrder     = orderMove(ActionHold, required("hold_reason").anyCase(HoldReasons()...))
	ResumeOrder   = orderMove(ActionResume)
	CompleteOrder = orderMove(ActionComplete, required("completion_notes").text())
	CancelOrder   = orderMove(ActionCancel, required("reason").text())
	ReopenOrder   = orderMove(ActionReopen, required("reason").text())
)

func orderMove(action string, fields ...Field) Endpoint[OrderRequest, OrderResponse] {
	return define[OrderRequest, OrderResponse](&orders, Operation{Action: action, Permission: PermissionOrders, Fields: orderFields(fields...)})
}

// orderFields are the rules of what is done to one order.
func orderFields(fields ...Field) Fields {
	return append(append(Fields{required("order_id")}, fields...), rule(checkPartsUsed), optional("actual_hours").hours())
}

func checkPartsUsed(r *OrderRequest) error {
	for i, p := range r.PartsUsed {
		at := fmt.Sprintf("parts_used[%d].", i)
		switch {
		case p.PartNumber == "":
			return MissingField(at + "part_number")
		case p.Quantity < 0 || p.Quantity > MaxStock:
			return InvalidField(at+"quantity", fmt.Sprintf("a whole number from 0 to %d", MaxStock))
		}
	}
	return nil
}
