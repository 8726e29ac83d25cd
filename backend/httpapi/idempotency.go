package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"net/http"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/internal/clock"
)

// idempotencyRecord is the response to a creating request with an Idempotency-Key,
// or that it is in progress.
type idempotencyRecord struct {
	Key     []byte    `json:"key" limit:"64"`    // digest of caller, method, path and key
	Body    []byte    `json:"body" limit:"1024"` // keyed digest of the body, which may hold a password
	Begun   time.Time `json:"begun"`
	Changed bool      `json:"changed,omitempty"`              // written in the transaction of the change
	Lost    bool      `json:"lost,omitempty"`                 // the request has ended without an answer
	Sealed  []byte    `json:"sealed,omitempty" limit:"16MiB"` // the answer, which may hold an API key
	Expires time.Time `json:"expires"`
}

var rememberedAnswers = store.Table[idempotencyRecord]{
	Bucket:  "idempotency",
	Key:     func(r idempotencyRecord) []byte { return store.Key(string(r.Key)) },
	Indexes: []store.Index[idempotencyRecord]{{Name: "expires", Key: func(r idempotencyRecord) []byte { return store.Key(r.Expires.UTC().Format(time.RFC3339)) }}},
}

// sealedAnswers is the place of what is sealed here.
const sealedAnswers = "idempotency"

// lease is how long a request in progress keeps its key; a process that
// died must not keep it for a day.
const lease = 2 * time.Minute

// maxIdempotencyKey bounds the header.
const maxIdempotencyKey = 255

var (
	errKeyInUse   = inUse()
	errAnswerLost = api.Conflict("The request with this Idempotency-Key was carried out, but its answer was lost: look for what it made, it is not done again")
	errKeyReused  = &api.Error{Status: http.StatusUnprocessableEntity, Message: "This Idempotency-Key was used with another body"}
)

func inUse() *api.Error {
	e := api.InProgress("A request with this Idempotency-Key is in progress")
	e.RetryAfter = 1
	return e
}

// idempotency makes equal requests of this process wait for the first, so that
// one of them at a time asks the records, which alone decide. The zero value is
// ready.
type idempotency struct {
	mu       sync.Mutex
	underway map[[sha256.Size]byte]chan struct{}
}

// enter waits until no other request holds the key; leave must be called.
func (i *idempotency) enter(q *http.Request, key [sha256.Size]byte) (leave func(), err error) {
	for {
		i.mu.Lock()
		other, busy := i.underway[key]
		if !busy {
			if i.underway == nil {
				i.underway = map[[sha256.Size]byte]chan struct{}{}
			}
			done := make(chan struct{})
			i.underway[key] = done
			i.mu.Unlock()
			return func() {
				i.mu.Lock()
				defer i.mu.Unlock()
				delete(i.underway, key)
				close(done)
			}, nil
		}
		i.mu.Unlock()
		select {
		case <-other:
		case <-q.Context().Done():
			return nil, q.Context().Err()
		}
	}
}

