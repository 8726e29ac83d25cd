package operations

import (
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/view"
)

// The units of a finding are shown with their times, and one that has recovered is no
// longer affected.
func TestMembersOfAFinding(t *testing.T) {
	o := NewOrient()
	v := stage.ContextOf(t, stage.SiteOf(plant.New(), stage.Noon))
	from := stage.Noon.Add(-3 * time.Hour)
	f := &v.Site.Findings.Data[0]
	f.AssetIDs, f.Active = []string{"INV-03", "INV-04"}, true
	f.Members = []api.FindingMember{
		{AssetID: "INV-03", StartedAt: api.At(from), LostKWh: 20},
		{AssetID: "INV-04", StartedAt: api.At(from), EndedAt: api.At(stage.Noon.Add(-time.Hour)), LostKWh: 12},
	}
	v.Selection = view.Selection{AssetID: "INV-03", FindingID: f.SummaryID}
	text := picture.Text(stage.DrawnBy(v, 100, 40, o.Draw))
	for _, want := range []string{"INV-03: since ", "INV-04: over, from ", "20.0 kWh lost", "12.0 kWh lost"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown:\n%s", want, text)
		}
	}
	id := f.SummaryID
	found := UnitFindings(v)
	if found["INV-03"].SummaryID == "" || found["INV-04"].SummaryID == id {
		t.Errorf("INV-03 has %q, INV-04 has %q", found["INV-03"].SummaryID, found["INV-04"].SummaryID)
	}
}
