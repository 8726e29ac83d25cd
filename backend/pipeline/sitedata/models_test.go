package sitedata

import (
	"testing"
	"time"

	"app.sunloop/backend/domain/model"
)

// TestModelLearnedElsewhere: a model that another replica has let learn is not
// used as it was before.
func TestModelCache(t *testing.T) {
	var c ModelCache
	at := day0
	c.Put("South", LoadedModel{Record: model.Model{Hash: "h"}, LearnedTo: at})
	for _, step := range []struct {
		hash    string
		learned time.Time
		want    bool
	}{{"h", at, true}, {"h", at.AddDate(0, 0, 1), false}, {"h", time.Time{}, false}, {"other", at, false}} {
		if _, ok := c.get("South", step.hash, step.learned); ok != step.want {
			t.Errorf("%s, learned to %v: %v", step.hash, step.learned, ok)
		}
	}
}
