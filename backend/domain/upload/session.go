package upload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Session is a file that is sent in parts.
type Session struct {
	SessionID  string
	CustomerID string
	SiteID     string
	Actor      string
	ActorID    string
	Request    api.UploadRequest
	Size       int64
	SHA256     string // of the whole file as it was announced, hex; empty: finish states it
	Offset     int64  // bytes that are stored
	Digest     []byte // state of the SHA-256 over these
	ExpiresAt  time.Time
	UploadID   string // once the session is finished
}

// sessionRecord is a stored session. Its fields have the meaning of those of [Session].
type sessionRecord struct {
	SessionID  string        `json:"session_id" limit:"id"`
	CustomerID string        `json:"customer_id" limit:"id"`
	SiteID     string        `json:"site_id" limit:"id"`
	Actor      string        `json:"actor" limit:"id"`
	ActorID    string        `json:"actor_id" limit:"id"`
	Kind       string        `json:"kind" limit:"word"`
	Filename   string        `json:"filename,omitempty" limit:"255"`
	Request    requestRecord `json:"request"`
	Size       int64         `json:"size"`
	SHA256     string        `json:"sha256,omitempty" limit:"name"`
	Offset     int64         `json:"offset"`
	Digest     []byte        `json:"digest,omitempty" limit:"1KiB"`
	ExpiresAt  time.Time     `json:"expires_at"`
	UploadID   string        `json:"upload_id,omitempty" limit:"id"`
}

func newSessionRecord(v Session) sessionRecord {
	return sessionRecord{SessionID: v.SessionID, CustomerID: v.CustomerID, SiteID: v.SiteID, Actor: v.Actor, ActorID: v.ActorID, Kind: v.Request.Kind, Filename: v.Request.Filename,
		Request: newRequestRecord(v.Request), Size: v.Size, SHA256: v.SHA256, Offset: v.Offset, Digest: v.Digest, ExpiresAt: v.ExpiresAt, UploadID: v.UploadID}
}

func (r sessionRecord) session() Session {
	req := r.Request.toAPI()
	req.Kind, req.Filename, req.Bytes = r.Kind, r.Filename, r.Size
	return Session{SessionID: r.SessionID, CustomerID: r.CustomerID, SiteID: r.SiteID, Actor: r.Actor, ActorID: r.ActorID, Request: req,
		Size: r.Size, SHA256: r.SHA256, Offset: r.Offset, Digest: r.Digest, ExpiresAt: r.ExpiresAt, UploadID: r.UploadID}
}

var uploadSessions = store.Table[Session]{
	Bucket: "upload-sessions",
	Key:    func(s Session) []byte { return store.Key(s.SiteID, s.SessionID) },
	Indexes: []store.Index[Session]{
		{Name: "id", Key: func(s Session) []byte { return store.Key(s.SessionID) }},
		{Name: "expires", Key: func(s Session) []byte { return store.Key(s.ExpiresAt.UTC().Format(time.RFC3339)) }},
	},
	Form: store.As(newSessionRecord, sessionRecord.session),
}

// SessionPart is a part of a session, stored as an object.
type SessionPart struct {
	SiteID    string `json:"site_id" limit:"id"`
	SessionID string `json:"session_id" limit:"id"`
	Offset    int64  `json:"offset"`
	Bytes     int64  `json:"bytes"`
	SHA256    string `json:"sha256" limit:"name"` // hex
	ObjectKey string `json:"object_key" limit:"url"`
}

var sessionParts = store.Table[SessionPart]{
	Bucket: "upload-parts",
	Key: func(p SessionPart) []byte {
		return store.Key(p.SiteID, p.SessionID, fmt.Sprintf("%015d", p.Offset))
	},
	Indexes: []store.Index[SessionPart]{{Name: "object", Key: func(p SessionPart) []byte { return store.Key(p.ObjectKey) }}},
}

// SessionIn returns a session, or [store.ErrNotFound].
func SessionIn(tx store.Tx, id string) (Session, error) {
	list, _, err := uploadSessions.List(tx, store.Query{Index: "id", Prefix: store.Key(id), Limit: 1})
	if err != nil {
		return Session{}, fmt.Errorf("look up the upload session %s: %w", id, err)
	}
	if len(list) == 0 {
		return Session{}, fmt.Errorf("upload session %s: %w", id, store.ErrNotFound)
	}
	return list[0], nil
}

