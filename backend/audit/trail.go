// Package audit keeps the audit trail: one record for each request that writes,
// never changed afterwards. Records of denied requests are limited, so that
// clients cannot fill the disk with them.
package audit

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"

	"app.sunloop/backend/api"
	limits "app.sunloop/backend/limit"
	"app.sunloop/backend/store"
)

const idPrefix = "aud_"

var records = store.Table[api.AuditRecord]{
	Bucket: "audit",
	Key:    func(r api.AuditRecord) []byte { return store.Key(r.AuditID) },
	Indexes: []store.Index[api.AuditRecord]{
		{Name: "actor_id", Key: func(r api.AuditRecord) []byte { return unlessEmpty(r.ActorID) }},
		{Name: "actor", Key: func(r api.AuditRecord) []byte { return unlessEmpty(r.Actor) }},
		{Name: "site", Key: func(r api.AuditRecord) []byte { return unlessEmpty(r.SiteID) }},
		{Name: "stranger", Key: func(r api.AuditRecord) []byte {
			if r.ActorID != "" {
				return nil
			}
			return []byte{}
		}},
	},
	Form: store.As(newAuditRecord, auditRecord.toAPI),
}

// auditRecord is a stored record. Its fields have the meaning of those of [api.AuditRecord].
type auditRecord struct {
	AuditID     string            `json:"audit_id" limit:"id"`
	Timestamp   api.Time          `json:"timestamp"`
	Actor       string            `json:"actor,omitempty" limit:"name cut"`
	ActorID     string            `json:"actor_id,omitempty" limit:"id cut"`
	Address     string            `json:"address,omitempty" limit:"name cut"`
	Route       string            `json:"route" limit:"name cut"`
	Action      string            `json:"action,omitempty" limit:"word cut"`
	CustomerIDs []string          `json:"customer_ids,omitempty" limit:"1000 id cut"`
	SiteID      string            `json:"site_id,omitempty" limit:"id cut"`
	TargetIDs   map[string]string `json:"target_ids,omitempty" limit:"50 word id cut"`
	Status      int               `json:"status"`
	Error       string            `json:"error,omitempty" limit:"line cut"`
	RequestID   string            `json:"request_id,omitempty" limit:"id"`
	Replayed    bool              `json:"replayed,omitempty"`
	Before      any               `json:"before,omitempty" limit:"128KiB cut"`
	After       any               `json:"after,omitempty" limit:"128KiB cut"`
	Omitted     int               `json:"omitted,omitempty"`
}

func newAuditRecord(v api.AuditRecord) auditRecord { return auditRecord(v) }

func (r auditRecord) toAPI() api.AuditRecord { return api.AuditRecord(r) }

func unlessEmpty(id string) []byte {
	if id == "" {
		return nil
	}
	return store.Key(id)
}

// keepUnauthenticated is how long records of unauthenticated callers are kept; other
// records are kept permanently.
const keepUnauthenticated = 90 * 24 * time.Hour

// Trail is safe for concurrent use.
type Trail struct {
	records store.Records
	now     func() time.Time

	// Each replica names its records and bounds denied requests
	// independently: record names are random in addition to their time, and
	// each replica has its own budgets.
	mu      sync.Mutex
	entropy *ulid.MonotonicEntropy
	budgets budgets
}

// New is the trail in a store; now is the wall's clock.
func New(records store.Records, now func() time.Time) *Trail {
	return &Trail{records: records, now: now, entropy: ulid.Monotonic(rand.Reader, 0)}
}

// Append writes a record with its id and time. A denied request beyond the
// budget of its actor is only counted, and the next record of the actor states
// the count. Unauthenticated callers have a budget per network and one for all
// networks.
func (t *Trail) Append(ctx context.Context, r api.AuditRecord) error {
	now := t.now().UTC()
	t.mu.Lock()
	bounded := r.ActorID == "" || r.Status >= 400
	ok, omitted := t.budgets.take(r.ActorID, r.Address, bounded, now)
	if !ok {
		t.mu.Unlock()
		return nil
	}
	id, err := ulid.New(ulid.Timestamp(now), t.entropy)
	t.mu.Unlock()
	if err != nil {
		return fmt.Errorf("name an audit record: %w", err)
	}
	r.AuditID, r.Timestamp, r.Omitted = idPrefix+id.String(), api.At(now), omitted
	err = t.records.Update(ctx, func(tx store.Tx) error { return records.Insert(tx, r) })
	if err != nil {
		return fmt.Errorf("append to the audit trail: %w", err)
	}
	return nil
}

