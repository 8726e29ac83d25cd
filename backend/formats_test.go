package backend

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// TestFormatsOverTheWire: a workbook and a long line of JSON are imported, and a large file of a format that is
// not read is refused immediately with what to do instead.
func TestFormatsOverTheWire(t *testing.T) {
	now := time.Date(2025, 7, 1, 0, 0, 0, 0, time.UTC)
	h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return now }})
	request := func(site, file string) api.UploadRequest {
		return api.UploadRequest{CustomerID: "acme", SiteID: site, Region: "eu", Location: "47.07,15.44", Timezone: "UTC", CapacityKW: 12, Filename: file}
	}
	workbook, err := os.ReadFile("../engine/ingest/format/testdata/excelize.xlsx")
	if err != nil {
		t.Fatal(err)
	}
	var records []string
	for i := range 6000 {
		at := now.Add(time.Duration(i-7000) * 5 * time.Minute)
		records = append(records, fmt.Sprintf(`{"timestamp":"%s","power_kw":%d.5}`, at.Format(time.RFC3339), max(0, 6-max(at.Hour()-12, 12-at.Hour()))))
	}
	json := "[" + strings.Join(records, ",") + "]" // more than what is checked before the upload is acknowledged
	for _, c := range []struct {
		site, file string
		data       []byte
		rows       int
		units      int
	}{{"Hill", "export.csv", workbook, 192, 2}, {"Dale", "export.txt", []byte(json), 6000, 1}} {
		ack, err := h.UploadTrain(t.Context(), request(c.site, c.file), bytes.NewReader(c.data), nil)
		if err != nil {
			t.Fatal(err)
		}
		if u := h.follow(ack.UploadID); u.Error != "" || u.RowsStored != c.rows || len(u.AssetIDs) != c.units {
			t.Errorf("%s is imported as %+v", c.file, u)
		}
	}
	old := append([]byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), make([]byte, 1<<20)...)
	_, err = h.UploadTrain(t.Context(), request("Vale", "old.xls"), bytes.NewReader(old), nil)
	var refusal *api.Error
	if !errors.As(err, &refusal) || refusal.Status != 400 || !strings.Contains(fmt.Sprint(refusal.Details["reason"]), "save it as .xlsx or CSV") {
		t.Errorf("a binary workbook: %v", err)
	}
}

// TestIDsOverTheWire: ids of sites and units of letters of any script, digits, ".",
// "_", "-" and inner spaces are found by queries, bodies and paths.
func TestIDsOverTheWire(t *testing.T) {
	now := time.Date(2025, 7, 1, 0, 0, 0, 0, time.UTC)
	h := open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return now }})
	for site, unit := range map[string]string{"Süd Dach_2.1-x": "Инвертор 1.a_b-c", "屋顶 INV-1": "逆变器1"} {
		var csv strings.Builder
		fmt.Fprintf(&csv, "time,unit,power_kw\n")
		for i := range 48 {
			fmt.Fprintf(&csv, "%s,%s,%d\n", now.Add(time.Duration(i-60)*time.Hour).Format(time.RFC3339), unit, i%7)
		}
		ref := api.SiteRef{CustomerID: "acme", SiteID: site}
		ack, err := h.UploadTrain(t.Context(), api.UploadRequest{CustomerID: ref.CustomerID, SiteID: site, Region: "eu", Location: "47.07,15.44", Timezone: "UTC", CapacityKW: 12, Filename: "a.csv"},
			strings.NewReader(csv.String()), nil)
		if err != nil {
			t.Errorf("%s: %v", site, err)
			continue
		}
		if u := h.follow(ack.UploadID); u.SiteID != site || fmt.Sprint(u.AssetIDs) != "["+unit+"]" {
			t.Errorf("%s is imported as site %q, units %q, %s", site, u.SiteID, u.AssetIDs, u.Error)
		}
		list, err := h.Uploads(t.Context(), api.ListQuery{CustomerID: ref.CustomerID, SiteID: site})
		if err != nil || len(list.Uploads) != 1 {
			t.Errorf("uploads of %s: %v", site, err)
		}
		assets, err := h.Assets(t.Context(), api.ListQuery{CustomerID: ref.CustomerID, SiteID: site})
		if err != nil || len(assets.Assets) != 1 || assets.Assets[0].AssetID != unit {
			t.Errorf("units of %s: %+v, %v", site, assets, err)
		}
		if _, err := h.SiteSummary(t.Context(), ref); err != nil {
			t.Errorf("summary of %s: %v", site, err)
		}
		if _, err := h.KPIs(t.Context(), api.KPIQuery{CustomerID: ref.CustomerID, SiteID: site}); err != nil { // in the path
			t.Errorf("KPIs of %s: %v", site, err)
		}
	}
	for _, id := range []string{" roof", "roof ", "..", "ro\u00adof", "INV-\u0410"} {
		_, err := h.UploadTrain(t.Context(), api.UploadRequest{CustomerID: "acme", SiteID: id, Region: "eu", Location: "47.07,15.44", Filename: "a.csv"}, strings.NewReader("time,kW\n2025-01-01 10:00,1\n"), nil)
		if err == nil {
			t.Errorf("the id %q is accepted", id)
		}
	}
}
