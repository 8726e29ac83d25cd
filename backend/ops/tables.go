package ops

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"app.sunloop/backend/store"
)

// Tables is all that this package keeps in records, for a check of the data.
func Tables() []store.Checked {
	return []store.Checked{
		sites,
		siteClaims,
		scoreDays,
		notes,
		interpolations,
		alerts,
		weathers,
		models,
		diagnostics,
		forecasts,
		forecastDays,
		assets,
		findings,
		detections,
		issues,
		uploads,
		store.Plain(estimatesBucket),
	}
}

// Named is objects that a record names, and what it knows of them.
type Named struct {
	By     string   // the record, for people
	Keys   []string // of objects, in the order in which Hash takes them
	URI    string   // in the place of keys
	Bytes  int64    // of all together; 0: not known
	SHA256 string   // hex, of all together; empty: not known
}

// NamedObjects are all objects that records name. Records that cannot be read
// are left out: the check of their table tells of them.
func NamedObjects(tx store.Tx) ([]Named, error) {
	var named []Named
	add := func(by string, n Named) { n.By = by; named = append(named, n) }
	err := errors.Join(
		readable(tx, uploads.Bucket, func(u Upload) {
			if u.ObjectKey != "" {
				add("upload "+u.UploadID, Named{Keys: []string{u.ObjectKey}, Bytes: u.Bytes, SHA256: u.Hash})
			}
		}),
		readable(tx, models.Bucket, func(m Model) {
			if a := m.Artefacts; a.Model != "" {
				add("model "+m.ModelVersion+" of site "+m.SiteID, Named{Keys: a.All(), SHA256: m.Hash})
			}
		}),
		readable(tx, interpolations.Bucket, func(i Interpolation) {
			if i.FilledValues != "" {
				add("interpolation "+i.ResultID, Named{URI: i.FilledValues})
			}
		}))
	return named, err
}

// NamesObject says whether an upload names an object, by its key, or a model or
// a result of the site, by key or URI; siteID is empty for what only uploads
// name.
func (s *Service) NamesObject(tx store.Tx, siteID, key, uri string) (bool, error) {
	if list, _, err := uploads.List(tx, store.Query{Index: "object", Prefix: store.Key(key), Limit: 1}); err != nil || len(list) > 0 {
		return err == nil, err
	}
	if siteID == "" {
		return false, nil
	}
	named := false
	ofSite := store.Query{Prefix: store.Key(siteID)}
	err := models.Each(tx, ofSite, func(m Model) error {
		named = named || slices.Contains(m.Artefacts.All(), key)
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("read the models of site %s: %w", siteID, err)
	}
	err = interpolations.Each(tx, ofSite, func(i Interpolation) error {
		named = named || i.FilledValues == uri
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("read the interpolations of site %s: %w", siteID, err)
	}
	return named, nil
}

func readable[T any](tx store.Tx, bucket string, do func(T)) error {
	for e, err := range tx.Scan(bucket, nil, nil, false) {
		if err != nil {
			return fmt.Errorf("read %s: %w", bucket, err)
		}
		var v T
		if json.Unmarshal(e.Value, &v) == nil {
			do(v)
		}
	}
	return nil
}
