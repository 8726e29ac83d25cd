package pipeline

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/engine/learn/artifact"
)

// TestSweepLeavesWhatAnotherProcessIsAboutToName: of two processes that share
// store and objects, one starts and maintains while the other has put an object
// and not named it yet.
func TestSweepLeavesWhatAnotherProcessIsAboutToName(t *testing.T) {
	wall := time.Now()
	p := newPlant(t, day0, func(c *Config) { c.Exclusive, c.Wall = false, func() time.Time { return wall } })
	config := p.Config
	other, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, site := t.Context(), api.Site{SiteID: "South", CustomerID: "acme"}
	parts := artifact.Parts{Model: []byte("m"), Encoders: []byte("e"), Config: []byte("c")}
	keys, err := other.writeArtefact(ctx, site, parts.Hash(), parts)
	if err != nil {
		t.Fatal(err)
	}
	sweep := func() {
		t.Helper()
		if err := errors.Join(p.recover(ctx), p.maintain(ctx, store.Claimed{})); err != nil {
			t.Fatal(err)
		}
	}
	name := func() error {
		return p.Records.Update(ctx, func(tx store.Tx) error { return other.named(tx, keys.All()...) })
	}
	wall = wall.Add(staleIntent)
	sweep()
	if left, announced := p.unnamed(); len(left) != 3 || len(announced) != 3 {
		t.Fatalf("after the other's sweep there are %v, announced are %v", left, announced)
	}
	// The same model of a second process takes a place of its own.
	beside, err := p.writeArtefact(ctx, site, parts.Hash(), parts)
	if err != nil || slices.ContainsFunc(beside.All(), func(k string) bool { return slices.Contains(keys.All(), k) }) {
		t.Fatalf("%v beside %v, %v", beside, keys, err)
	}
	p.dropObjects(ctx, site.SiteID, beside.All()...)
	if left, _ := p.unnamed(); len(left) != 3 {
		t.Fatalf("there are %v", left)
	}
	// Past its time the objects go, and their process cannot name them any more.
	wall = wall.Add(time.Second)
	sweep()
	if left, announced := p.unnamed(); len(left)+len(announced) > 0 {
		t.Errorf("there are %v, announced are %v", left, announced)
	}
	if err := name(); !errors.Is(err, errSwept) {
		t.Errorf("named after the sweep: %v", err)
	}
}

// TestTablesOfDroppedResultsGo: of the results that are not kept any more the
// tables are not either.
func TestTablesOfDroppedResultsGo(t *testing.T) {
	p := newPlant(t, day0, nil)
	site := api.Site{SiteID: "South", CustomerID: "acme"}
	const results = 8
	for i := range results {
		key := fmt.Sprintf("interpolation/acme/South/int_%02d.csv", i)
		if err := p.putTable(t.Context(), site.SiteID, key, []byte("timestamp\n")); err != nil {
			t.Fatal(err)
		}
		r := api.InterpolationResult{SiteID: site.SiteID, ResultID: fmt.Sprintf("int_%02d", i), FilledValues: p.Objects.URI(key)}
		if err := p.keepFilled(t.Context(), site, r); err != nil {
			t.Fatal(err)
		}
	}
	kept, _, err := p.Ops.Interpolations(t.Context(), admin, api.ListQuery{SiteID: site.SiteID, Page: api.Page{Limit: results}})
	if err != nil || len(kept) == 0 || len(kept) >= results {
		t.Fatalf("%d results, %v", len(kept), err)
	}
	if left, announced := p.unnamed(); len(left)+len(announced) > 0 || len(p.leftovers()) != len(kept) {
		t.Errorf("%d tables of %d results; %v, announced are %v", len(p.leftovers()), len(kept), left, announced)
	}
}
