package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"app.sunloop/backend/api"
)

// newUnit is a unit of a bulk request.
func newUnit(id, more string) string {
	return fmt.Sprintf(`{"asset_id":%q,"name":"n","type":"inverter","capacity_kw":50,"location":"roof"%s}`, id, more)
}

func newUnits(n int, prefix string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = newUnit(fmt.Sprintf("%s-%04d", prefix, i), "")
	}
	return strings.Join(list, ",")
}

// bulk sends a bulk request and decodes the response.
func (w *world) bulk(key, body string, status int, headers ...string) api.BulkResponse {
	w.t.Helper()
	r := w.as(key, http.MethodPost, api.PathBulk, body, headers...)
	var answer api.BulkResponse
	if err := json.Unmarshal(r.Body.Bytes(), &answer); err != nil || r.Code != status {
		w.t.Fatalf("HTTP %d, want %d, %v: %.500s", r.Code, status, err, r.Body)
	}
	return answer
}

// units are the ids of a site's units that begin with a prefix.
func (w *world) units(siteID, prefix string) (n int) {
	w.t.Helper()
	list, err := w.domain.Sites.SiteAssets(w.t.Context(), siteID)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, a := range list {
		if strings.HasPrefix(a.AssetID, prefix) {
			n++
		}
	}
	return n
}

// TestBulkAssets adds many units in one call, of which some are refused.
func TestBulkAssets(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	before := len(w.trail())
	a := w.bulk("admin", `{"action":"add-assets","site_id":"Sibaya","customer_id":"customer123","assets":[`+newUnits(api.MaxBulkRecords, "B")+`]}`, 200)
	if a.Count != api.MaxBulkRecords || a.Failed != 0 || len(a.Results) != api.MaxBulkRecords || a.Results[999].ID != "B-0999" || a.Results[999].SiteID != ownSite || w.units(ownSite, "B-") != api.MaxBulkRecords {
		t.Fatalf("%d written, %d refused, %d stored, last %+v", a.Count, a.Failed, w.units(ownSite, "B-"), a.Results[len(a.Results)-1])
	}
	if r := w.written(before); r.Action != api.ActionAddAssets || r.SiteID != ownSite || !strings.Contains(fmt.Sprint(r.After), "B-0999") {
		t.Errorf("the record of the trail: %s %s %.300v", r.Action, r.SiteID, r.After)
	}
	posted(t, w, api.PathBulk, []scenario{
		{name: "one too many", body: `{"action":"add-assets","site_id":"Sibaya","assets":[` + newUnits(api.MaxBulkRecords+1, "C") + `]}`, status: 400, contains: []string{`"error":"Invalid field: assets"`, "at most 1000 items"}},
		{name: "none", body: `{"action":"add-assets","site_id":"Sibaya","assets":[]}`, status: 400, contains: []string{"Missing required field: assets"}},
		{name: "an unknown field of a record", body: `{"action":"add-assets","site_id":"Sibaya","assets":[` + newUnit("C-1", `,"colour":"red"`) + `]}`, status: 400, contains: []string{"Unknown field: assets", "colour"}},
		{name: "a field too long", body: `{"action":"add-assets","site_id":"Sibaya","assets":[` + newUnit("C-1", "") + `,` + newUnit(strings.Repeat("x", 300), "") + `]}`, status: 400, contains: []string{"Invalid field: assets[1].asset_id"}},
	})

	some := `{"action":"add-assets","site_id":"Sibaya","assets":[` + strings.Join([]string{
		newUnit("D-1", ""), newUnit(ownAsset, ""), newUnit("D-1", ""), newUnit("D-2", `,"site_id":"`+foreignSite+`"`), newUnit("D-3", `,"customer_id":"`+foreignCustomer+`"`),
		strings.Replace(newUnit("D-4", ""), `"name":"n"`, `"name":""`, 1), newUnit("D-5", `,"site_id":"`+secondSite+`"`), newUnit(" D-6", "")}, ",") + `]`
	a = w.bulk("customer", some+`}`, 200)
	var got []string
	for _, r := range a.Results {
		got = append(got, fmt.Sprint(r.Index, " ", r.Status, " ", r.Code, " ", r.Field))
	}
	if want := "0 200  |1 409 already_exists |2 409 already_exists |3 404 site_not_found |4 403 access_denied |5 400 missing_required_field name|6 200  |7 400 invalid_field asset_id"; strings.Join(got, "|") != want {
		t.Errorf("results\n%s\nwant\n%s", strings.Join(got, "|"), want)
	}
	if a.Count != 2 || a.Failed != 6 || w.units(ownSite, "D-") != 1 || w.units(secondSite, "D-") != 1 || w.units(foreignSite, "D-") != 0 {
		t.Errorf("%d written, %d refused", a.Count, a.Failed)
	}
}

