package importer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/store"
)

// Deliveries takes the files in that sources of a site have, each once.
type Deliveries struct {
	*Importer
	CustomerID, SiteID string
}

// key is the key of the site, which need not exist.
func (s *Deliveries) key(ctx context.Context) (string, error) {
	return s.Domain.Sites.ReserveSite(ctx, s.CustomerID, s.SiteID)
}

// Known returns the delivery of each file that a source has delivered, by the file's
// place in the list. A file is known by its name and its mark.
func (s *Deliveries) Known(ctx context.Context, source string, files []upload.Delivery) (map[int]upload.Delivery, error) {
	siteID, err := s.key(ctx)
	if err != nil {
		return nil, err
	}
	var known map[int]upload.Delivery
	err = s.Records.View(ctx, func(tx store.Tx) error {
		known = map[int]upload.Delivery{}
		for i, f := range files {
			d, ok, err := s.Domain.Uploads.Marked(tx, siteID, source, f.Name, f.Mark)
			if err == nil && !ok && f.Message != "" {
				d, ok, err = s.Domain.Uploads.OfMessage(tx, siteID, source, f.Message)
			}
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
			if known[i], err = s.withStatus(tx, d); err != nil {
				return err
			}
		}
		return nil
	})
	return known, err
}

func (s *Deliveries) withStatus(tx store.Tx, d upload.Delivery) (upload.Delivery, error) {
	u, err := s.Domain.Uploads.GetIn(tx, d.UploadID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return upload.Delivery{}, err
	}
	d.Status, d.Error = u.ProcessingStatus, u.Error
	return d, nil
}

// Unfinished are the deliveries of a source with which it has something to do.
func (s *Deliveries) Unfinished(ctx context.Context, source string) ([]upload.Delivery, error) {
	siteID, err := s.key(ctx)
	if err != nil {
		return nil, err
	}
	return s.Domain.Uploads.Unfinished(ctx, siteID, source)
}

// Deliver uploads a file of a source, unless the source has delivered a file of this name
// and content. again says that one whose delivery is finished is uploaded again. A nil
// file is larger than a file may be. A file that is refused is no error: the delivery
// names the record of the refused upload. After an error nothing is stored.
func (s *Deliveries) Deliver(ctx context.Context, req api.UploadRequest, d upload.Delivery, again bool, file io.Reader) (upload.Delivery, error) {
	req.CustomerID, req.SiteID = s.CustomerID, s.SiteID
	scope := api.Unlimited("source " + d.Source)
	if err := s.checkRequest(ctx, scope, &req); err != nil {
		return upload.Delivery{}, err
	}
	d.SiteID, d.At = req.SiteID, s.Wall().UTC()
	data := bytes.NewBuffer(nil)
	if file != nil {
		leave, err := s.holdLargeFile(ctx)
		if err != nil {
			return upload.Delivery{}, err
		}
		defer leave()
		if _, err := data.ReadFrom(io.LimitReader(file, api.MaxUploadBytes+1)); err != nil {
			return upload.Delivery{}, fmt.Errorf("read %s: %w", d.Name, err)
		}
	}
	tooLarge := file == nil || data.Len() > api.MaxUploadBytes
	sum := sha256.Sum256(data.Bytes())
	if d.Hash = hex.EncodeToString(sum[:]); tooLarge {
		d.Hash = "too large: " + d.Mark
	}
	was, ok, err := s.former(ctx, d, again)
	if err != nil || ok {
		return was, err
	}
	u := s.newUpload(scope, req)
	u.Source, u.Delivery, u.Bytes = d.Source, &d, max(req.Bytes, int64(data.Len()))
	var ack api.UploadAck
	if tooLarge {
		err = api.ErrFileTooLarge
	} else {
		ack, err = s.storeFile(ctx, scope, u, data.Bytes())
	}
	var refusal *api.Error
	switch {
	case err == nil:
		s.acknowledged(req.Kind, ack)
		d.Status = ack.ProcessingStatus
		return d, nil
	case !errors.As(err, &refusal) || refusal.Status >= http.StatusInternalServerError || refusal.Status == http.StatusTooManyRequests:
		return upload.Delivery{}, err
	}
	if err := s.reject(ctx, u, err); !errors.As(err, &refusal) {
		return upload.Delivery{}, err
	}
	d.Status = api.UploadRejected
	_, d.Error, _ = rejectionDetails(refusal)
	return d, nil
}

// former returns the delivery of the same name and content, with the new mark. An archived
// site is an error: its files wait.
func (s *Deliveries) former(ctx context.Context, d upload.Delivery, again bool) (out upload.Delivery, ok bool, err error) {
	err = s.Records.View(ctx, func(tx store.Tx) error {
		out, ok = upload.Delivery{}, false
		was, is, err := s.Domain.Uploads.Delivered(tx, d)
		if err != nil {
			return err
		}
		if !is || again && was.Finished {
			return site.CheckWritable(tx, api.Scope{Writes: true}, d.SiteID)
		}
		ok = true
		out, err = s.withStatus(tx, was)
		return err
	})
	if err != nil || !ok || out.Mark == d.Mark {
		return out, ok, err
	}
	out.Mark, out.Message = d.Mark, d.Message
	return out, true, s.putDelivery(ctx, out)
}

// SentAs reports whether a delivery of a source and name is stored that has this SendID.
func (s *Deliveries) SentAs(ctx context.Context, source, name, id string) (bool, error) {
	siteID, err := s.key(ctx)
	if err != nil {
		return false, err
	}
	return s.Domain.Uploads.SentAs(ctx, siteID, source, name, id)
}

// Finish records that a source has nothing more to do with a file.
func (s *Deliveries) Finish(ctx context.Context, d upload.Delivery) error {
	d.Finished = true
	return s.putDelivery(ctx, d)
}

func (im *Importer) putDelivery(ctx context.Context, d upload.Delivery) error {
	return im.Records.Update(ctx, func(tx store.Tx) error { return im.Domain.Uploads.PutDelivery(tx, d) })
}

// maxForgotten bounds the deliveries that are forgotten at once.
const maxForgotten = 10_000

// Forget forgets finished deliveries of a source from before a time whose files it does
// not have any more.
func (s *Deliveries) Forget(ctx context.Context, source string, before time.Time, has func(name, mark string) bool) error {
	siteID, err := s.key(ctx)
	if err != nil {
		return err
	}
	return s.Domain.Uploads.ForgetDeliveries(ctx, siteID, source, before, maxForgotten, func(d upload.Delivery) bool { return has(d.Name, d.Mark) })
}

// Position returns how far a mailbox was read.
func (s *Deliveries) Position(ctx context.Context, source string) (upload.Position, error) {
	siteID, err := s.key(ctx)
	if err != nil {
		return upload.Position{}, err
	}
	return s.Domain.Uploads.Position(ctx, siteID, source)
}

// SetPosition stores how far a mailbox was read.
func (s *Deliveries) SetPosition(ctx context.Context, p upload.Position) error {
	var err error
	if p.SiteID, err = s.key(ctx); err != nil {
		return err
	}
	return s.Domain.Uploads.SetPosition(ctx, p)
}
