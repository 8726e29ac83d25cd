package pipeline

import "app.sunloop/backend/store"

// Tables is all that this package keeps in records, for a check of the data.
func Tables() []store.Checked {
	return []store.Checked{
		calibrations,
		tracks,
		store.Plain(intentBucket),
		store.Plain(progressBucket),
	}
}

// Announced tells of the keys of objects that were being put or dropped: one that
// no record names is dropped by a sweep.
func Announced(tx store.Tx, tell func(key string)) error {
	for e, err := range tx.Scan(intentBucket, nil, nil, false) {
		if err != nil {
			return err
		}
		if parts := store.Parts(e.Key); len(parts) == 1 {
			tell(parts[0])
		}
	}
	return nil
}
