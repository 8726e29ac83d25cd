package pipeline

import (
	"errors"
	"slices"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/learn/artifact"
)

// TestSweepLeavesWhatAnotherProcessIsAboutToName: of two processes that share
// store and objects, one starts and maintains while the other has put an object
// and not named it yet.
func TestSweepLeavesWhatAnotherProcessIsAboutToName(t *testing.T) {
	wall := time.Now()
	p := newPlant(t, day0, func(c *Config) { c.Exclusive, c.Wall = false, func() time.Time { return wall } })
	config := p.config
	other, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	ctx, site := t.Context(), api.Site{SiteID: "South", CustomerID: "acme"}
	parts := artifact.Parts{Model: []byte("m"), Encoders: []byte("e"), Config: []byte("c")}
	keys, err := other.WriteArtefact(ctx, site, parts.Hash(), parts)
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
		return p.Records.Update(ctx, func(tx store.Tx) error { return other.ConfirmObjects(tx, keys.All()...) })
	}
	wall = wall.Add(sitedata.StaleIntent)
	sweep()
	if left, announced := p.unnamed(); len(left) != 3 || len(announced) != 3 {
		t.Fatalf("after the other's sweep there are %v, announced are %v", left, announced)
	}
	// The same model of a second process is stored at a separate place.
	beside, err := p.WriteArtefact(ctx, site, parts.Hash(), parts)
	if err != nil || slices.ContainsFunc(beside.All(), func(k string) bool { return slices.Contains(keys.All(), k) }) {
		t.Fatalf("%v next to %v, %v", beside, keys, err)
	}
	p.DropObjects(ctx, site.SiteID, beside.All()...)
	if left, _ := p.unnamed(); len(left) != 3 {
		t.Fatalf("there are %v", left)
	}
	// Past its time the objects go, and their process cannot name them any more.
	wall = wall.Add(time.Second)
	sweep()
	if left, announced := p.unnamed(); len(left)+len(announced) > 0 {
		t.Errorf("there are %v, announced are %v", left, announced)
	}
	if err := name(); !errors.Is(err, sitedata.ErrObjectSwept) {
		t.Errorf("named after the sweep: %v", err)
	}
}