// Session is a session within the scope that has not expired;
// [api.ErrSessionNotFound] for another one.
func (s *Service) Session(ctx context.Context, scope api.Scope, id string, now time.Time) (v Session, err error) {
	err = s.records.View(ctx, func(tx store.Tx) error {
		v, err = SessionIn(tx, id)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Session{}, api.ErrSessionNotFound
	case err != nil:
		return Session{}, err
	case v.ExpiresAt.Before(now):
		return Session{}, api.ErrSessionNotFound
	}
	return v, scope.Check(v.CustomerID, v.SiteID)
}

// PutSession stores a session.
func PutSession(tx store.Tx, v Session) error {
	if err := uploadSessions.Put(tx, v); err != nil {
		return fmt.Errorf("store the upload session %s: %w", v.SessionID, err)
	}
	return nil
}

// OpenSessions calls do with each session that is neither finished nor expired.
func OpenSessions(tx store.Tx, now time.Time, do func(Session)) error {
	return uploadSessions.Each(tx, store.Query{}, func(v Session) error {
		if v.UploadID == "" && !v.ExpiresAt.Before(now) {
			do(v)
		}
		return nil
	})
}

// ExpiredSessions are up to n sessions that have expired, or all of a site if that is
// not empty.
func ExpiredSessions(tx store.Tx, siteID string, now time.Time, n int) (list []Session, err error) {
	if siteID != "" {
		list, _, err = uploadSessions.List(tx, store.Query{Prefix: store.Key(siteID), Limit: n})
	} else if list, _, err = uploadSessions.List(tx, store.Query{Index: "expires", Limit: n}); err == nil {
		for i, v := range list {
			if !v.ExpiresAt.Before(now) {
				list = list[:i]
				break
			}
		}
	}
	if err != nil {
		return nil, fmt.Errorf("list the expired upload sessions: %w", err)
	}
	return list, nil
}

// DeleteSession deletes a session with its parts, and returns the keys of their objects.
func DeleteSession(tx store.Tx, v Session) (keys []string, err error) {
	if keys, err = DeleteParts(tx, v); err != nil {
		return nil, err
	}
	if err := uploadSessions.Delete(tx, uploadSessions.Key(v)); err != nil {
		return nil, fmt.Errorf("delete the upload session %s: %w", v.SessionID, err)
	}
	return keys, nil
}

// DeleteParts deletes the parts of a session, and returns the keys of their objects.
func DeleteParts(tx store.Tx, v Session) (keys []string, err error) {
	parts, err := Parts(tx, v)
	if err != nil {
		return nil, err
	}
	for _, p := range parts {
		keys = append(keys, p.ObjectKey)
	}
	if _, err := sessionParts.DeletePrefix(tx, store.Key(v.SiteID, v.SessionID), math.MaxInt); err != nil {
		return nil, err
	}
	return keys, nil
}

// Parts are the parts of a session in order.
func Parts(tx store.Tx, v Session) ([]SessionPart, error) {
	list, _, err := sessionParts.List(tx, store.Query{Prefix: store.Key(v.SiteID, v.SessionID)})
	if err != nil {
		return nil, fmt.Errorf("list the parts of the upload session %s: %w", v.SessionID, err)
	}
	return list, nil
}

// PartAt returns the part of a session that begins at an offset; ok is false if there
// is none.
func PartAt(tx store.Tx, v Session, offset int64) (p SessionPart, ok bool, err error) {
	p, err = sessionParts.Get(tx, sessionParts.Key(SessionPart{SiteID: v.SiteID, SessionID: v.SessionID, Offset: offset}))
	if errors.Is(err, store.ErrNotFound) {
		return p, false, nil
	}
	return p, err == nil, err
}

// AddPart stores a part.
func AddPart(tx store.Tx, p SessionPart) error {
	if err := sessionParts.Insert(tx, p); err != nil {
		return fmt.Errorf("store a part of the upload session %s: %w", p.SessionID, err)
	}
	return nil
}
