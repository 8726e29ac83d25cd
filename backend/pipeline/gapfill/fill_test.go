package gapfill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/objects"
)

// newFiller returns a Filler over an empty data folder.
func newFiller(t *testing.T) (*Filler, *objects.Store) {
	t.Helper()
	dir, now := t.TempDir(), func() time.Time { return time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC) }
	db, err := bolt.Open(dir, bolt.Options{Now: now})
	if err != nil {
		t.Fatal(err)
	}
	files, err := objects.OpenFolder(filepath.Join(dir, "objects"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(files.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	return &Filler{sitedata.New(sitedata.Config{Records: db, Telemetry: db, Objects: files, Domain: domain.New(db, db, now), Now: now, Wall: now,
		Logger: slog.New(slog.DiscardHandler), Exclusive: true})}, files
}

// TestTablesOfDroppedResultsGo: the tables of results that are not kept are
// deleted.
func TestTablesOfDroppedResultsGo(t *testing.T) {
	g, files := newFiller(t)
	site := api.Site{SiteID: "South", CustomerID: "acme"}
	const results = 8
	for i := range results {
		key := fmt.Sprintf("interpolation/acme/South/int_%02d.csv", i)
		if err := g.storeTable(t.Context(), site.SiteID, key, []byte("timestamp\n")); err != nil {
			t.Fatal(err)
		}
		r := api.InterpolationResult{SiteID: site.SiteID, ResultID: fmt.Sprintf("int_%02d", i), FilledValues: g.Objects.URI(key)}
		if err := g.storeResult(t.Context(), site, r); err != nil {
			t.Fatal(err)
		}
	}
	kept, _, err := g.Interpolations(t.Context(), api.Unlimited("test"), api.ListQuery{SiteID: site.SiteID, Page: api.Page{Limit: results}})
	if err != nil || len(kept) == 0 || len(kept) >= results {
		t.Fatalf("%d results, %v", len(kept), err)
	}
	want := map[string]bool{}
	for _, r := range kept {
		key, _ := g.Objects.Key(r.FilledValues)
		want[key] = true
	}
	n := 0
	for o, err := range files.List(t.Context()) {
		if err != nil || !want[o.Key] {
			t.Errorf("object %s, %v", o.Key, err)
		}
		n++
	}
	if n != len(kept) {
		t.Errorf("%d tables of %d results", n, len(kept))
	}
	err = g.Records.View(t.Context(), func(tx store.Tx) error {
		return sitedata.Announced(tx, func(key string) { t.Errorf("announced: %s", key) })
	})
	if err != nil {
		t.Error(err)
	}
}

// unavailable are objects that cannot be read now.
type unavailable struct{ store.Objects }

func (unavailable) Open(context.Context, string) (io.ReadCloser, error) {
	return nil, store.ErrUnavailable
}

// TestProductionModelUnavailable: a production model that cannot be read now is
// not rejected.
func TestProductionModelUnavailable(t *testing.T) {
	g, files := newFiller(t)
	g.Objects = unavailable{files}
	if err := (&siteFiller{g: g}).useProduction(t.Context(), model.Model{}); !errors.Is(err, store.ErrUnavailable) {
		t.Error(err)
	}
}
