// Package importer takes files in and turns them into telemetry: an object and its
// record, the import job, sites and assets, rejections and cancellation.
package importer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
	"app.sunloop/engine/ingest"
	"app.sunloop/internal/display"
)

// Importer takes files in and turns them into telemetry.
type Importer struct {
	*sitedata.Data
	Queue        store.Queue
	ImportSource *objects.ImportSource // sources that s3_path may name besides the service's own objects; nil: none

	LargestFile int64                         // bytes of a file in parts; 0: [api.DefaultLargeUpload]
	Free        func() (bytes int64, ok bool) // of the disk of the objects; nil: they are not on a disk of this machine

	checked    checkedFiles
	stamps     uniqueSeconds
	largeFiles chan struct{} // one element for each large file in memory
}

// New returns an Importer.
func New(d *sitedata.Data, queue store.Queue, elsewhere *objects.ImportSource) *Importer {
	return &Importer{Data: d, Queue: queue, ImportSource: elsewhere, largeFiles: make(chan struct{}, maxLargeFiles)}
}

// Outcomes of an upload, for [sitedata.Hooks].
const (
	UploadAccepted = "accepted"
	UploadRepeated = "repeated" // the same file was uploaded before
	UploadRefused  = "refused"
	UploadImported = "imported"
	UploadFailed   = "failed" // accepted, and could not be imported
)

// acknowledged reports an accepted or repeated file to the hook.
func (im *Importer) acknowledged(kind string, ack api.UploadAck) {
	if ack.Message == ackRepeated {
		im.Hooks.Upload(kind, UploadRepeated)
		return
	}
	im.Hooks.Upload(kind, UploadAccepted)
}

// ackMessages are the messages of an acknowledgement, by kind of upload.
var ackMessages = map[string]string{
	api.UploadTrain:   "File uploaded. Standardising, training and forecasting follow.",
	api.UploadNowcast: "File uploaded. Forecast and fault detection follow.",
}

const ackSentBefore = "This file was sent before under this delivery_id. Nothing is done again."

const ackRepeated = "This file was uploaded before. Nothing is done again."

// maxImmediateCheck is the size in bytes up to which a file is read before it is
// acknowledged, so that the response rejects an invalid one. A larger file is
// rejected by its job.
const maxImmediateCheck = 256 << 10

// Upload stores a file durably and enqueues its import in one step. A file that
// the site has had already returns the former upload. A rejected file leaves a
// record with the reason, and nothing else.
func (im *Importer) Upload(ctx context.Context, scope api.Scope, req api.UploadRequest, file io.Reader) (api.UploadAck, error) {
	if err := im.checkRequest(ctx, scope, &req); err != nil {
		return api.UploadAck{}, err
	}
	u := im.newUpload(scope, req)
	if req.Bytes == 0 || req.Bytes > maxImmediateCheck {
		leave, err := im.holdLargeFile(ctx)
		if err != nil {
			return api.UploadAck{}, err
		}
		defer leave()
	}
	data := bytes.NewBuffer(make([]byte, 0, min(max(req.Bytes, 0), api.MaxUploadBytes)+bytes.MinRead))
	if _, err := data.ReadFrom(io.LimitReader(file, api.MaxUploadBytes+1)); err != nil {
		return api.UploadAck{}, fmt.Errorf("receive the file: %w", err)
	}
	u.Bytes = int64(data.Len())
	if req.DeliveryID != "" {
		sum := sha256.Sum256(data.Bytes())
		u.Hash = hex.EncodeToString(sum[:])
		if former, ok, err := im.Domain.Uploads.FormerSent(ctx, u); err != nil || ok {
			return im.ack(former, ackSentBefore), err
		}
	}
	ack, err := im.storeFile(ctx, scope, u, data.Bytes())
	if err == nil {
		im.acknowledged(req.Kind, ack)
	}
	return ack, im.reject(ctx, u, err)
}

// holdLargeFile waits until another large file may be in memory; leave ends that.
func (im *Importer) holdLargeFile(ctx context.Context) (leave func(), err error) {
	select {
	case im.largeFiles <- struct{}{}:
		return func() { <-im.largeFiles }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait to store the file: %w", ctx.Err())
	}
}

