package record

import (
	"errors"
	"testing"

	"app.sunloop/backend/api"
)

func TestIDs(t *testing.T) {
	for id, good := range map[string]bool{"Sibaya": true, "North roof 2": true, "a/b": true, "…": true, "": false, " a": false, "a\x00": false, "\xff": false, "*": false, ".": false, "..": false} {
		var refused *api.Error
		if err := CheckID("site_id", id); (err == nil) != good || err != nil && (!errors.As(err, &refused) || refused.Details["field"] != "site_id") {
			t.Errorf("%q: %v", id, err)
		}
	}
}
