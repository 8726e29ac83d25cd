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