// Import enqueues a file that req.S3Path names: an object of this service, or one
// of an external source that the operator allows, which is copied.
func (im *Importer) Import(ctx context.Context, scope api.Scope, req api.UploadRequest) (api.UploadAck, error) {
	if req.S3Path == "" {
		return api.UploadAck{}, api.MissingParameter("s3_path")
	}
	if err := im.checkRequest(ctx, scope, &req); err != nil {
		return api.UploadAck{}, err
	}
	u := im.newUpload(scope, req)
	var ack api.UploadAck
	var err error
	if strings.HasPrefix(req.S3Path, im.Objects.URI("")) {
		ack, err = im.importObject(ctx, scope, u)
	} else {
		ack, err = im.importExternal(ctx, scope, u)
	}
	if err == nil {
		im.acknowledged(req.Kind, ack)
	}
	return ack, im.reject(ctx, u, err)
}

// Refuse records a file that was rejected before it was read whole, and returns
// the error with its upload_id.
func (im *Importer) Refuse(ctx context.Context, scope api.Scope, req api.UploadRequest, refusal *api.Error) error {
	if err := im.checkRequest(ctx, scope, &req); err != nil {
		return err
	}
	return im.reject(ctx, im.newUpload(scope, req), refusal)
}

// storeFile stores a file that was received whole and enqueues its import.
func (im *Importer) storeFile(ctx context.Context, scope api.Scope, u upload.Upload, data []byte) (api.UploadAck, error) {
	switch {
	case len(data) > api.MaxUploadBytes:
		return api.UploadAck{}, api.ErrFileTooLarge
	case len(data) == 0:
		return api.UploadAck{}, api.ErrCSVRequired
	}
	sum := sha256.Sum256(data)
	u.Hash, u.Bytes = hex.EncodeToString(sum[:]), int64(len(data))
	if former, ok, err := im.Domain.Uploads.Former(ctx, u); err != nil || ok {
		if err == nil && u.Delivery != nil {
			u.Delivery.UploadID = former.UploadID
			err = im.putDelivery(ctx, *u.Delivery)
		}
		if err == nil {
			err = im.noteRepeated(ctx, former.SiteID)
		}
		return im.ack(former, ackRepeated), err
	}
	if err := im.checkFile(ctx, u.UploadID, u.Request, data); err != nil {
		return api.UploadAck{}, err
	}
	var err error
	if u.ObjectKey, err = im.putObject(ctx, scope, u.Request, func() io.Reader { return bytes.NewReader(data) }); err != nil {
		return api.UploadAck{}, err
	}
	return im.accept(ctx, u, true)
}

// noteRepeated counts a delivery of a file that the site has had: its sender may repeat
// old data.
func (im *Importer) noteRepeated(ctx context.Context, siteID string) error {
	s, err := im.State(ctx, siteID)
	if err != nil {
		return fmt.Errorf("read the arrivals of site %s: %w", siteID, err)
	}
	now, known := im.Now(), s.Rhythm.Old
	if s.Rhythm.Add(now, s.Rhythm.Newest); s.Rhythm.Old == known {
		return nil
	}
	err = im.Records.Update(ctx, func(tx store.Tx) error {
		_, err := sitedata.UpdateState(tx, siteID, func(t *sitedata.State) { t.Rhythm.Add(now, t.Rhythm.Newest) })
		return err
	})
	if err != nil {
		return fmt.Errorf("count the deliveries of site %s: %w", siteID, err)
	}
	return nil
}

// checkRequest checks names and scope, and replaces the site's id by the key of
// the customer's site.
func (im *Importer) checkRequest(ctx context.Context, scope api.Scope, req *api.UploadRequest) error {
	if err := checkFields(scope, req); err != nil {
		return err
	}
	var err error
	if req.SiteID, err = im.Domain.Sites.ReserveSite(ctx, req.CustomerID, req.SiteID); err != nil {
		return err
	}
	return scope.Check(req.CustomerID, req.SiteID) // the import makes the site if it does not exist
}

