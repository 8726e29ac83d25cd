package httpapi_test

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// TestLatestIsTheLastRecord: the newest record of each unit is its last one in
// any range, whether units report at one time or not, today or long ago.
func TestLatestIsTheLastRecord(t *testing.T) {
	w := newWorld(t, nil)
	today := time.Date(2025, 10, 1, 22, 0, 0, 0, time.UTC) // midnight there
	for id, from := range map[string]time.Time{
		"INV-A": today, "INV-B": today.Add(30 * time.Second), "INV-C": today.Add(-26 * time.Hour), "INV-D": today.AddDate(-1, 0, 0), "INV-E": today.AddDate(-1, 0, 0).Add(61 * time.Minute),
	} {
		if _, err := w.domain.Sites.AddAsset(t.Context(), api.Unlimited("test"), api.Asset{AssetID: id, SiteID: secondSite, CustomerID: ownCustomer, Name: id, Type: "inverter", CapacityKW: 50, Location: "roof"}); err != nil {
			t.Fatal(err)
		}
		w.measure(secondSite, id, "Africa/Johannesburg", from, 140)
	}
	type answer struct{ Records []json.RawMessage }
	read := func(url string) (a answer) {
		r := w.as("customer", "GET", url, "")
		if err := json.Unmarshal(r.Body.Bytes(), &a); err != nil || r.Code != 200 {
			t.Fatalf("%s: HTTP %d %v", url, r.Code, err)
		}
		return a
	}
	latest := read("/telemetry/latest?site_id=Second%20Site")
	var ids []string
	for _, record := range latest.Records {
		var one struct {
			AssetID string `json:"asset_id"`
		}
		if err := json.Unmarshal(record, &one); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, one.AssetID)
		all := read("/telemetry/inverter?site_id=Second%20Site&asset_id=" + one.AssetID + "&start=2024-09-01T00:00:00Z&end=2025-10-03T00:00:00Z&limit=1000").Records
		if last := string(all[len(all)-1]); last != string(record) {
			t.Errorf("%s\nlatest %s\nlast   %s", one.AssetID, record, last)
		}
	}
	if want := []string{"INV-A", "INV-B", "INV-C", "INV-D", "INV-E"}; !slices.Equal(ids, want) {
		t.Errorf("units %v, want %v", ids, want)
	}
}

// TestLatestOfANewSite reads a site before and after it was created by something else than a request, as an upload does: the
// read before must not hide it.
func TestLatestOfANewSite(t *testing.T) {
	w := newWorld(t, nil)
	const url = "/telemetry/latest?site_id=Third"
	if r := w.as("admin", "GET", url, ""); r.Code != 404 {
		t.Fatalf("HTTP %d %s", r.Code, r.Body)
	}
	if _, err := w.domain.Sites.SetSite(t.Context(), api.Unlimited("test"), api.Site{SiteID: "Third", CustomerID: ownCustomer}); err != nil {
		t.Fatal(err)
	}
	if r := w.as("admin", "GET", url, ""); r.Code != 200 {
		t.Errorf("HTTP %d %s", r.Code, r.Body)
	}
}