// TestBulkAtomic writes all records of a call or none.
func TestBulkAtomic(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	before := len(w.trail())
	posted(t, w, api.PathBulk, []scenario{{name: "one is refused", body: `{"action":"add-assets","atomic":true,"site_id":"Sibaya","assets":[` + newUnits(3, "E") + `,` + newUnit(ownAsset, "") + `]}`, status: 409,
		contains: []string{`"error":"Nothing was written: 1 of 4 records were refused"`, `"code":"records_refused"`, `"results":[{"index":3,"status":409`}}})
	if n := w.units(ownSite, "E-"); n != 0 {
		t.Errorf("%d units were stored", n)
	}
	if r := w.written(before); r.Status != http.StatusConflict || r.After != nil {
		t.Errorf("the record of the trail: %+v", r)
	}
	if a := w.bulk("own", `{"action":"add-assets","atomic":true,"site_id":"Sibaya","assets":[`+newUnits(3, "E")+`]}`, 200); a.Count != 3 || w.units(ownSite, "E-") != 3 {
		t.Errorf("%+v, %d stored", a, w.units(ownSite, "E-"))
	}
}

// TestBulkOnce repeats a bulk request under its Idempotency-Key.
func TestBulkOnce(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	body := `{"action":"create-schedules","schedules":[` + strings.Repeat(`{"asset_id":"`+ownAsset+`","maintenance_type":"corrective","scheduled_date":"2025-10-05","priority":"high","reason":"r"},`, 2) +
		`{"asset_id":"` + foreignAsset + `","maintenance_type":"corrective","scheduled_date":"2025-10-05","priority":"high","reason":"r"},{"asset_id":"` + ownAsset + `","maintenance_type":"corrective","scheduled_date":"2025-10-01","priority":"high","reason":"r"}]}`
	first := w.bulk("own", body, 200, api.HeaderIdempotencyKey, "k1")
	if first.Count != 2 || first.Failed != 2 || first.Results[2].Status != 403 || first.Results[3].Field != "scheduled_date" || !strings.HasPrefix(first.Results[0].ID, "sch_") {
		t.Fatalf("%+v", first)
	}
	again := w.bulk("own", body, 200, api.HeaderIdempotencyKey, "k1")
	if fmt.Sprint(again) != fmt.Sprint(first) {
		t.Errorf("the repeated request got\n%+v, not\n%+v", again, first)
	}
	list, _, err := w.work.Schedules(t.Context(), api.Unlimited("test"), api.ListQuery{SiteID: ownSite}, "", false)
	if err != nil || len(list) != 2 {
		t.Errorf("%d schedules, %v", len(list), err)
	}
	w.as("own", http.MethodPost, api.PathBulk, strings.Replace(body, "high", "low", 1), api.HeaderIdempotencyKey, "k1")
}

// TestBulkAlerts acknowledges alerts, which may be acknowledged already.
func TestBulkAlerts(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	w.judge(true)
	open := w.openAlert()
	body := `{"action":"acknowledge-alerts","alerts":[{"alert_id":"` + open.AlertID + `","reason":"seen"},{"alert_id":"alr_0"},{"alert_id":""},{"alert_id":"` + open.AlertID + `"}]}`
	a := w.bulk("own", body, 200)
	if a.Count != 2 || a.Failed != 2 || a.Results[0].ID != open.AlertID || a.Results[0].SiteID != ownSite || a.Results[1].Status != 403 || a.Results[2].Field != "alert_id" || a.Message != "2 alerts acknowledged; 2 refused" {
		t.Fatalf("%+v", a)
	}
	if is := w.openAlert(); is.State != api.AlertAcknowledged || is.AcknowledgedBy != "own" {
		t.Errorf("the alert is %s by %q", is.State, is.AcknowledgedBy)
	}
	a = w.bulk("admin", body, 200)
	if a.Results[1].Status != 404 || a.Results[1].Code != "alert_not_found" {
		t.Errorf("an unknown alert: %+v", a.Results[1])
	}
}