// once runs a creating call at most once for a key of its caller in 24 hours,
// and answers what it answered then. Refusals are not kept: they created
// nothing. The key is marked in the transaction that makes the change, so that
// a process that dies leaves either both or none.
func (s *server) once(w http.ResponseWriter, q *http.Request, rt *endpoint, c *operation, g *caller, key string) {
	if len(key) > maxIdempotencyKey {
		s.refuse(w, q, api.InvalidParameter(api.HeaderIdempotencyKey, "at most 255 bytes"))
		return
	}
	id := sha256.Sum256(store.Key(g.ID, rt.Method, rt.Path, key))
	leave, err := s.idempotency.enter(q, id)
	if err != nil {
		s.refuse(w, q, err)
		return
	}
	defer leave()
	now := s.Now().UTC()
	mine := idempotencyRecord{Key: id[:], Body: s.Auth.Fingerprint(c.fingerprint, sealedAnswers), Begun: now, Expires: now.Add(api.IdempotencyWindow)}
	former, err := s.claimed(q, mine)
	if err != nil {
		s.refuse(w, q, err)
		return
	}
	if former == nil {
		if former, err = s.runOnce(q, mine, c, g); err != nil {
			s.refuse(w, q, err)
			return
		}
	} else {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	w.Header()["Content-Type"] = typeJSON
	w.Header()["Cache-Control"] = cacheNever
	s.send(w, q, false, former, false)
}

// How long a request waits for an equal one of another process, and how often it
// looks for its answer.
const (
	otherWait     = 20 * time.Second
	otherLook     = 20 * time.Millisecond
	otherLookMost = 500 * time.Millisecond
)

// claimed is claim, but waits for an equal request of another process as
// [idempotency] does for one of this. One that takes long, or whose process
// died, ends in [errKeyInUse].
func (s *server) claimed(q *http.Request, mine idempotencyRecord) (former []byte, err error) {
	ctx, cancel := context.WithTimeout(q.Context(), otherWait)
	defer cancel()
	for look := otherLook; ; look = min(2*look, otherLookMost) {
		former, err = s.claim(q, mine)
		if !s.Shared || !errors.Is(err, errKeyInUse) {
			return former, err
		}
		if clock.Sleep(ctx, look) != nil {
			return nil, err
		}
	}
}

// claim answers what was answered before, or nil when the caller is to do the
// work, under its record mine.
func (s *server) claim(q *http.Request, mine idempotencyRecord) (former []byte, err error) {
	now := mine.Begun
	err = s.Records.Update(q.Context(), func(tx store.Tx) error {
		former = nil
		r, err := rememberedAnswers.Get(tx, rememberedAnswers.Key(mine))
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return err
		case !now.Before(r.Expires):
		case !bytes.Equal(r.Body, mine.Body):
			return errKeyReused
		case r.Sealed != nil:
			former, err = s.Auth.Unseal(r.Sealed, sealedAnswers)
			return err
		case r.Changed && (!s.Shared || r.Lost): // no other process is about to answer
			return errAnswerLost
		case now.Before(r.Begun.Add(lease)):
			return errKeyInUse
		case r.Changed:
			return errAnswerLost
		}
		// Rarely with several processes: a search for expired keys conflicts with
		// all requests that take a key meanwhile.
		if !s.Shared || mine.Key[0]%16 == 0 {
			if err := dropExpired(tx, now); err != nil {
				return err
			}
		}
		return rememberedAnswers.Put(tx, mine)
	})
	return former, err
}

// current is the record of a key as it is now; errKeyInUse when it is another
// request's by now, which took this one for dead.
func (r idempotencyRecord) current(tx store.Tx) (idempotencyRecord, error) {
	now, err := rememberedAnswers.Get(tx, rememberedAnswers.Key(r))
	if errors.Is(err, store.ErrNotFound) || err == nil && !now.Begun.Equal(r.Begun) {
		return r, errKeyInUse
	}
	return now, err
}

// dropExpired removes some of what has expired, at each claim.
func dropExpired(tx store.Tx, now time.Time) error {
	old, _, err := rememberedAnswers.List(tx, store.Query{Index: "expires", Limit: 8})
	if err != nil {
		return err
	}
	for _, r := range old {
		if now.Before(r.Expires) {
			return nil
		}
		if err := rememberedAnswers.Delete(tx, rememberedAnswers.Key(r)); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) runOnce(q *http.Request, mine idempotencyRecord, c *operation, g *caller) ([]byte, error) {
	keep := context.WithoutCancel(q.Context()) // the key's record outlives a caller who leaves
	answered := false
	defer func() {
		if answered {
			return
		}
		// Refused, failed or panicked: the key is free again, unless the change
		// was made.
		err := s.Records.Update(keep, func(tx store.Tx) error {
			r, err := mine.current(tx)
			switch {
			case err != nil:
				return err
			case r.Changed: // the answer to the COMMIT was lost
				r.Lost = true
				return rememberedAnswers.Put(tx, r)
			}
			return rememberedAnswers.Delete(tx, rememberedAnswers.Key(mine))
		})
		if err != nil && !errors.Is(err, errKeyInUse) {
			s.Log.Error("free an idempotency key", "error", err.Error())
		}
	}()
	result, err := c.run(store.WithCommitHook(q.Context(), func(tx store.Tx) error {
		r, err := mine.current(tx)
		if err != nil {
			return err
		}
		r.Changed = true
		return rememberedAnswers.Put(tx, r)
	}), g)
	if err != nil {
		return nil, err
	}
	var buf bytes.Buffer
	if err := encode(&buf, result); err != nil {
		return nil, err
	}
	err = s.Records.Update(keep, func(tx store.Tx) error {
		r, err := mine.current(tx)
		if err != nil {
			return err
		}
		r.Sealed = s.Auth.Seal(buf.Bytes(), sealedAnswers)
		return rememberedAnswers.Put(tx, r)
	})
	// The work is done: a caller who left must find its answer, not a free key.
	answered = true
	if err != nil {
		err = uncertain{err}
	}
	return buf.Bytes(), err
}
