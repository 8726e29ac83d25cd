package maintenance

import (
	"math"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/store"
)

// judge records a run of the detector over the first unit, which makes no
// power if ill, and verifies what waits.
func (d *desk) judge(ill bool, yields ...finding.DayYield) {
	d.t.Helper()
	site, err := d.Domain.Sites.Site(d.t.Context(), boss, south)
	if err != nil {
		d.t.Fatal(err)
	}
	run := finding.Run{Site: site, Now: d.clock, From: d.clock.Add(-60 * day), Units: []string{inv, "INV-2"}, DayYields: map[string][]finding.DayYield{inv: yields}}
	if ill {
		run.Events = []finding.Event{{Family: "inverter_outage", Units: []string{inv}, Start: d.clock.Add(-time.Hour), LastSeen: d.clock, Severity: api.SeverityCritical, Summary: "It makes no power."}}
	}
	if err := d.store.Update(d.t.Context(), func(tx store.Tx) error {
		if _, err := d.Domain.Detections.RecordRun(tx, run); err != nil {
			return err
		}
		return d.Verify(tx, run)
	}); err != nil {
		d.t.Fatal(err)
	}
}

// yield of the whole day before now.
func (d *desk) yield(ratio float64, bright, known bool) finding.DayYield {
	to := d.clock.Truncate(day)
	return finding.DayYield{From: to.Add(-day), To: to, Expected: 100, Ratio: ratio, Clear: bright, Known: known}
}

// repaired is the order of an outage that was repaired, and its issue.
func (d *desk) repaired() (api.Order, string) {
	d.t.Helper()
	d.judge(true)
	o := d.order()
	if o.IssueID == "" || o.FaultFamily != "inverter_outage" {
		d.t.Fatalf("the order of the outage is %+v", o)
	}
	d.move(api.OrderRequest{Action: api.ActionStart, OrderID: o.OrderID})
	d.clock = d.clock.Add(4 * time.Hour)
	o = d.move(api.OrderRequest{Action: api.ActionComplete, OrderID: o.OrderID, CompletionNotes: "unit swapped"})
	if len(o.Proposals) != 1 || o.Proposals[0].Kind != api.ProposeResolve || o.Proposals[0].IssueID != o.IssueID {
		d.t.Errorf("completed, it proposes %+v", o.Proposals)
	}
	return o, o.IssueID
}

func (d *desk) seenOf(orderID string) (api.Order, api.Issue) {
	d.t.Helper()
	o, err := d.Order(d.t.Context(), boss, orderID)
	if err != nil {
		d.t.Fatal(err)
	}
	list, _, err := d.Domain.Issues.Issues(d.t.Context(), boss, api.ListQuery{SiteID: south})
	if err != nil || len(list) != 1 {
		d.t.Fatalf("the issues: %v, %v", list, err)
	}
	return o, list[0]
}

func TestRepairIsVerifiedOnAClearDay(t *testing.T) {
	d := newDesk(t, nil)
	repaired, issue := d.repaired()
	for _, step := range []struct {
		why   string
		after time.Duration
		yield func() finding.DayYield
	}{
		{"the day of the repair is not whole", 0, func() finding.DayYield {
			return finding.DayYield{From: d.clock.Truncate(day), Ratio: 1, Clear: true, Known: true}
		}},
		{"a dull day", 2 * day, func() finding.DayYield { return d.yield(1, false, true) }},
		{"a day with gaps", day, func() finding.DayYield { return d.yield(1, true, false) }},
	} {
		d.clock = d.clock.Add(step.after)
		d.judge(true, step.yield())
		if o, _ := d.seenOf(repaired.OrderID); o.Verification.State != api.VerificationWaiting {
			t.Errorf("%s: %+v", step.why, o.Verification)
		}
	}
	d.clock = d.clock.Add(day)
	d.judge(true, d.yield(0.95, true, true))
	// The fault is still seen: 95 % or not, that is not clean.
	o, i := d.seenOf(repaired.OrderID)
	if o.Verification.State != api.VerificationFailed || len(o.Proposals) != 1 || o.Proposals[0].Kind != api.ProposeReopen || i.Status != api.IssueInProgress {
		t.Fatalf("with the fault still there: %+v, issue %s", o.Verification, i.Status)
	}
	d.move(api.OrderRequest{Action: api.ActionReopen, OrderID: o.OrderID, Reason: "as proposed"})
	d.clock = d.clock.Add(time.Hour)
	d.move(api.OrderRequest{Action: api.ActionComplete, OrderID: o.OrderID, CompletionNotes: "fuse too"})
	d.clock = d.clock.Add(2 * day)
	d.judge(false, d.yield(0.95, true, true))
	if o, _ := d.seenOf(repaired.OrderID); o.Verification.State != api.VerificationWaiting {
		t.Errorf("95 %% without the fault: %+v", o.Verification)
	}
	d.clock = d.clock.Add(day)
	d.judge(false, d.yield(0.985, true, true))
	o, i = d.seenOf(repaired.OrderID)
	if o.Verification.State != api.VerificationVerified || o.Verification.Ratio != 0.985 || o.Verification.Day != "2026-06-21" || len(o.Proposals) != 0 || i.Status != api.IssueResolved || i.IssueID != issue {
		t.Errorf("after a clear day: %+v, issue %+v", o.Verification, i)
	}
	version := o.Version
	d.judge(false, d.yield(0.2, true, true))
	if o, _ = d.seenOf(repaired.OrderID); o.Version != version {
		t.Errorf("it is verified for good, but became %+v", o)
	}
}

