package domain

import (
	"slices"
	"testing"

	"app.sunloop/backend/store"
)

// A table that is missing in SiteRecords would keep the records of removed sites.
func TestSiteRecordsAreAllTables(t *testing.T) {
	records := SiteRecords()
	var buckets []string
	for _, r := range records {
		buckets = append(buckets, r.Prefixed.(store.Checked).Buckets()[0])
	}
	for _, table := range Tables() {
		if name := table.Buckets()[0]; !slices.Contains(buckets, name) {
			t.Errorf("%s is not deleted with a site", name)
		}
	}
	if len(records) != len(Tables()) {
		t.Errorf("%d kinds of records of %d tables", len(records), len(Tables()))
	}
}
