// Package upload keeps the records of uploaded files and their status.
package upload

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/store"
)

// Service keeps the records of uploaded files. It is safe for concurrent use; its state is in the store.
type Service struct {
	records store.Records
	now     func() time.Time
}

// New returns a Service over a store. now is the plant's clock.
func New(records store.Records, now func() time.Time) *Service {
	return &Service{records: records, now: now}
}

// Tables returns the tables of the package, for a check of the data.
func Tables() []store.Checked {
	return []store.Checked{uploads, profiles, replaced, uploadSessions, sessionParts, deliveries, positions}
}

// SiteRecords returns the records of this package, which are of sites.
func SiteRecords() []record.OfSite {
	return append(record.OfSites(profiles, replaced, uploadSessions, sessionParts, deliveries, positions), record.OfSite{Prefixed: uploads, Effect: func(e *api.SiteEffects) *int { return &e.Uploads }})
}

// Old are up to limit ended uploads from before a time that are to be
// dropped, oldest first.
func (s *Service) Old(ctx context.Context, drop func(Upload) bool, before time.Time, limit int) ([]Upload, error) {
	var out []Upload
	err := s.records.View(ctx, func(tx store.Tx) error {
		out = nil
		cursor := ""
		for len(out) < limit {
			list, next, err := uploads.List(tx, store.Query{Index: "time", Limit: 1000, Cursor: cursor})
			if err != nil {
				return err
			}
			for _, u := range list {
				if !u.CreatedAt.Before(before) {
					return nil // ids sort by time
				}
				if u.Ended() && drop(u) && len(out) < limit {
					out = append(out, u)
				}
			}
			if cursor = next; next == "" {
				break
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list old uploads: %w", err)
	}
	return out, nil
}

// Delete forgets uploads.
func (s *Service) Delete(tx store.Tx, list []Upload) error {
	for _, u := range list {
		if err := uploads.Delete(tx, uploads.Key(u)); err != nil {
			return fmt.Errorf("drop old uploads: %w", err)
		}
		if d := u.Sent(); d != nil {
			if err := deliveries.Delete(tx, deliveries.Key(*d)); err != nil {
				return fmt.Errorf("drop old uploads: %w", err)
			}
		}
		if err := s.DropReplaced(tx, u.SiteID, u.UploadID); err != nil {
			return err
		}
	}
	return nil
}

// Upload is a file: the fields of the contract, and those that the service needs to
// process it.
type Upload struct {
	api.Upload
	Hash      string            // SHA-256 of the bytes, hex
	ObjectKey string            // in the object store
	Actor     string            // who sent it
	SenderID  string            // of who sent it, as [api.Scope.Sender] has it; empty in records of older versions
	Request   api.UploadRequest // that came with the file; without kind, filename and bytes once it is stored
	Version   uint64            // of the site's data once the file is imported
	Accepted  time.Time         // by the real clock; zero in records of older versions
	SessionID string            // whose parts are the file, until the import has joined them to an object
	Delivery  *Delivery         // stored with the upload; nil: the file came from no source
}

// uploads are keyed by site; ids sort by time. A file that ended badly leaves
// the hash index, so that sending it again is a new try.
var uploads = store.Table[Upload]{
	Bucket: "uploads",
	Key:    func(u Upload) []byte { return store.Key(u.SiteID, u.UploadID) },
	Indexes: []store.Index[Upload]{
		{Name: "id", Key: func(u Upload) []byte { return store.Key(u.UploadID) }},
		{Name: "customer", Key: func(u Upload) []byte { return store.Key(u.CustomerID, u.UploadID) }},
		{Name: "kind", Key: func(u Upload) []byte { return store.Key(u.SiteID, u.Kind, u.UploadID) }},
		{Name: "time", Key: func(u Upload) []byte { return store.Key(u.UploadID) }},
		{Name: "hash", Key: func(u Upload) []byte {
			if u.ProcessingStatus == api.UploadFailed || u.ProcessingStatus == api.UploadRejected || u.ProcessingStatus == api.UploadReverted {
				return nil
			}
			return store.Key(u.SiteID, u.Kind, u.Hash)
		}},
		{Name: "object", Key: func(u Upload) []byte {
			if u.ObjectKey == "" { // refused: nothing is kept of it
				return nil
			}
			return store.Key(u.ObjectKey)
		}},
		{Name: "open", Key: func(u Upload) []byte {
			if u.Ended() {
				return nil
			}
			return store.Key(u.SiteID)
		}},
	},
	Form: store.As(newUploadRecord, uploadRecord.upload),
}

func uploadOwner(u Upload) (customer, site, asset string) { return u.CustomerID, u.SiteID, "" }

// uploadMoves is the state machine of an upload. A job that is run again after
// a crash starts at validating once more, hence the way back.
var uploadMoves = map[string][]string{
	api.UploadQueued:       {api.UploadValidating, api.UploadProcessing, api.UploadRejected, api.UploadFailed},
	api.UploadValidating:   {api.UploadProcessing, api.UploadRejected, api.UploadFailed},
	api.UploadProcessing:   {api.UploadValidating, api.UploadCompleted, api.UploadWithWarnings, api.UploadRejected, api.UploadFailed},
	api.UploadCompleted:    {api.UploadReverted},
	api.UploadWithWarnings: {api.UploadReverted},
	api.UploadFailed:       {api.UploadReverted}, // after its values were stored
	api.UploadRejected:     {},
	api.UploadReverted:     {},
}

// Add stores the record of a file that is on stable storage, together
// with its job. A file that the site has had already answers the former upload
// and false; see [Service.Former].
func (s *Service) Add(tx store.Tx, u Upload, job store.Job) (Upload, bool, error) {
	former, ok, err := formerUpload(tx, u)
	if err != nil {
		return former, false, err
	}
	if sent, is, err := s.formerSent(tx, u); err != nil || is {
		return sent, false, err
	}
	if ok {
		return former, false, s.putDelivery(tx, u.Delivery, former.UploadID)
	}
	u.ProcessingStatus = api.UploadQueued
	u.CreatedAt = api.At(s.now())
	u.UpdatedAt, u.UpdatedAtMS = u.CreatedAt, s.now().UnixMilli()
	if err := uploads.Insert(tx, u); err != nil {
		return u, false, fmt.Errorf("store upload %s: %w", u.UploadID, err)
	}
	if err := s.putDelivery(tx, u.Delivery, u.UploadID); err != nil {
		return u, false, err
	}
	if err := s.putDelivery(tx, u.Sent(), u.UploadID); err != nil {
		return u, false, err
	}
	return u, true, tx.Enqueue(job)
}

// putDelivery stores the delivery of an upload, if it is one.
func (s *Service) putDelivery(tx store.Tx, d *Delivery, uploadID string) error {
	if d == nil {
		return nil
	}
	d.UploadID = uploadID
	return s.PutDelivery(tx, *d)
}

// AddRejected stores the record of a file that was refused when it came. A file that its
// sender has sent before leaves no further record: former is the upload that it was, with
// false.
func (s *Service) AddRejected(tx store.Tx, u Upload) (former Upload, added bool, err error) {
	if former, ok, err := s.formerSent(tx, u); err != nil || ok {
		return former, false, err
	}
	u.ProcessingStatus, u.Progress = api.UploadRejected, 1
	u.CreatedAt = api.At(s.now())
	u.UpdatedAt, u.UpdatedAtMS = u.CreatedAt, s.now().UnixMilli()
	if err := uploads.Insert(tx, u); err != nil {
		return u, false, fmt.Errorf("store upload %s: %w", u.UploadID, err)
	}
	return u, true, errors.Join(s.putDelivery(tx, u.Delivery, u.UploadID), s.putDelivery(tx, u.Sent(), u.UploadID))
}

// sentPrefix begins the sources of files that senders sent; names of sources of a site
// have no control character.
const sentPrefix = "sent\x1f"

// notRead is the hash of a file of which the sender's name alone is known.
const notRead = "not read"

// Sent is the delivery of a file that its sender named; nil if it did not.
func (u *Upload) Sent() *Delivery {
	if u.Request.DeliveryID == "" || u.SenderID == "" {
		return nil
	}
	return &Delivery{SiteID: u.SiteID, Source: sentPrefix + u.SenderID, Name: u.Request.DeliveryID, Hash: cmp.Or(u.Hash, notRead), Mark: cmp.Or(u.Hash, notRead), UploadID: u.UploadID, At: u.CreatedAt.Time, Finished: true}
}

// formerSent is the upload that a file became which its sender has sent before.
func (s *Service) formerSent(tx store.Tx, u Upload) (former Upload, ok bool, err error) {
	d := u.Sent()
	if d == nil {
		return u, false, nil
	}
	was, ok, err := s.Delivered(tx, *d)
	if err != nil || !ok {
		return u, false, err
	}
	former, err = uploadByID(tx, was.UploadID)
	if errors.Is(err, store.ErrNotFound) {
		return u, false, nil
	}
	return former, err == nil, err
}

// FormerSent is the upload that a file became which its sender has sent before, whatever
// became of it.
func (s *Service) FormerSent(ctx context.Context, u Upload) (former Upload, ok bool, err error) {
	err = s.records.View(ctx, func(tx store.Tx) error {
		former, ok, err = s.formerSent(tx, u)
		return err
	})
	return former, ok, err
}

// Former is the upload of the same bytes and kind for the same site, if there
// is one that did not end badly and u adds nothing to what came with it. Times
// to be read in another zone are a 409: the readings stored before would
// remain with the new ones.
func (s *Service) Former(ctx context.Context, u Upload) (former Upload, ok bool, err error) {
	err = s.records.View(ctx, func(tx store.Tx) error {
		var err error
		former, ok, err = formerUpload(tx, u)
		return err
	})
	return former, ok, err
}

func formerUpload(tx store.Tx, u Upload) (Upload, bool, error) {
	same, _, err := uploads.List(tx, store.Query{Index: "hash", Prefix: store.Key(u.SiteID, u.Kind, u.Hash)})
	if err != nil {
		return Upload{}, false, fmt.Errorf("look up the uploads of the same bytes: %w", err)
	}
	for _, former := range same {
		if zone := cmp.Or(former.Request.Timezone, former.Timezone, "UTC"); u.Request.Timezone != "" && u.Request.Timezone != zone {
			return Upload{}, false, api.InvalidTransition("Site %s has the readings of this file already, with times read in %s: to read them in %s, import the file into another site",
				u.SiteID, zone, u.Request.Timezone).With("upload_id", former.UploadID)
		}
	}
	for _, former := range same {
		if !adds(u.Request, former.Request) {
			return former, true, nil
		}
	}
	return Upload{}, false, nil
}

// adds reports whether a request names a unit, capacity, place or mapping that
// the former one did not.
func adds(r, former api.UploadRequest) bool {
	lat, lon, placed := site.Coordinates(r.Location)
	formerLat, formerLon, _ := site.Coordinates(former.Location)
	return r.Mapping != "" && r.Mapping != former.Mapping ||
		r.AssetID != "" && r.AssetID != former.AssetID ||
		r.CapacityKW != 0 && r.CapacityKW != former.CapacityKW ||
		placed && (lat != formerLat || lon != formerLon)
}

// Get returns an upload for the service itself, or
// [store.ErrNotFound].
func (s *Service) Get(ctx context.Context, id string) (Upload, error) {
	var u Upload
	err := s.records.View(ctx, func(tx store.Tx) error {
		var err error
		u, err = uploadByID(tx, id)
		return err
	})
	return u, err
}

func uploadByID(tx store.Tx, id string) (Upload, error) {
	list, _, err := uploads.List(tx, store.Query{Index: "id", Prefix: store.Key(id), Limit: 1})
	if err != nil {
		return Upload{}, fmt.Errorf("look up upload %s: %w", id, err)
	}
	if len(list) == 0 {
		return Upload{}, fmt.Errorf("upload %s: %w", id, store.ErrNotFound)
	}
	return list[0], nil
}

// SetStatus changes an upload's state, with the changes that belong to it.
// Staying in a state is no move; an illegal one is a 409 that names the moves
// allowed.
func (s *Service) SetStatus(tx store.Tx, id, to string, change func(*Upload)) (Upload, error) {
	u, err := uploadByID(tx, id)
	if err != nil {
		return u, err
	}
	if u.ProcessingStatus != to && !slices.Contains(uploadMoves[u.ProcessingStatus], to) {
		return u, api.InvalidTransition("Upload %s is %s and cannot become %s", id, u.ProcessingStatus, to).With("allowed", uploadMoves[u.ProcessingStatus])
	}
	u.ProcessingStatus = to
	u.UpdatedAt, u.UpdatedAtMS = api.At(s.now()), s.now().UnixMilli()
	if change != nil {
		change(&u)
	}
	if err := uploads.Put(tx, u); err != nil {
		return u, fmt.Errorf("store upload %s: %w", id, err)
	}
	return u, nil
}

// Open are the uploads of a site that have not ended, oldest first.
func (s *Service) Open(tx store.Tx, siteID string) ([]Upload, error) {
	list, _, err := uploads.List(tx, store.Query{Index: "open", Prefix: store.Key(siteID)})
	if err != nil {
		return nil, fmt.Errorf("list the open uploads of site %s: %w", siteID, err)
	}
	return list, nil
}

// Find is an upload within the scope; [api.ErrUploadNotFound] for an unknown id.
func (s *Service) Find(ctx context.Context, scope api.Scope, uploadID string) (api.Upload, error) {
	u, err := s.Get(ctx, uploadID)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return api.Upload{}, api.ErrUploadNotFound
	case err != nil:
		return api.Upload{}, err
	}
	if scope.OwnUploads && (u.SenderID == "" || u.SenderID != scope.Sender()) {
		return api.Upload{}, api.ErrForbidden
	}
	return u.Upload, scope.Check(u.CustomerID, u.SiteID)
}

// Uploads lists the uploads within the scope, newest first.
func (s *Service) Uploads(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Upload, string, error) {
	sq := store.Query{Index: "time", Reverse: true}
	switch {
	case q.SiteID != "" && q.Kind != "":
		sq.Index, sq.Prefix = "kind", store.Key(q.SiteID, q.Kind)
	case q.SiteID != "":
		sq.Index, sq.Prefix = "", store.Key(q.SiteID)
	case q.CustomerID != "":
		sq.Index, sq.Prefix = "customer", store.Key(q.CustomerID)
	}
	list, next, err := record.List(ctx, s.records, uploads, sq, q.Page, func(u Upload) bool {
		return record.Matches(scope, q)(uploadOwner(u)) && q.SinceUnix(u.UpdatedAtMS, u.UpdatedAt) && record.Is(q.Filter.Status, u.ProcessingStatus)
	})
	if err != nil {
		return nil, "", fmt.Errorf("list uploads: %w", err)
	}
	out := make([]api.Upload, len(list))
	for i, u := range list {
		out[i] = u.Upload
	}
	return out, next, nil
}

// GetIn returns an upload inside the transaction, or
// [store.ErrNotFound].
func (s *Service) GetIn(tx store.Tx, id string) (Upload, error) { return uploadByID(tx, id) }

// AllOpen are the uploads of all sites that have not ended.
func (s *Service) AllOpen(tx store.Tx) ([]Upload, error) {
	list, _, err := uploads.List(tx, store.Query{Index: "open"})
	if err != nil {
		return nil, fmt.Errorf("list the open uploads: %w", err)
	}
	return list, nil
}

// OfObject are the uploads whose file is the object.
func (s *Service) OfObject(ctx context.Context, key string) ([]Upload, error) {
	var list []Upload
	err := s.records.View(ctx, func(tx store.Tx) error {
		var err error
		list, _, err = uploads.List(tx, store.Query{Index: "object", Prefix: store.Key(key)})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("look up the uploads of object %s: %w", key, err)
	}
	return list, nil
}

// ObjectRefs returns the objects that uploads refer to.
func ObjectRefs(tx store.Tx) (refs []record.ObjectRef, err error) {
	err = record.EachReadable(tx, uploads, func(u Upload) {
		if u.ObjectKey != "" {
			refs = append(refs, record.ObjectRef{By: "upload " + u.UploadID, Keys: []string{u.ObjectKey}, Bytes: u.Bytes, SHA256: u.Hash})
		}
	})
	if err != nil {
		return refs, err
	}
	err = record.EachReadable(tx, sessionParts, func(p SessionPart) {
		refs = append(refs, record.ObjectRef{By: "upload session " + p.SessionID, Keys: []string{p.ObjectKey}, Bytes: p.Bytes, SHA256: p.SHA256})
	})
	return refs, err
}

// IsReferenced reports whether an upload or a part of one refers to the object of a key.
func IsReferenced(tx store.Tx, key string) (bool, error) {
	list, _, err := uploads.List(tx, store.Query{Index: "object", Prefix: store.Key(key), Limit: 1})
	if err != nil || len(list) > 0 {
		return len(list) > 0, err
	}
	parts, _, err := sessionParts.List(tx, store.Query{Index: "object", Prefix: store.Key(key), Limit: 1})
	return len(parts) > 0, err
}
