package main

import (
	"bytes"
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/tui/plain"
)

// TestArrivedIsRoundedOnce: the share of the data that arrived is rounded down, as
// in the notes of figures.
func TestArrivedIsRoundedOnce(t *testing.T) {
	share := 0.6996
	var out bytes.Buffer
	if err := printKPIs(&facts{Plants: &plain.Plants{}, out: &out}, api.Site{SiteID: "roof"}, api.KPIs{DataAvailability: &share}, false); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), ", 69 % of the data arrived\n") {
		t.Errorf("printed %s", out.String())
	}
}

// TestRefusedWorkbook: only a file of text is an invalid CSV file, in the words of
// the command.
func TestRefusedWorkbook(t *testing.T) {
	refusal := api.ErrInvalidCSV.With("reason", "it has no sheet")
	for name, want := range map[string]string{"a.xlsx": "a.xlsx: it has no sheet", "a.csv": "a.csv: Invalid CSV format: it has no sheet"} {
		if got := notSent(name, refusal).Error(); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestRevertedText: the rows of a reverted upload add up.
func TestRevertedText(t *testing.T) {
	u := api.Upload{UploadID: "upl_1", SiteID: "roof", RowsStored: 192, RowsRemoved: 96, RowsRestored: 52}
	want := "upl_1 of site roof: of 192 rows stored, 96 were removed and 52 have their former values again; 44 stay, as other imports stored the same or later values"
	if got := revertedText(u); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
