// Package shift keeps the shift log of a site: notes, hand-overs with who signed and
// who read them, and until when each user has seen what happened.
package shift

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/store"
)

// maxReaders bounds the people who are kept as readers of an entry; it is the bound of
// the field.
const maxReaders = 1000

// readBack bounds the entries that one request marks as read.
const readBack = 200

// Service keeps shift logs. It is safe for concurrent use; its state is in the store.
type Service struct {
	records    store.Records
	now        func() time.Time
	activities *activity.Service
	sites      *site.Service
}

// New returns a Service over a store. now is the plant's clock.
func New(records store.Records, now func() time.Time, activities *activity.Service, sites *site.Service) *Service {
	return &Service{records: records, now: now, activities: activities, sites: sites}
}

// Tables returns the tables of the package, for a check of the data.
func Tables() []store.Checked { return []store.Checked{entries, looks} }

// entry is the record of an entry.
type entry struct {
	EntryID    string   `json:"entry_id" limit:"id"`
	CustomerID string   `json:"customer_id" limit:"id"`
	SiteID     string   `json:"site_id" limit:"id"`
	Kind       string   `json:"kind" limit:"word"`
	Text       string   `json:"text" limit:"text"`
	SignedBy   string   `json:"signed_by" limit:"name cut"`
	SignerID   string   `json:"signer_id" limit:"id"` // user or API key
	At         api.Time `json:"at"`
	Since      api.Time `json:"since,omitzero"`
	ReadBy     []reader `json:"read_by,omitempty" limit:"1000"`
	UpdatedMS  int64    `json:"updated_ms,omitempty"` // when it was made or read last, in milliseconds since 1970
}

// reader is who has read an entry.
type reader struct {
	Name string   `json:"name" limit:"name cut"`
	At   api.Time `json:"at"`
}

func (e entry) toAPI() api.ShiftEntry {
	return api.ShiftEntry{EntryID: e.EntryID, SiteID: e.SiteID, Kind: e.Kind, Text: e.Text, SignedBy: e.SignedBy, At: e.At, Since: e.Since, UpdatedAtMS: e.UpdatedMS,
		ReadBy: record.Convert(e.ReadBy, func(r reader) api.ShiftReader { return api.ShiftReader(r) })}
}

var entries = store.Table[entry]{
	Bucket: "shift-entries",
	Key:    func(e entry) []byte { return store.Key(e.SiteID, e.EntryID) },
}

// look is until when a user has seen what happened at a site.
type look struct {
	SiteID string   `json:"site_id" limit:"id"`
	UserID string   `json:"user_id" limit:"id"` // or API key
	SeenAt api.Time `json:"seen_at"`
}

var looks = store.Table[look]{
	Bucket: "shift-looks",
	Key:    func(l look) []byte { return store.Key(l.SiteID, l.UserID) },
}

// userID identifies the caller; what the service does by itself has no id.
func userID(scope api.Scope) string { return cmp.Or(scope.ActorID, scope.Actor) }

// List lists the entries of a site, the newest first, and returns until when the caller
// has seen what happened there; the zero time means never.
func (s *Service) List(ctx context.Context, scope api.Scope, siteID string, page api.Page) (list []api.ShiftEntry, seen api.Time, next string, err error) {
	at, err := s.sites.Site(ctx, scope, siteID)
	if err != nil {
		return nil, seen, "", err
	}
	err = s.records.View(ctx, func(tx store.Tx) error {
		seen, err = seenAt(tx, at.SiteID, userID(scope))
		return err
	})
	if err != nil {
		return nil, seen, "", err
	}
	found, next, err := record.List(ctx, s.records, entries, store.Query{Prefix: store.Key(at.SiteID), Reverse: true}, page, func(e entry) bool { return page.SinceUnix(e.UpdatedMS, e.At) })
	return record.Convert(found, entry.toAPI), seen, next, record.Wrap(err, "list the shift log of site "+at.SiteID)
}

func seenAt(tx store.Tx, siteID, user string) (api.Time, error) {
	l, err := looks.Get(tx, store.Key(siteID, user))
	if errors.Is(err, store.ErrNotFound) {
		return api.Time{}, nil
	}
	return l.SeenAt, record.Wrap(err, "read until when the shift log of site "+siteID+" was seen")
}

