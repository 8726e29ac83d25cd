package pipeline

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/store"
)

// intentBucket names the objects that are being put or dropped: each before it
// is put, until the transaction that names it in a record. So one that nobody
// names is known, and whose it is.
const intentBucket = "object-intents"

// intent is what is kept of such an object.
type intent struct {
	Site     string    `json:"site,omitempty"`     // whose models and results may name the object; empty: uploads alone do
	Life     string    `json:"life"`               // of the process
	At       time.Time `json:"at"`                 // of the wall
	Dropping bool      `json:"dropping,omitempty"` // no record may name the object any more
}

// staleIntent is when an intent's process is taken to be gone: many times what
// lies between putting an object and naming it. One that was only slow is
// refused when it comes to name the object.
const staleIntent = time.Hour

// errSwept ends the work of a process that was too slow to name an object.
var errSwept = errors.New("the object was taken back before a record named it")

// readIntent reads also what former versions wrote: the life alone.
func readIntent(b []byte) intent {
	var i intent
	if json.Unmarshal(b, &i) != nil {
		return intent{Life: string(b)}
	}
	return i
}

func (p *Pipeline) putIntent(tx store.Tx, siteID, key string, dropping bool) error {
	b, err := json.Marshal(intent{siteID, p.life, p.Wall().UTC(), dropping})
	if err != nil {
		return err
	}
	return tx.Put(intentBucket, store.Key(key), b)
}

// announce says that objects will be put; false if one of them is announced
// already: it is for whoever did to name or to drop.
func (p *Pipeline) announce(ctx context.Context, siteID string, keys ...string) (ok bool, err error) {
	err = p.Records.Update(store.Aside(ctx), func(tx store.Tx) error {
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
			if err := p.putIntent(tx, siteID, key, false); err != nil {
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

// named ends an announcement within the transaction that names the objects.
func (p *Pipeline) named(tx store.Tx, keys ...string) error {
	for _, key := range keys {
		b, err := tx.Get(intentBucket, store.Key(key))
		if errors.Is(err, store.ErrNotFound) {
			return fmt.Errorf("object %s: %w", key, errSwept)
		}
		if err != nil {
			return err
		}
		if i := readIntent(b); i.Life != p.life || i.Dropping {
			return fmt.Errorf("object %s: %w", key, errSwept)
		}
		if err := tx.Delete(intentBucket, store.Key(key)); err != nil {
			return err
		}
	}
	return nil
}

func (p *Pipeline) forgetIntent(ctx context.Context, key string) error {
	return p.Records.Update(store.Aside(ctx), func(tx store.Tx) error { return tx.Delete(intentBucket, store.Key(key)) })
}

// dropObjects takes back announced objects that came to nothing.
func (p *Pipeline) dropObjects(ctx context.Context, siteID string, keys ...string) {
	ctx = context.WithoutCancel(ctx)
	err := p.Records.Update(store.Aside(ctx), func(tx store.Tx) error { return p.dropping(tx, siteID, keys...) })
	if err != nil {
		p.Logger.Warn("drop objects; they will be later", "keys", keys, "error", err)
		return
	}
	p.takeBack(ctx, siteID, keys...)
}

// dropping announces that objects will be dropped: should a crash come before,
// a sweep does it.
func (p *Pipeline) dropping(tx store.Tx, siteID string, keys ...string) error {
	for _, key := range keys {
		if err := p.putIntent(tx, siteID, key, true); err != nil {
			return err
		}
	}
	return nil
}

// takeBack drops objects that are announced as dropping, but for those that a
// record names.
func (p *Pipeline) takeBack(ctx context.Context, siteID string, keys ...string) {
	ctx = context.WithoutCancel(ctx)
	for _, key := range keys {
		var used bool
		err := p.Records.View(ctx, func(tx store.Tx) (err error) {
			used, err = p.Ops.NamesObject(tx, siteID, key, p.Objects.URI(key))
			return err
		})
		if err == nil && !used {
			err = p.Objects.Delete(ctx, key)
		}
		if err == nil {
			err = p.forgetIntent(ctx, key)
		}
		if err != nil {
			p.Logger.Warn("drop an object; it will be later", "key", key, "error", err)
		}
	}
}

// sweepIntents drops the objects that no process will come to name: at the
// start of the only one those of all before it, else those that are stale.
func (p *Pipeline) sweepIntents(ctx context.Context, start bool) error {
	found := map[string]intent{}
	err := p.Records.View(ctx, func(tx store.Tx) error {
		clear(found)
		for e, err := range tx.Scan(intentBucket, nil, nil, false) {
			if err != nil {
				return err
			}
			i := readIntent(e.Value)
			former := start && p.Exclusive && i.Life != p.life
			if parts := store.Parts(e.Key); len(parts) == 1 && (former || p.Wall().Sub(i.At) > staleIntent) {
				found[parts[0]] = i
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list the objects under way: %w", err)
	}
	for key, i := range found {
		var mine bool
		err := p.Records.Update(ctx, func(tx store.Tx) error {
			b, err := tx.Get(intentBucket, store.Key(key))
			if mine = err == nil && readIntent(b) == i; !mine { // it was named, or another sweeps it
				return ignoreNotFound(err)
			}
			return p.dropping(tx, i.Site, key)
		})
		if err != nil {
			return fmt.Errorf("take back object %s: %w", key, err)
		}
		if mine {
			p.takeBack(ctx, i.Site, key)
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