// maxExamined bounds the records that List examines: a page may then be short,
// or empty, and still have a cursor.
const maxExamined = 20_000

// maxListBytes is about how large a part of a list may be.
const maxListBytes = 4 << 20

// List are the records that the scope may see, newest first, and the cursor of
// the next part, empty at the end. All of an administrator who is not limited;
// else those of the own customers and sites, and the own.
func (t *Trail) List(ctx context.Context, scope api.Scope, q api.AuditQuery) (list []api.AuditRecord, next string, err error) {
	bucket, prefix := records.Bucket, []byte{}
	switch {
	case strings.HasPrefix(q.Actor, "usr_"), strings.HasPrefix(q.Actor, "key_"):
		bucket, prefix = records.Bucket+"/actor_id", store.Key(q.Actor)
	case q.Actor != "":
		bucket, prefix = records.Bucket+"/actor", store.Key(q.Actor)
	case q.SiteID != "":
		bucket, prefix = records.Bucket+"/site", store.Key(q.SiteID)
	}
	from, to := prefix, store.After(prefix)
	if !q.From.IsZero() {
		from = slices.Concat(prefix, store.Key(firstOf(q.From)))
	}
	if !q.To.IsZero() {
		to = slices.Concat(prefix, store.Key(firstOf(q.To)))
	}
	if q.Cursor != "" {
		id, err := base64.RawURLEncoding.DecodeString(q.Cursor)
		if err != nil || !strings.HasPrefix(string(id), idPrefix) {
			return nil, "", api.InvalidField("cursor", "not a cursor of this list")
		}
		to = slices.Concat(prefix, store.Key(string(id)))
	}
	err = t.records.View(ctx, func(tx store.Tx) error {
		list, next = nil, ""
		examined, size, last := 0, 0, ""
		for e, err := range tx.Scan(bucket, from, to, true) {
			if err != nil {
				return err
			}
			if len(list) == q.Limit || examined == maxExamined || size >= maxListBytes {
				next = base64.RawURLEncoding.EncodeToString([]byte(last))
				return nil
			}
			key := e.Key
			if bucket != records.Bucket {
				key = e.Value
			}
			r, err := records.Get(tx, key)
			if err != nil {
				return err
			}
			if examined++; visible(r, scope) && matches(r, q) && q.Since(r.Timestamp.Time) {
				n := limits.Size(&r)
				if err := limits.Take(ctx, n); err != nil {
					return err
				}
				size += n
				list = append(list, r)
			}
			last = r.AuditID
		}
		return nil
	})
	return list, next, err
}

// firstOf sorts before every id of the time and later.
func firstOf(at api.Time) string {
	var u ulid.ULID
	_ = u.SetTime(ulid.Timestamp(at.Time)) // a time of the year 10889 is refused, and then finds nothing
	return idPrefix + u.String()
}

func matches(r api.AuditRecord, q api.AuditQuery) bool {
	if q.TargetID != "" && !slices.Contains(slices.Collect(maps.Values(r.TargetIDs)), q.TargetID) {
		return false
	}
	if q.Route != "" && q.Route != r.Route && q.Route != r.Route+" "+r.Action {
		return false
	}
	return (q.SiteID == "" || r.SiteID == q.SiteID) && (q.CustomerID == "" || slices.Contains(r.CustomerIDs, q.CustomerID))
}

// visible reports whether the record is the caller's own, or of customers and a
// site that are all in the caller's scope.
func visible(r api.AuditRecord, scope api.Scope) bool {
	if scope.ActorID != "" && r.ActorID == scope.ActorID {
		return true
	}
	customers := slices.Contains(scope.Customers, api.Every) ||
		len(r.CustomerIDs) > 0 && !slices.ContainsFunc(r.CustomerIDs, func(id string) bool { return !scope.CanCustomer(id) })
	return customers && scope.CanSite(r.SiteID)
}

// Sweep deletes old records of unauthenticated clients. A service calls it
// every hour or so.
func (t *Trail) Sweep(ctx context.Context) error {
	before := store.Key(firstOf(api.At(t.now().Add(-keepUnauthenticated))))
	return t.records.Update(ctx, func(tx store.Tx) error {
		for e, err := range tx.Scan(records.Bucket+"/stranger", nil, before, false) {
			if err != nil {
				return err
			}
			if err := records.Delete(tx, e.Value); err != nil {
				return err
			}
		}
		return nil
	})
}

// Tables is all that this package keeps in records, for a check of the data.
func Tables() []store.Checked {
	return []store.Checked{
		records,
	}
}
