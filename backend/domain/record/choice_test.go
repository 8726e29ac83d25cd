package record

import (
	"math"
	"testing"

	"app.sunloop/backend/api"
)

// TestChoiceOfAll: a list of all rows has the largest number as its limit.
func TestChoiceOfAll(t *testing.T) {
	c, err := NewChoice("list", api.Page{Limit: math.MaxInt})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		c.Add(Row{Order: []byte{byte(3 - i)}, Key: []byte{1}})
	}
	if len(c.Rows) != 3 {
		t.Errorf("%d rows, want 3", len(c.Rows))
	}
}
