package httpapi_test

import (
	"strings"
	"testing"

	"app.sunloop/backend/api"
)

func TestBOMs(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	const (
		asset = `"asset_id":"` + ownAsset + `"`
		kit   = `{"action":"generate",` + asset + `,"maintenance_type":"corrective"}`
	)
	plan := mustPost[api.ScheduleResponse](w, api.PathSchedule, `{"action":"create",`+asset+`,"maintenance_type":"emergency","scheduled_date":"2025-10-05","priority":"high","reason":"Smoke"}`)
	posted(t, w, api.PathBOM, []scenario{
		{name: "no action", body: `{}`, status: 400, contains: []string{`"error":"Invalid action"`}},
		{name: "no asset", body: `{"action":"generate"}`, status: 400, contains: []string{"Missing required field: asset_id"}},
		{name: "no type", body: `{"action":"generate",` + asset + `}`, status: 400, contains: []string{`"error":"Missing required field: maintenance_type"`}},
		{name: "wild type", body: strings.Replace(kit, "corrective", "magic", 1), status: 400, contains: []string{"Invalid field: maintenance_type"}},
		{name: "unknown asset", body: strings.Replace(kit, ownAsset, "INV-0", 1), status: 403, contains: []string{"Access denied"}},
		{name: "another's asset", body: strings.Replace(kit, ownAsset, foreignAsset, 1), status: 403, contains: []string{"Access denied"}},
		{name: "nothing is wrong", body: kit, status: 200, contains: []string{
			`"items":[{"part_number":"CONN-MC4","description":"DC connector pair","quantity":2,"unit_cost":5.4,"total_cost":10.8,"essential":false},`,
			`"total_cost":86.8,"total_cost_usd":86.8`, `"item_count":4`, `"currency":"USD"`, `"estimated_hours":3`}, without: []string{"fault_family"}},
		{name: "the type is the schedule's", body: `{"action":"build","customer_id":"customer123",` + asset + `,"schedule_id":"` + plan.ScheduleID + `"}`, status: 200,
			contains: []string{`"maintenance_type":"emergency"`, "SW-DC-1500", `"schedule_id":"` + plan.ScheduleID + `"`}},
		{name: "else it is corrective", body: `{"action":"build","customer_id":"customer123",` + asset + `}`, status: 200, contains: []string{`"maintenance_type":"corrective"`}},
		{name: "another's schedule", body: `{"action":"build","customer_id":"customer123","asset_id":"INV-2","schedule_id":"` + plan.ScheduleID + `"}`, key: "customer", status: 400, contains: []string{"Invalid field: schedule_id"}},
		{name: "unknown schedule", body: strings.Replace(kit, "}", `,"schedule_id":"sch_0"}`, 1), status: 403, contains: []string{"Access denied"}},
		{name: "a family by hand", body: strings.Replace(kit, "}", `,"fault_family":"string_outage"}`, 1), status: 200, contains: []string{`"fault_family":"string_outage"`, "MOD-450W"}},
		{name: "list of nothing", body: `{"action":"list"}`, status: 400, contains: []string{"Missing required field: asset_id"}},
		{name: "list", body: `{"action":"list",` + asset + `}`, status: 200, contains: []string{`"count":4`, `"total_cost":86.8`, `"item_count":4`}, without: []string{`"items"`}},
		{name: "unknown id", body: `{"action":"get","bom_id":"bom_0"}`, status: 403, contains: []string{"Access denied"}},
	})
	w.judge(true) // the unit makes no power
	made := mustPost[api.BOMResponse](w, api.PathBOM, kit)
	if made.BOM.FaultFamily != "inverter_outage" || made.BOM.SummaryID == "" || made.Items[0].PartNumber != "INV-STR-50K" || !made.BOM.Isolating {
		t.Errorf("with a selected outage: %+v", made.BOM)
	}
	if again := mustPost[api.BOMResponse](w, api.PathBOM, `{"action":"get","bom_id":"`+made.BOMID+`"}`); *again.TotalCost != 5096 || len(again.Items) != 5 {
		t.Errorf("kept as %+v", again)
	}
}

// A bill names the make that its parts must fit, and a catalogue's part for
// that make takes the place of the general one.
func TestBOMFitsTheComponents(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	mustPost[api.AssetsResponse](w, api.PathAssets, `{"action":"add","asset_id":"INV-3","name":"n","type":"Solar Inverter","capacity_kw":120,"location":"l","site_id":"Sibaya",
		"components":[{"oem":"Acme","model":"X50","serial":"1"},{"oem":"Acme","model":"X50","serial":"2"},{"oem":"Bolt","model":"B20","serial":"3"}]}`)
	made := mustPost[api.BOMResponse](w, api.PathBOM, `{"action":"generate","asset_id":"INV-3","maintenance_type":"preventive"}`)
	if f := made.Items[0]; f.PartNumber != "FLT-AIR" || f.Quantity != 2 || len(f.Components) != 2 || f.Components[1].Serial != "2" || !strings.HasSuffix(f.Description, "for Acme X50") {
		t.Errorf("filters of the first make: %+v", f)
	}
	if f := made.Items[1]; f.PartNumber != "FLT-AIR" || f.Quantity != 1 || len(f.Components) != 1 || f.Components[0].OEM != "Bolt" {
		t.Errorf("filters of the second make: %+v", f)
	}
	if k := made.Items[len(made.Items)-1]; k.PartNumber != "KIT-ANNUAL" || k.Quantity != 3 || k.TotalCost != 285 {
		t.Errorf("consumables of 120 kW by begun 50 kW: %+v", k)
	}
	if made.BOM.EstimatedHours != 3 {
		t.Errorf("%g hours, want 1 for each begun 50 kW", made.BOM.EstimatedHours)
	}
}