// A finding that outlasts its repair, as one of a lost string does by some days, does not
// refute it while the unit makes what is expected, unless it stays.
func TestFindingOutlastsItsRepair(t *testing.T) {
	d := newDesk(t, nil)
	o, issue := d.repaired()
	for range 3 {
		d.clock = d.clock.Add(2 * day)
		d.judge(true, d.yield(1.01, true, true))
		if o, _ = d.seenOf(o.OrderID); o.Verification.State != api.VerificationWaiting || len(o.Proposals) != 1 || o.Proposals[0].Kind != api.ProposeResolve {
			t.Fatalf("while the finding lasts: %+v, %+v", o.Verification, o.Proposals)
		}
	}
	d.clock = d.clock.Add(day)
	d.judge(false, d.yield(1.01, true, true))
	o, i := d.seenOf(o.OrderID)
	if o.Verification.State != api.VerificationVerified || i.Status != api.IssueResolved || i.IssueID != issue {
		t.Errorf("after the finding: %+v, issue %+v", o.Verification, i)
	}
	d.move(api.OrderRequest{Action: api.ActionReopen, OrderID: o.OrderID, Reason: "seen again"})
	d.clock = d.clock.Add(time.Hour)
	d.move(api.OrderRequest{Action: api.ActionComplete, OrderID: o.OrderID, CompletionNotes: "again"})
	d.clock = d.clock.Add(endsWithin + day)
	d.judge(true, d.yield(1.01, true, true))
	if o, _ = d.seenOf(o.OrderID); o.Verification.State != api.VerificationFailed || len(o.Proposals) != 1 || o.Proposals[0].Kind != api.ProposeReopen {
		t.Errorf("with a finding that stays: %+v", o.Verification)
	}
}

func TestRepairWithoutAClearDay(t *testing.T) {
	d := newDesk(t, nil)
	o, _ := d.repaired()
	if wait, err := d.RepairsWait(t.Context(), south); err != nil || !wait {
		t.Errorf("waits: %v, %v", wait, err)
	}
	d.clock = d.clock.Add(verifyWithin + time.Hour)
	d.judge(false, d.yield(1, false, true))
	if o, _ = d.seenOf(o.OrderID); o.Verification.State != api.VerificationExpired {
		t.Errorf("after a month of clouds: %+v", o.Verification)
	}
	if wait, err := d.RepairsWait(t.Context(), south); err != nil || wait {
		t.Errorf("still waits: %v, %v", wait, err)
	}
}

// Less than nine tenths on a clear day is not clean, whatever is found.
func TestRepairThatDidNotHelp(t *testing.T) {
	d := newDesk(t, nil)
	o, _ := d.repaired()
	d.clock = d.clock.Add(2 * day)
	d.judge(false, d.yield(0.8, true, true))
	if o, _ = d.seenOf(o.OrderID); o.Verification.State != api.VerificationFailed || o.Proposals[0].Kind != api.ProposeReopen {
		t.Errorf("at 80 %%: %+v", o)
	}
}

// A completed order shows its bill: the parts that were used at the prices of its bill of
// materials, the hours, and what the fault cost until it ended. An open one has none.
func TestCostsOfAnOrder(t *testing.T) {
	d := newDesk(t, nil)
	d.judge(true)
	open := d.order()
	if got, _ := d.seenOf(open.OrderID); got.Costs != nil {
		t.Errorf("the open order has costs: %+v", got.Costs)
	}
	d.move(api.OrderRequest{Action: api.ActionCancel, OrderID: open.OrderID, Reason: "made again"})
	o, _ := d.repaired()
	got, _ := d.seenOf(o.OrderID)
	c := got.Costs
	if c == nil || c.PartsCost == nil || c.Hours != 4 || c.LostKWh == nil || c.LostFrom.IsZero() {
		t.Fatalf("the completed order costs %+v", c)
	}
	bill, err := d.BOM(t.Context(), boss, o.BOMID)
	if err != nil {
		t.Fatal(err)
	}
	price, sum, used := map[string]float64{}, 0.0, 0
	for _, i := range bill.Items {
		price[i.PartNumber] = i.UnitCost
	}
	for _, p := range got.Parts {
		if p.Used > 0 {
			sum, used = sum+float64(p.Used)*price[p.PartNumber], used+1
		}
	}
	if math.Abs(*c.PartsCost-sum) > 0.005 || len(c.Parts) != used || c.Currency != bill.Currency {
		t.Errorf("parts cost %v %s of %d, want %v %s of %d", *c.PartsCost, c.Currency, len(c.Parts), sum, bill.Currency, used)
	}
	list, _, err := d.Orders(t.Context(), boss, api.ListQuery{SiteID: south, Page: api.Page{Limit: 10}}, api.OrderRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		if o.Costs != nil {
			t.Error("an order of a list has costs")
		}
	}
}