// checkFile reads a small file completely, and only the beginning of a large one.
// The result of a small file is kept for its import.
func (im *Importer) checkFile(ctx context.Context, uploadID string, req api.UploadRequest, data []byte) error {
	if len(data) > maxImmediateCheck {
		data = data[:maxImmediateCheck]
		whole, err := ingest.CheckStart(data)
		var refusal *ingest.Refusal
		switch {
		case errors.As(err, &refusal):
			return rejectionError(refusal)
		case whole || err != nil:
			return err
		}
		if bytes.IndexByte(data, '\n') < 0 && bytes.IndexByte(data, '\r') < 0 {
			return api.ErrInvalidCSV.With("reason", "no line ends in the first "+display.Bytes(maxImmediateCheck))
		}
		return nil
	}
	options, err := im.readOptions(ctx, req)
	if err != nil {
		return err
	}
	result, err := readWhole(bytes.NewReader(data), options)
	var refusal *ingest.Refusal
	if errors.As(err, &refusal) {
		return rejectionError(refusal)
	}
	if err == nil {
		im.checked.put(uploadID, result, options)
	}
	return err
}

func (im *Importer) newUpload(scope api.Scope, req api.UploadRequest) upload.Upload {
	u := upload.Upload{Actor: scope.Actor, SenderID: scope.Sender(), Request: req}
	u.UploadID = record.NewID("upl", im.Now())
	u.Kind, u.CustomerID, u.SiteID = req.Kind, req.CustomerID, req.SiteID
	u.Region, u.Location, u.Filename, u.Bytes, u.Source = req.Region, req.Location, req.Filename, req.Bytes, req.Source
	return u
}

func (im *Importer) ack(u upload.Upload, message string) api.UploadAck {
	return api.UploadAck{Status: "success", Message: message, S3Path: u.S3Path, ProcessingStatus: u.ProcessingStatus, UploadID: u.UploadID}
}

// accept stores the record and its job in one transaction, which acknowledges the
// upload. ours says that the object was put for this upload only.
func (im *Importer) accept(ctx context.Context, u upload.Upload, ours bool) (api.UploadAck, error) {
	u.S3Path = im.Objects.URI(u.ObjectKey)
	u.Stage, u.Accepted = sitedata.StageValidating, im.Wall().UTC()
	var stored upload.Upload
	var fresh bool
	err := im.Records.Update(ctx, func(tx store.Tx) error {
		err := site.CheckWritable(tx, api.Scope{Writes: true}, u.SiteID)
		if err != nil {
			return err
		}
		if stored, fresh, err = im.Domain.Uploads.Add(tx, u, im.NewJob(sitedata.JobIngest, sitedata.Payload{UploadID: u.UploadID})); err != nil {
			return err
		}
		switch {
		case !fresh:
			return nil
		case ours:
			return im.ConfirmObjects(tx, u.ObjectKey)
		}
		deleted, err := sitedata.IsAnnounced(tx, u.ObjectKey)
		if deleted {
			return api.InvalidParameter("s3_path", noSuchObject)
		}
		return err
	})
	if ours && (err != nil || !fresh) {
		im.DropObjects(ctx, "", u.ObjectKey)
	}
	if err != nil {
		return api.UploadAck{}, fmt.Errorf("store upload %s: %w", u.UploadID, err)
	}
	if !fresh {
		return im.ack(stored, ackRepeated), im.noteRepeated(ctx, stored.SiteID)
	}
	return im.ack(stored, ackMessages[u.Kind]), nil
}

// Find returns an upload within the scope, with its current progress.
func (im *Importer) Find(ctx context.Context, scope api.Scope, uploadID string) (api.Upload, error) {
	u, err := im.Domain.Uploads.Find(ctx, scope, uploadID)
	if err != nil {
		return u, err
	}
	list := []api.Upload{u}
	err = im.WithProgress(ctx, list...)
	return list[0], err
}

// Uploads lists the uploads within the scope, newest first, with their current
// progress.
func (im *Importer) Uploads(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.Upload, string, error) {
	list, next, err := im.Domain.Uploads.Uploads(ctx, scope, q)
	if err != nil {
		return list, next, err
	}
	return list, next, im.WithProgress(ctx, list...)
}

// maxLargeFiles is the number of large files in memory at a time. Others wait on
// disk.
const maxLargeFiles = 4
