package maintenance

import (
	"context"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// Resolutions of a finding, as offered by the form that closes its issue.
const (
	outcomeConfirmed = "confirmed"
	outcomeNoFault   = "no fault"
)

// issueDone returns the result of a change of an issue.
func issueDone(answer *api.IssuesResponse, f api.Finding) view.Result {
	return view.Result{Notice: view.Notice(answer.Message + ": " + widget.Family(f.FaultFamily) + "."), Refresh: []state.Query{state.QueryIssues, state.QueryFindings, state.QueryActivities}}
}

// NewTakeIssue asks for a note on the issue of a finding that a user
// acknowledges.
func NewTakeIssue(i api.Issue, f api.Finding) *widget.StepForm {
	d := &widget.StepForm{Heading: "Acknowledge " + widget.Family(f.FaultFamily), Verb: "acknowledge", Intro: []string{"The issue of this finding is new. Acknowledged, it is in progress, with your name and the time."}}
	d.Add("reason", widget.NewField("Note", "what is done first; may be empty", ""))
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		note := d.Value("reason")
		return view.Call{From: d, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
			answer, err := c.AcknowledgeIssue(ctx, i.IssueID, note)
			if err != nil {
				return view.Result{}, err
			}
			return issueDone(answer, f), nil
		}}, true
	}
	return d
}

// NewCloseIssue asks what a finding turned out to be, and closes its issue.
// The resolution is shown with similar findings later.
func NewCloseIssue(i api.Issue, f api.Finding) *widget.StepForm {
	d := &widget.StepForm{Heading: "Close " + widget.Family(f.FaultFamily), Verb: "close the issue", Intro: []string{"The resolution is shown with similar findings. The finding clears when measurements return to normal."}}
	d.Add("outcome", widget.NewChoice("It was", []string{outcomeConfirmed, outcomeNoFault, api.ReasonDuplicate}, widget.Verbatim))
	d.Add("reason", widget.NewField("Because", "the cause, or why there was no fault", ""))
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		outcome := d.Value("outcome")
		reason := outcome + ": " + d.Value("reason")
		if outcome == api.ReasonDuplicate {
			reason = api.ReasonDuplicate
		} else if !d.Need("reason", "What was the cause?") {
			return view.Call{}, false
		}
		return view.Call{From: d, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
			if i.Status == api.IssueNew && reason != api.ReasonDuplicate { // not acknowledged yet
				if _, err := c.AcknowledgeIssue(ctx, i.IssueID, ""); err != nil {
					return view.Result{}, err
				}
			}
			answer, err := c.ResolveIssue(ctx, i.IssueID, reason)
			if err != nil {
				return view.Result{}, err
			}
			return issueDone(answer, f), nil
		}}, true
	}
	return d
}
