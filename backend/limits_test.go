package backend

import (
	"reflect"
	"testing"

	"app.sunloop/backend/check"
	"app.sunloop/backend/limit"
)

// unlimited are the buckets whose entries have no form, with the reason for which
// they need no limit of their own.
var unlimited = map[string]string{
	"capacity-estimates": "a mark of one byte",
	"forecast-extracts":  "made by the service from a forecast, which has limits",
	"partner-snapshots":  "made by the service from records that have limits",
	"partner-plans":      "made by the service from records that have limits",
	"object-intents":     "an object's key and a time",
	"progress":           "a stage and a share",
}

// TestEveryStoredFieldHasALimit reads the types of all tables.
func TestEveryStoredFieldHasALimit(t *testing.T) {
	found := map[string]bool{}
	for _, table := range check.Tables() {
		bucket := table.Buckets()[0]
		record := table.Record()
		if record == nil {
			found[bucket] = true
			if unlimited[bucket] == "" {
				t.Errorf("entries of %s have no form and no reason for which they need no limit", bucket)
			}
			continue
		}
		if record.Kind() != reflect.Struct {
			t.Errorf("records of %s are %s, which can declare no limits", bucket, record)
		}
		for _, fault := range limit.Missing(record) {
			t.Errorf("%s: %s", bucket, fault)
		}
	}
	for bucket := range unlimited {
		if !found[bucket] {
			t.Errorf("there is no bucket %s without a form", bucket)
		}
	}
}
