package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
)

// intentBucket names the objects that are being put: one without a record at
// the next start is of an upload that was never acknowledged.
const intentBucket = "object-intents"

func (p *Pipeline) putObject(ctx context.Context, scope api.Scope, req api.UploadRequest, data []byte) (string, error) {
	name := objects.Upload{Kind: req.Kind, Client: cmp.Or(scope.ActorID, "direct"), Customer: req.CustomerID, Region: req.Region,
		Location: req.Location, Manufacturer: cmp.Or(req.Manufacturer, "auto")}
	folder := path.Dir(name.Key())
	stamp := api.At(p.Now())
	for n := 0; ; n++ {
		name.At = p.stamps.next(folder, stamp.Time)
		key := name.Key()
		taken := false
		err := p.Records.Update(store.Aside(ctx), func(tx store.Tx) error {
			_, err := tx.Get(intentBucket, store.Key(key))
			if taken = err == nil; taken {
				return nil
			}
			if !errors.Is(err, store.ErrNotFound) {
				return err
			}
			return tx.Put(intentBucket, store.Key(key), []byte(p.life))
		})
		if err != nil {
			return "", fmt.Errorf("announce object %s: %w", key, err)
		}
		if taken { // its object is for whoever announced it to keep or to sweep
			if n < 1000 {
				continue
			}
			return "", fmt.Errorf("store object %s: a thousand others are being stored", key)
		}
		err = p.Objects.Put(ctx, key, bytes.NewReader(data))
		switch {
		case err == nil:
			return key, nil
		case errors.Is(err, store.ErrExists) && n < 1000:
			// Another file of the same second: theirs stays.
			if err := p.forgetIntent(ctx, key); err != nil {
				return "", err
			}
		default:
			p.dropObject(ctx, key)
			return "", fmt.Errorf("store object %s: %w", key, err)
		}
	}
}

// stamps gives each file of a folder a second of its own.
type stamps struct {
	mu   sync.Mutex
	last map[string]time.Time // by folder
}

// maxFolders bounds what is remembered; what is forgotten costs a collision.
const maxFolders = 10_000

func (s *stamps) next(folder string, at time.Time) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.last) > maxFolders || s.last == nil {
		s.last = map[string]time.Time{}
	}
	if last, ok := s.last[folder]; ok && !at.After(last) {
		at = last.Add(time.Second)
	}
	s.last[folder] = at
	return at
}

func (p *Pipeline) forgetIntent(ctx context.Context, key string) error {
	return p.Records.Update(store.Aside(ctx), func(tx store.Tx) error { return tx.Delete(intentBucket, store.Key(key)) })
}

// dropObject takes back an object whose upload was not acknowledged. One that
// an upload has stays: two files of the same second may have announced it.
func (p *Pipeline) dropObject(ctx context.Context, key string) {
	ctx = context.WithoutCancel(ctx)
	uses, err := p.Ops.ObjectUploads(ctx, key)
	if err == nil && len(uses) == 0 {
		err = p.Objects.Delete(ctx, key)
	}
	if err == nil {
		err = p.forgetIntent(ctx, key)
	}
	if err != nil {
		p.Logger.Warn("drop an object; the next start will", "key", key, "error", err)
	}
}

// sweepIntents deletes the objects of uploads that a former process did not
// come to acknowledge. Those of this one may be under way already.
func (p *Pipeline) sweepIntents(ctx context.Context) error {
	var keys []string
	err := p.Records.View(ctx, func(tx store.Tx) error {
		keys = nil
		for e, err := range tx.Scan(intentBucket, nil, nil, false) {
			if err != nil {
				return err
			}
			if parts := store.Parts(e.Key); len(parts) == 1 && string(e.Value) != p.life {
				keys = append(keys, parts[0])
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list the objects under way: %w", err)
	}
	for _, key := range keys {
		p.dropObject(ctx, key)
	}
	return nil
}
