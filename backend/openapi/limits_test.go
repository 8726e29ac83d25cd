package openapi

import (
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/limit"
)

// TestEveryFieldOfARequestHasALimit reads the types of all JSON bodies.
func TestEveryFieldOfARequestHasALimit(t *testing.T) {
	for _, o := range api.Operations() {
		if !o.HasJSON() {
			continue
		}
		for _, fault := range limit.Missing(o.Request) {
			t.Errorf("%s: %s", o.Name(), fault)
		}
	}
}
