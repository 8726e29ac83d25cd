package main

import (
	"testing"

	"app.sunloop/backend/api"
)

// The effects of changes of sites are printed in the singular for one.
func TestTextsOfSiteEffects(t *testing.T) {
	one := api.SiteEffects{Uploads: 1, UploadsRead: 1, UploadsOwn: 1, RowsMoved: 1, Units: 1, Models: 1, Findings: 1, Alerts: 1, Orders: 1}
	for _, c := range []struct{ got, want string }{
		{zoneText(one), "1 upload: 1 file is read again, 1 of them carries its own zone and stays; 1 row changes"},
		{zoneText(api.SiteEffects{Uploads: 3, UploadsRead: 2}), "3 uploads: 2 files are read again, 0 of them carry their own zone and stay; 0 rows change"},
		{removalText(one), "1 unit, 1 upload with its file, 1 model, 1 finding, 1 alarm and 1 order"},
		{removalText(api.SiteEffects{Units: 2}), "2 units, 0 uploads with their files, 0 models, 0 findings, 0 alarms and 0 orders"},
	} {
		if c.got != c.want {
			t.Errorf("printed %q, want %q", c.got, c.want)
		}
	}
}
