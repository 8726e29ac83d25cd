package backend

import (
	"bytes"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
)

// plantDay is the days of the test in Phoenix, where the sky is clear.
func plantDay(site *simulate.Site, n int) time.Time {
	return time.Date(2026, 6, 1+n, 0, 0, 0, 0, site.Zone)
}

// uploadMeasured uploads what the site measured between two days, with nothing from
// units while they are down.
func uploadMeasured(t *testing.T, h *instance, site *simulate.Site, from, to time.Time, down map[string][2]time.Time) {
	t.Helper()
	frames := site.Frames(from, to, 15*time.Minute)
	for id, span := range down {
		f := frames[id]
		power := f.Values(series.PowerKW)
		for i, at := range f.Times {
			if at >= span[0].Unix() && at < span[1].Unix() {
				power[i] = 0
			}
		}
		f = series.Frame{Times: f.Times}
		f.Set(series.PowerKW, power)
		frames[id] = f
	}
	for id, f := range frames {
		only := series.Frame{Times: f.Times}
		only.Set(series.PowerKW, f.Values(series.PowerKW))
		frames[id] = only
	}
	var file bytes.Buffer
	if err := simulate.WriteFrames(&file, frames); err != nil {
		t.Fatal(err)
	}
	ack, err := h.UploadNowcast(t.Context(), api.UploadRequest{CustomerID: "acme", SiteID: site.ID, Region: "us", Location: "33.4,-112.1", Timezone: "America/Phoenix", Filename: "pv.csv"}, &file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if u := h.follow(ack.UploadID); u.ProcessingStatus != api.UploadCompleted && u.ProcessingStatus != api.UploadWithWarnings {
		t.Fatalf("the upload is %+v", u)
	}
	if _, err := h.Detect(t.Context(), api.AssetRef{AssetID: site.Units[0].AssetID, SiteID: site.ID}, 0); err != nil {
		t.Fatal(err)
	}
}

// From a fault to its end: the detector finds two units down at once, which is one
// finding with one issue. Both are repaired, each by an order, and one of them stays down.
// The clear days after the repair decide for each unit; the issue stays open with that one.
func TestFromFaultToVerifiedRepair(t *testing.T) {
	site := simulate.Clean(1, time.Date(2026, 4, 20, 0, 0, 0, 0, time.UTC), 6).Sites[1]
	now := plantDay(site, 0).Add(17 * time.Hour)
	h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return now }})
	good, bad := site.Units[1].AssetID, site.Units[3].AssetID
	failed := plantDay(site, -2)
	uploadMeasured(t, h, site, plantDay(site, -40), now, map[string][2]time.Time{good: {failed, now}, bad: {failed, now}})

	ids := map[string]string{}
	for _, unit := range []string{good, bad} {
		bill, err := h.GenerateBOM(t.Context(), api.BOMRequest{AssetID: unit, SiteID: site.ID, MaintenanceType: api.MaintenanceCorrective})
		if err != nil {
			t.Fatal(err)
		}
		if bill.BOM.FaultFamily != "inverter_outage" {
			t.Fatalf("the bill of %s is of %q", unit, bill.BOM.FaultFamily)
		}
		o, err := h.CreateOrder(t.Context(), api.OrderRequest{CustomerID: "acme", BOMID: bill.BOMID})
		if err != nil || o.Order.IssueID == "" || o.Order.Priority != api.PriorityHigh {
			t.Fatalf("the order of %s is %+v, %v", unit, o, err)
		}
		ids[unit] = o.OrderID
		for _, r := range []api.OrderRequest{{Action: api.ActionStart, AssignedTechnician: "grace"}, {Action: api.ActionComplete, CompletionNotes: "swapped"}} {
			r.OrderID = o.OrderID
			if _, err := h.MoveOrder(t.Context(), r); err != nil {
				t.Fatal(err)
			}
		}
	}

	since := now
	now = plantDay(site, 8).Add(20 * time.Hour)
	uploadMeasured(t, h, site, since, now, map[string][2]time.Time{bad: {since, now}})
	for unit, want := range map[string]string{good: api.VerificationVerified, bad: api.VerificationFailed} {
		o, err := h.Order(t.Context(), ids[unit])
		if err != nil {
			t.Fatal(err)
		}
		if o.Verification == nil || o.Verification.State != want {
			t.Errorf("%s: %+v, want %s", unit, o.Verification, want)
		}
		list, err := h.Issues(t.Context(), api.ListQuery{SiteID: site.ID, AssetID: unit})
		if err != nil || len(list.Issues) != 1 || list.Issues[0].IssueID != o.IssueID || list.Issues[0].Status != api.IssueInProgress {
			t.Errorf("%s: its issues are %+v, %v", unit, list, err)
		}
		if unit == bad && (len(o.Proposals) != 1 || o.Proposals[0].Kind != api.ProposeReopen) {
			t.Errorf("it proposes %+v", o.Proposals)
		}
	}
}
