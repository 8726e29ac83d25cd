package openapi

import (
	"reflect"
	"testing"

	"app.sunloop/backend/limit"
)

// TestEveryFieldOfARequestHasALimit reads the types of all JSON bodies.
func TestEveryFieldOfARequestHasALimit(t *testing.T) {
	for route, e := range entries {
		if e.body == nil {
			continue
		}
		for _, fault := range limit.Missing(reflect.TypeOf(e.body)) {
			t.Errorf("%s: %s", route, fault)
		}
	}
}
