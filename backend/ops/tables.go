package ops

import (
	"encoding/json"
	"errors"
	"fmt"

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

// Named is a record's reference to objects, with what the record knows of them.
type Named struct {
	By     string   // the record, for people
	Keys   []string // of the objects, in the order in which SHA256 takes them
	URI    string   // instead of keys
	Bytes  int64    // of all together; 0: not known
	SHA256 string   // hex, of all together; empty: not known
}

// NamedObjects returns all objects that records refer to. Records that cannot be
// read are left out: the check of their table reports them.
func NamedObjects(tx store.Tx) ([]Named, error) {
	ofUploads, err := uploadObjects(tx)
	ofModels, err2 := modelObjects(tx)
	return append(ofUploads, ofModels...), errors.Join(err, err2)
}

// NamesObject reports whether an upload refers to an object by its key, or a model or
// a result of the site by its key or URI; siteID is empty for what only uploads refer
// to.
func (s *Service) NamesObject(tx store.Tx, siteID, key, uri string) (bool, error) {
	if is, err := uploadRefers(tx, key); err != nil || is || siteID == "" {
		return is, err
	}
	return modelRefers(tx, siteID, key, uri)
}

// readable calls do with the records of a bucket that can be read.
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
