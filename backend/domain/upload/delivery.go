package upload

import (
	"context"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Delivery is a file that a source of a site (a folder, an SFTP server or a mailbox)
// had, and the upload that it became. It is written in the transaction that accepts or
// rejects the upload, so that a file is uploaded once, whenever the process ends.
type Delivery struct {
	SiteID   string    `json:"site_id" limit:"id"`
	Source   string    `json:"source" limit:"id"`
	Name     string    `json:"name" limit:"1KiB"` // of the file at its source
	Hash     string    `json:"hash" limit:"name"` // SHA-256 of the file, hex; a text instead for a file that is too large to be read
	Mark     string    `json:"mark" limit:"name"` // what the source says of the file without its content, such as size and time
	Message  string    `json:"message,omitempty" limit:"name"`
	UploadID string    `json:"upload_id" limit:"id"`
	At       time.Time `json:"at"`
	Finished bool      `json:"finished,omitempty"`             // the source has nothing more to do with the file
	SendID   string    `json:"send_id,omitempty" limit:"name"` // under which the file is sent to another service

	Status string `json:"-" limit:"word"`     // of the upload; empty: its record is not kept any more
	Error  string `json:"-" limit:"line cut"` // of the upload
}

// Ended reports whether the state of the upload will not change any more.
func (d *Delivery) Ended() bool {
	return d.Status == "" || api.Upload{ProcessingStatus: d.Status}.Ended()
}

// Failed reports whether nothing of the file is stored.
func (d *Delivery) Failed() bool {
	return d.Status == api.UploadRejected || d.Status == api.UploadFailed
}

// deliveries are keyed by name and content. The marks find a file without reading it.
var deliveries = store.Table[Delivery]{
	Bucket: "source-files",
	Key:    func(d Delivery) []byte { return store.Key(d.SiteID, d.Source, d.Name, d.Hash) },
	Indexes: []store.Index[Delivery]{
		{Name: "mark", Key: func(d Delivery) []byte { return store.Key(d.SiteID, d.Source, d.Name, d.Mark) }},
		{Name: "message", Key: func(d Delivery) []byte {
			if d.Message == "" {
				return nil
			}
			return store.Key(d.SiteID, d.Source, d.Message)
		}},
		{Name: "open", Key: func(d Delivery) []byte {
			if d.Finished {
				return nil
			}
			return store.Key(d.SiteID, d.Source)
		}},
	},
}

// Position is how far a mailbox was read.
type Position struct {
	SiteID   string `json:"site_id" limit:"id"`
	Source   string `json:"source" limit:"id"`
	Validity uint32 `json:"validity"` // UIDVALIDITY of the mailbox
	Next     uint32 `json:"next"`     // the first UID that was not read
}

var positions = store.Table[Position]{
	Bucket: "source-positions",
	Key:    func(p Position) []byte { return store.Key(p.SiteID, p.Source) },
}

// Delivered returns the delivery of a file by its name and content.
func (s *Service) Delivered(tx store.Tx, d Delivery) (was Delivery, ok bool, err error) {
	was, err = deliveries.Get(tx, deliveries.Key(d))
	if errors.Is(err, store.ErrNotFound) {
		return d, false, nil
	}
	if err != nil {
		return d, false, fmt.Errorf("read the delivery of %s: %w", d.Name, err)
	}
	return was, true, nil
}

// Marked returns the delivery of a file by its name and mark.
func (s *Service) Marked(tx store.Tx, siteID, source, name, mark string) (Delivery, bool, error) {
	return firstDelivery(tx, store.Query{Index: "mark", Prefix: store.Key(siteID, source, name, mark), Limit: 1})
}

// OfMessage returns a delivery of a message by its id.
func (s *Service) OfMessage(tx store.Tx, siteID, source, message string) (Delivery, bool, error) {
	return firstDelivery(tx, store.Query{Index: "message", Prefix: store.Key(siteID, source, message), Limit: 1})
}

func firstDelivery(tx store.Tx, q store.Query) (Delivery, bool, error) {
	list, _, err := deliveries.List(tx, q)
	if err != nil {
		return Delivery{}, false, fmt.Errorf("look up a delivery: %w", err)
	}
	if len(list) == 0 {
		return Delivery{}, false, nil
	}
	return list[0], true, nil
}

// SentAs reports whether a delivery of a source and name is stored that has this SendID.
func (s *Service) SentAs(ctx context.Context, siteID, source, name, id string) (is bool, err error) {
	err = s.records.View(ctx, func(tx store.Tx) error {
		is = false
		return deliveries.Each(tx, store.Query{Prefix: store.Key(siteID, source, name)}, func(d Delivery) error {
			is = is || d.SendID == id
			return nil
		})
	})
	if err != nil {
		return false, fmt.Errorf("look up the delivery of %s: %w", name, err)
	}
	return is, nil
}

// Unfinished are the deliveries of a source with which it has something to do.
func (s *Service) Unfinished(ctx context.Context, siteID, source string) (list []Delivery, err error) {
	err = s.records.View(ctx, func(tx store.Tx) error {
		list, _, err = deliveries.List(tx, store.Query{Index: "open", Prefix: store.Key(siteID, source)})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the deliveries of %s: %w", source, err)
	}
	return list, nil
}

// PutDelivery stores a delivery in place of a former one of its name and content.
func (s *Service) PutDelivery(tx store.Tx, d Delivery) error {
	if err := deliveries.Put(tx, d); err != nil {
		return fmt.Errorf("store the delivery of %s: %w", d.Name, err)
	}
	return nil
}

// ForgetDeliveries deletes up to limit finished deliveries of a source from before a
// time that keep does not keep.
func (s *Service) ForgetDeliveries(ctx context.Context, siteID, source string, before time.Time, limit int, keep func(Delivery) bool) error {
	err := s.records.Update(ctx, func(tx store.Tx) error {
		var old []Delivery
		if err := deliveries.Each(tx, store.Query{Prefix: store.Key(siteID, source)}, func(d Delivery) error {
			if d.Finished && d.At.Before(before) && len(old) < limit && !keep(d) {
				old = append(old, d)
			}
			return nil
		}); err != nil {
			return err
		}
		for _, d := range old {
			if err := deliveries.Delete(tx, deliveries.Key(d)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("delete old deliveries of %s: %w", source, err)
	}
	return nil
}

// Position returns how far a mailbox was read; the zero Position without one.
func (s *Service) Position(ctx context.Context, siteID, source string) (p Position, err error) {
	err = s.records.View(ctx, func(tx store.Tx) error {
		p, err = positions.Get(tx, store.Key(siteID, source))
		if errors.Is(err, store.ErrNotFound) {
			p = Position{SiteID: siteID, Source: source}
			return nil
		}
		return err
	})
	if err != nil {
		return p, fmt.Errorf("read the position of %s: %w", source, err)
	}
	return p, nil
}

// SetPosition stores how far a mailbox was read.
func (s *Service) SetPosition(ctx context.Context, p Position) error {
	err := s.records.Update(ctx, func(tx store.Tx) error { return positions.Put(tx, p) })
	if err != nil {
		return fmt.Errorf("store the position of %s: %w", p.Source, err)
	}
	return nil
}
