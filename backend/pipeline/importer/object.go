package importer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
)

// putObject stores a file under a key that no other one has. open returns the file from
// its beginning.
func (im *Importer) putObject(ctx context.Context, scope api.Scope, req api.UploadRequest, open func() io.Reader) (string, error) {
	name := objects.Upload{Kind: req.Kind, Client: cmp.Or(scope.ActorID, "direct"), Customer: req.CustomerID, Region: req.Region,
		Location: req.Location, Manufacturer: cmp.Or(req.Manufacturer, "auto")}
	folder := path.Dir(name.Key())
	stamp := api.At(im.Now())
	for n := 0; ; n++ {
		name.At = im.stamps.next(folder, stamp.Time)
		key := name.Key()
		free, err := im.AnnounceObjects(ctx, "", key)
		if err != nil {
			return "", err
		}
		if !free { // another process announced the object
			if n < 1000 {
				continue
			}
			return "", fmt.Errorf("store object %s: a thousand others are being stored", key)
		}
		err = im.Objects.Put(ctx, key, open())
		switch {
		case err == nil:
			return key, nil
		case errors.Is(err, store.ErrExists) && n < 1000:
			// Another file of the same second: theirs stays.
			if err := im.ForgetObject(ctx, key); err != nil {
				return "", err
			}
		default:
			im.DropObjects(ctx, "", key)
			return "", fmt.Errorf("store object %s: %w", key, err)
		}
	}
}

// uniqueSeconds gives each file of a folder its own second, as it is part of the
// key.
type uniqueSeconds struct {
	mu   sync.Mutex
	last map[string]time.Time // by folder
}

// maxFolders bounds the folders that are remembered. A forgotten one costs a
// collision.
const maxFolders = 10_000

func (s *uniqueSeconds) next(folder string, at time.Time) time.Time {
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
