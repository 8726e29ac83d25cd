package workflow

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
)

// The workflow plans nothing before the orders are known: one may be in
// progress.
func TestWorkflowPlansOnlyWhenOrdersAreKnown(t *testing.T) {
	finding := api.Finding{SummaryID: "ooda_1", AssetID: "INV-2", Active: true, RootCause: "breaker"}
	v := view.Context{Site: &state.Site{}, Selection: view.Selection{AssetID: "INV-2", FindingID: "ooda_1"}}
	v.Site.Findings.Data = []api.Finding{finding}
	if way := WorkflowFor(v); way.Next != StepNone || way.Why != "the orders are not known yet" {
		t.Errorf("before the first answer: %+v", way)
	}
	now := time.Date(2026, 6, 14, 12, 0, 0, 0, time.UTC)
	v.Site.Orders.Set([]api.Order{}, now)
	if way := WorkflowFor(v); way.Next != StepPlan {
		t.Errorf("without an order: %+v", way)
	}
	v.Site.Orders.Set([]api.Order{{OrderID: "ord_1", SummaryID: "ooda_1", AssetID: "INV-2", Status: api.OrderInProgress}}, now)
	if way := WorkflowFor(v); way.Next != "finish" || way.Move != api.ActionComplete {
		t.Errorf("with an order in progress: %+v", way)
	}
}