func TestParts(t *testing.T) {
	w := newWorld(t, func(d *httpapiDeps) { d.KeyRate = 1000 })
	const fan = `"site_id":"Sibaya","part_number":"FAN-AX-24V","reason":"counted"`
	all := mustPost[api.PartsResponse](w, api.PathParts, `{"action":"list","site_id":"Sibaya"}`)
	if all.Count < 40 || all.NextCursor != "" {
		t.Errorf("the catalogue has %d parts", all.Count)
	}
	var paged []string
	for cursor, first := "", true; first || cursor != ""; first = false {
		page := mustPost[api.PartsResponse](w, api.PathParts, `{"action":"list","site_id":"Sibaya","limit":7,"cursor":"`+cursor+`"}`)
		for _, p := range page.Parts {
			paged = append(paged, p.PartNumber)
		}
		cursor = page.NextCursor
	}
	for i, p := range all.Parts {
		if len(paged) != len(all.Parts) || paged[i] != p.PartNumber || i > 0 && paged[i-1] >= p.PartNumber {
			t.Fatalf("page by page: %v", paged)
		}
	}
	w.key("foreign", authKey(foreignSite))
	w.key("all of one", keyOf(ownCustomer))
	posted(t, w, api.PathParts, []scenario{
		{name: "no action", body: `{}`, status: 400, contains: []string{"Invalid action"}},
		{name: "whose", body: `{"action":"list"}`, status: 400, contains: []string{"Missing required field: customer_id"}},
		{name: "another's, by customer", key: "foreign", body: `{"action":"list","customer_id":"customer123"}`, status: 403, contains: []string{"Access denied"}},
		{name: "another's, by site", key: "foreign", body: `{"action":"list","site_id":"Sibaya"}`, status: 403, contains: []string{"Access denied"}},
		{name: "one's own, by customer", body: `{"action":"list","customer_id":"customer123","limit":1}`, status: 200, contains: []string{`"count":1`, `"counted":false`, `"on_hand":0`}},
		{name: "no part", key: "all of one", body: `{"action":"adjust","site_id":"Sibaya","on_hand":3,"reason":"r"}`, status: 400, contains: []string{"Missing required field: part_number"}},
		{name: "unknown part", key: "all of one", body: `{"action":"adjust","site_id":"Sibaya","part_number":"FAN","on_hand":3,"reason":"r"}`, status: 404, contains: []string{"Part not found"}},
		{name: "no number", key: "all of one", body: `{"action":"adjust",` + fan + `}`, status: 400, contains: []string{"Missing required field: on_hand"}},
		{name: "both numbers", key: "all of one", body: `{"action":"adjust",` + fan + `,"on_hand":3,"change":1}`, status: 400, contains: []string{"Invalid field: change"}},
		{name: "below nothing", key: "all of one", body: `{"action":"adjust",` + fan + `,"on_hand":-3}`, status: 400, contains: []string{"Invalid field: on_hand"}},
		{name: "no reason", key: "all of one", body: `{"action":"adjust","site_id":"Sibaya","part_number":"FAN-AX-24V","on_hand":3}`, status: 400, contains: []string{"Missing required field: reason"}},
		{name: "blank reason", key: "all of one", body: `{"action":"adjust","site_id":"Sibaya","part_number":"FAN-AX-24V","on_hand":3,"reason":" "}`, status: 400, contains: []string{"Missing required field: reason"}},
		{name: "counted", key: "all of one", body: `{"action":"adjust",` + fan + `,"on_hand":3}`, status: 200, contains: []string{`"on_hand":3`, `"available":3`, `"minimum":2`, `"counted":true`, `"below_minimum":false`}},
		{name: "one goes", key: "all of one", body: `{"action":"adjust",` + fan + `,"change":-2}`, status: 200, contains: []string{`"on_hand":1`, `"below_minimum":true`}},
		{name: "more than there is", key: "all of one", body: `{"action":"adjust",` + fan + `,"change":-2}`, status: 409, contains: []string{"Part FAN-AX-24V: 1 are on hand, 2 cannot go"}},
		{name: "counted by a key of one site", key: "own", body: `{"action":"adjust",` + fan + `,"on_hand":3}`, status: 403, contains: []string{"Access denied", "the stock is the customer's"}},
		{name: "counted by a key of one site, by customer", key: "own", body: `{"action":"adjust","customer_id":"customer123","part_number":"FAN-AX-24V","reason":"r","on_hand":3}`, status: 403, contains: []string{"Access denied"}},
		{name: "to be bought", body: `{"action":"list","site_id":"Sibaya","below_minimum":true}`, status: 200, contains: []string{`"count":1`, "FAN-AX-24V"}},
		{name: "another minimum", key: "all of one", body: `{"action":"adjust",` + fan + `,"minimum":1}`, status: 200, contains: []string{`"on_hand":1`, `"minimum":1`, `"below_minimum":false`}},
		{name: "seen from another site of the customer", key: "all of one", body: `{"action":"list","site_id":"Second Site","limit":1000}`, status: 200, contains: []string{`"on_hand":1`}},
	})
}
