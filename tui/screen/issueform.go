package screen

import (
	"context"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
)

// What a finding turned out to be, as the form of a closing asks it.
const (
	outcomeConfirmed = "confirmed"
	outcomeNoFault   = "no fault"
)

// issueDone is what comes of a move of an issue.
func issueDone(answer *api.IssuesResponse, f api.Finding) view.Result {
	return view.Result{Notice: view.Notice(answer.Message + ": " + pane.Family(f.FaultFamily) + "."), Refresh: []state.Query{state.QueryIssues, state.QueryFindings, state.QueryActivities}}
}

// NewTakeIssue asks for a note on the issue of a finding that somebody takes on.
func NewTakeIssue(i api.Issue, f api.Finding) *WorkForm {
	d := &WorkForm{title: "Take on " + pane.Family(f.FaultFamily), verb: "take it on", words: []string{"The issue of this finding is new. Taken on, it is in progress, with who and when."}}
	d.add("reason", NewField("Note", "what is done first; may be empty", ""))
	d.send = func(d *WorkForm) (view.Call, bool) {
		note := d.value("reason")
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
// Those who see the like of it later are told.
func NewCloseIssue(i api.Issue, f api.Finding) *WorkForm {
	d := &WorkForm{title: "Close " + pane.Family(f.FaultFamily), verb: "close the issue", words: []string{"What it turned out to be is told beside similar findings. The finding itself ends when the data say so."}}
	d.add("outcome", NewChoice("It was", []string{outcomeConfirmed, outcomeNoFault, api.ReasonDuplicate}, asWritten))
	d.add("reason", NewField("Because", "the cause that was found, or why it was none", ""))
	d.send = func(d *WorkForm) (view.Call, bool) {
		outcome := d.value("outcome")
		reason := outcome + ": " + d.value("reason")
		if outcome == api.ReasonDuplicate {
			reason = api.ReasonDuplicate
		} else if !d.need("reason", "What was it?") {
			return view.Call{}, false
		}
		return view.Call{From: d, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
			if i.Status == api.IssueNew && reason != api.ReasonDuplicate { // nobody has taken it on yet
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