// Add adds a note or a hand-over to the shift log of a site, signed by the caller.
func (s *Service) Add(ctx context.Context, scope api.Scope, siteID, kind, text string) (api.ShiftEntry, error) {
	var e entry
	err := s.records.Update(ctx, func(tx store.Tx) error {
		at, err := s.sites.SiteIn(tx, scope, siteID)
		if err != nil {
			return err
		}
		now := s.now()
		e = entry{EntryID: record.NewID("shf", now), CustomerID: at.CustomerID, SiteID: at.SiteID, Kind: kind, Text: strings.TrimSpace(text), SignedBy: scope.Actor, SignerID: userID(scope), At: api.At(now), UpdatedMS: now.UnixMilli()}
		title := "Note of the shift"
		if kind == api.ShiftHandOver {
			title = "Shift handed over"
			if e.Since, err = lastHandOver(tx, at.SiteID); err != nil {
				return err
			}
		}
		if err := entries.Insert(tx, e); err != nil {
			return fmt.Errorf("store shift entry %s: %w", e.EntryID, err)
		}
		return s.activities.Record(tx, activity.Record{CustomerID: e.CustomerID, SiteID: e.SiteID, Phase: api.PhaseAct, Title: title, Description: e.Text, Actor: scope.Actor})
	})
	return e.toAPI(), err
}

// errFound ends a walk over records.
var errFound = errors.New("found")

// lastHandOver returns when a site was handed over last, the zero time if never.
func lastHandOver(tx store.Tx, siteID string) (at api.Time, err error) {
	err = entries.Each(tx, store.Query{Prefix: store.Key(siteID), Reverse: true}, func(e entry) error {
		if e.Kind == api.ShiftHandOver {
			at = e.At
			return errFound
		}
		return nil
	})
	if errors.Is(err, errFound) {
		err = nil
	}
	return at, record.Wrap(err, "read the last hand-over of site "+siteID)
}

// Seen moves the time until which the caller has seen what happened at a site forward,
// and marks the entries until then as read by the caller; entryID is marked in any case.
// It returns the time, and the entry if one was named.
func (s *Service) Seen(ctx context.Context, scope api.Scope, siteID, entryID string, until api.Time) (seen api.Time, named *api.ShiftEntry, err error) {
	clock := s.now()
	now := api.At(clock)
	if until.After(now.Time) {
		return seen, nil, api.InvalidField("until", "must not be in the future")
	}
	if until.IsZero() {
		until = now
	}
	err = s.records.Update(ctx, func(tx store.Tx) error {
		named = nil
		at, err := s.sites.SiteIn(tx, scope, siteID)
		if err != nil {
			return err
		}
		user := userID(scope)
		if seen, err = seenAt(tx, at.SiteID, user); err != nil {
			return err
		}
		read := func(e entry) error {
			if e.SignerID != user && len(e.ReadBy) < maxReaders && !slices.ContainsFunc(e.ReadBy, func(r reader) bool { return r.Name == scope.Actor }) {
				e.ReadBy, e.UpdatedMS = append(e.ReadBy, reader{Name: scope.Actor, At: now}), clock.UnixMilli()
				if err := entries.Put(tx, e); err != nil {
					return fmt.Errorf("store shift entry %s: %w", e.EntryID, err)
				}
			}
			if e.EntryID == entryID {
				shown := e.toAPI()
				named = &shown
			}
			return nil
		}
		list, _, err := entries.List(tx, store.Query{Prefix: store.Key(at.SiteID), Reverse: true, Limit: readBack})
		if err != nil {
			return fmt.Errorf("list the shift log of site %s: %w", at.SiteID, err)
		}
		for _, e := range list {
			if e.At.After(seen.Time) && !e.At.After(until.Time) || e.EntryID == entryID {
				if err := read(e); err != nil {
					return err
				}
			}
		}
		if entryID != "" && named == nil {
			e, err := entries.Get(tx, store.Key(at.SiteID, entryID))
			if err != nil {
				return record.NotFoundAs(err, api.ErrShiftEntryNotFound, "shift entry "+entryID)
			}
			if err := read(e); err != nil {
				return err
			}
		}
		if !until.After(seen.Time) {
			return nil
		}
		seen = until
		if err := looks.Put(tx, look{SiteID: at.SiteID, UserID: user, SeenAt: until}); err != nil {
			return fmt.Errorf("store until when the shift log of site %s was seen: %w", at.SiteID, err)
		}
		return nil
	})
	return seen, named, err
}

// Prune deletes entries from before a time.
func Prune(tx store.Tx, before time.Time) (int, error) {
	return record.Prune(tx, entries, func(_ string, made time.Time) bool { return made.Before(before) })
}
