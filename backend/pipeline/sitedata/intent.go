package sitedata

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// intentBucket holds the announcements of objects that are being put or deleted.
// An object is announced before it is put, until the transaction that names it in
// a record, so that each object without a record has a known owner.
const intentBucket = "object-intents"

// intent is the announcement of an object.
type intent struct {
	Site     string    `json:"site,omitempty"`     // whose models and results may name the object; empty: only uploads do
	Life     string    `json:"life"`               // of the process
	At       time.Time `json:"at"`                 // of the wall
	Dropping bool      `json:"dropping,omitempty"` // no record may name the object any more
}

// StaleIntent is the age at which the process that announced an object is taken to
// be dead: many times the time between putting an object and naming it. A process
// that was only slow gets [ErrObjectSwept] when it names the object.
const StaleIntent = time.Hour

// ErrObjectSwept is the error of a process that was too slow to name an object.
var ErrObjectSwept = errors.New("the object was taken back before a record named it")

// readIntent decodes an announcement. Earlier versions stored the process id only.
func readIntent(b []byte) intent {
	var i intent
	if json.Unmarshal(b, &i) != nil {
		return intent{Life: string(b)}
	}
	return i
}

func (d *Data) putIntent(tx store.Tx, siteID, key string, dropping bool) error {
	b, err := json.Marshal(intent{siteID, d.processID, d.Wall().UTC(), dropping})
	if err != nil {
		return err
	}
	return tx.Put(intentBucket, store.Key(key), b)
}

// AnnounceObjects records that objects will be put, for the uploads or, with a
// site's id, for its models and results. It returns false if one of them is
// announced already, by the process that will name or delete it.
func (d *Data) AnnounceObjects(ctx context.Context, siteID string, keys ...string) (ok bool, err error) {
	err = d.Records.Update(store.WithoutCommitHook(ctx), func(tx store.Tx) error {
		ok = true
		for _, key := range keys {
			_, err := tx.Get(intentBucket, store.Key(key))
			if err == nil {
				ok = false
				return nil
			}
			if !errors.Is(err, store.ErrNotFound) {
				return err
			}
		}
		for _, key := range keys {
			if err := d.putIntent(tx, siteID, key, false); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("announce objects %v: %w", keys, err)
	}
	return ok, nil
}

// ConfirmObjects ends announcements, within the transaction that names the objects
// in a record.
func (d *Data) ConfirmObjects(tx store.Tx, keys ...string) error {
	for _, key := range keys {
		b, err := tx.Get(intentBucket, store.Key(key))
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("object %s: %w", key, ErrObjectSwept)
		}
		if err != nil {
			return err
		}
		if i := readIntent(b); i.Life != d.processID || i.Dropping {
			return fmt.Errorf("object %s: %w", key, ErrObjectSwept)
		}
		if err := tx.Delete(intentBucket, store.Key(key)); err != nil {
			return err
		}
	}
	return nil
}

// ForgetObject ends the announcement of an object that was not put.
func (d *Data) ForgetObject(ctx context.Context, key string) error {
	return d.Records.Update(store.WithoutCommitHook(ctx), func(tx store.Tx) error { return tx.Delete(intentBucket, store.Key(key)) })
}

// DropObjects deletes announced objects that no record will name.
func (d *Data) DropObjects(ctx context.Context, siteID string, keys ...string) {
	ctx = context.WithoutCancel(ctx)
	err := d.Records.Update(store.WithoutCommitHook(ctx), func(tx store.Tx) error { return d.MarkForDeletion(tx, siteID, keys...) })
	if err != nil {
		d.Logger.Warn("delete objects; the next sweep retries", "keys", keys, "error", err)
		return
	}
	d.DeleteMarked(ctx, siteID, keys...)
}

// MarkForDeletion announces that objects will be deleted. After a crash, a sweep
// deletes them.
func (d *Data) MarkForDeletion(tx store.Tx, siteID string, keys ...string) error {
	for _, key := range keys {
		if err := d.putIntent(tx, siteID, key, true); err != nil {
			return err
		}
	}
	return nil
}

// DeleteMarked deletes objects that are marked for deletion, except those that a
// record names.
func (d *Data) DeleteMarked(ctx context.Context, siteID string, keys ...string) {
	ctx = context.WithoutCancel(ctx)
	for _, key := range keys {
		var used bool
		err := d.Records.View(ctx, func(tx store.Tx) (err error) {
			used, err = domain.IsReferenced(tx, siteID, key, d.Objects.URI(key))
			return err
		})
		if err == nil && !used {
			err = d.Objects.Delete(ctx, key)
		}
		if err == nil {
			err = d.ForgetObject(ctx, key)
		}
		if err != nil {
			d.Logger.Warn("delete object; the next sweep retries", "key", key, "error", err)
		}
	}
}

// SweepObjects deletes the announced objects that no process will name: at the
// start of the only process those of all former ones, else those whose
// announcement is stale.
func (d *Data) SweepObjects(ctx context.Context, start bool) error {
	found := map[string]intent{}
	err := d.Records.View(ctx, func(tx store.Tx) error {
		clear(found)
		for e, err := range tx.Scan(intentBucket, nil, nil, false) {
			if err != nil {
				return err
			}
			i := readIntent(e.Value)
			former := start && d.Exclusive && i.Life != d.processID
			if parts := store.Parts(e.Key); len(parts) == 1 && (former || d.Wall().Sub(i.At) > StaleIntent) {
				found[parts[0]] = i
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list the objects being stored: %w", err)
	}
	for key, i := range found {
		var mine bool
		err := d.Records.Update(ctx, func(tx store.Tx) error {
			b, err := tx.Get(intentBucket, store.Key(key))
			if mine = err == nil && readIntent(b) == i; !mine { // it was named, or another sweeps it
				return ignoreNotFound(err)
			}
			return d.MarkForDeletion(tx, i.Site, key)
		})
		if err != nil {
			return fmt.Errorf("take back object %s: %w", key, err)
		}
		if mine {
			d.DeleteMarked(ctx, i.Site, key)
		}
	}
	return nil
}

func ignoreNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

// IsAnnounced reports whether an object is being put or deleted.
func IsAnnounced(tx store.Tx, key string) (bool, error) {
	_, err := tx.Get(intentBucket, store.Key(key))
	if errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// Announced calls each with the key of each announced object.
func Announced(tx store.Tx, each func(key string)) error {
	for e, err := range tx.Scan(intentBucket, nil, nil, false) {
		if err != nil {
			return err
		}
		if parts := store.Parts(e.Key); len(parts) == 1 {
			each(parts[0])
		}
	}
	return nil
}

// Tables returns the tables of this package, for a check of the data.
func Tables() []store.Checked {
	return []store.Checked{calibrations, states, unitRhythms, store.Unchecked(intentBucket), store.Unchecked(progressBucket)}
}

// SiteRecords returns the records of this package that are of sites.
func SiteRecords() []record.OfSite {
	return record.OfSites(calibrations, states, unitRhythms, store.Unchecked(progressBucket))
}
