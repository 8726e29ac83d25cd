package pipeline

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
	"app.sunloop/backend/ops"
	"app.sunloop/backend/store"
	"app.sunloop/engine/ingest"
)

// ackMessages by kind of upload.
var ackMessages = map[string]string{
	api.UploadTrain:   "File uploaded. Standardising, training and forecasting follow.",
	api.UploadNowcast: "File uploaded. Forecast and fault detection follow.",
}

const ackRepeated = "This file was uploaded before. Nothing is done again."

// checkedAtOnce is up to what size a file is read through before it is
// acknowledged, so that a bad one is refused in the answer itself. A larger
// one is refused by its job.
const checkedAtOnce = 256 << 10

// Upload keeps the file durably and queues its import in one step. A file that
// the site has had already answers the former upload. One that is refused
// leaves a record that says why, and nothing else.
func (p *Pipeline) Upload(ctx context.Context, scope api.Scope, req api.UploadRequest, file io.Reader) (api.UploadAck, error) {
	if err := p.checkRequest(ctx, scope, &req); err != nil {
		return api.UploadAck{}, err
	}
	u := p.newUpload(scope, req)
	if req.Bytes == 0 || req.Bytes > checkedAtOnce {
		leave, err := p.inMemory(ctx)
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
	ack, err := p.keep(ctx, scope, u, data.Bytes())
	if err == nil {
		p.Observe.acknowledged(req.Kind, ack)
	}
	return ack, p.refuse(ctx, u, err)
}

// filesInMemory is how many large files are held at a time while they are
// stored; the others wait where they are, on disk.
const filesInMemory = 4

// inMemory waits until one more large file may be held; leave is called when
// it is no more.
func (p *Pipeline) inMemory(ctx context.Context) (leave func(), err error) {
	select {
	case p.held <- struct{}{}:
		return func() { <-p.held }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait to store the file: %w", ctx.Err())
	}
}

// Import queues a file that is named by req.S3Path: an object of this service,
// or one elsewhere in a place that the operator allows, which is copied.
func (p *Pipeline) Import(ctx context.Context, scope api.Scope, req api.UploadRequest) (api.UploadAck, error) {
	if req.S3Path == "" {
		return api.UploadAck{}, api.MissingParameter("s3_path")
	}
	if err := p.checkRequest(ctx, scope, &req); err != nil {
		return api.UploadAck{}, err
	}
	u := p.newUpload(scope, req)
	var ack api.UploadAck
	var err error
	if strings.HasPrefix(req.S3Path, p.Objects.URI("")) {
		ack, err = p.importOwn(ctx, scope, u)
	} else {
		ack, err = p.importForeign(ctx, scope, u)
	}
	if err == nil {
		p.Observe.acknowledged(req.Kind, ack)
	}
	return ack, p.refuse(ctx, u, err)
}

// Refuse leaves the record of a file that was refused before it was read
// whole, and answers the refusal with its upload_id.
func (p *Pipeline) Refuse(ctx context.Context, scope api.Scope, req api.UploadRequest, refusal *api.Error) error {
	if err := p.checkRequest(ctx, scope, &req); err != nil {
		return err
	}
	return p.refuse(ctx, p.newUpload(scope, req), refusal)
}

// keep stores a file that was received whole, and queues its import.
func (p *Pipeline) keep(ctx context.Context, scope api.Scope, u ops.Upload, data []byte) (api.UploadAck, error) {
	switch {
	case len(data) > api.MaxUploadBytes:
		return api.UploadAck{}, api.ErrFileTooLarge
	case len(data) == 0:
		return api.UploadAck{}, api.ErrCSVRequired
	}
	sum := sha256.Sum256(data)
	u.Hash, u.Bytes = hex.EncodeToString(sum[:]), int64(len(data))
	if former, ok, err := p.Ops.FormerUpload(ctx, u); err != nil || ok {
		return p.ack(former, ackRepeated), err
	}
	if err := p.checkFile(ctx, u.Request, data); err != nil {
		return api.UploadAck{}, err
	}
	var err error
	if u.ObjectKey, err = p.putObject(ctx, scope, u.Request, data); err != nil {
		return api.UploadAck{}, err
	}
	return p.accept(ctx, u, true)
}

// checkRequest checks the names and the scope, and replaces the site's id by the key of
// the customer's site.
func (p *Pipeline) checkRequest(ctx context.Context, scope api.Scope, req *api.UploadRequest) error {
	if req.Kind == "" {
		req.Kind = api.UploadTrain
	}
	for _, f := range []struct{ name, value string }{{"customer_id", req.CustomerID}, {"site_id", req.SiteID}} {
		if f.value == "" {
			return api.MissingParameter(f.name)
		}
	}
	if err := scope.Check(req.CustomerID, req.SiteID); err != nil {
		return err
	}
	if err := ops.CheckNames(api.Site{SiteID: req.SiteID, CustomerID: req.CustomerID, Timezone: req.Timezone, CapacityKW: req.CapacityKW}); err != nil {
		return err
	}
	var err error
	if req.SiteID, err = p.Ops.ReserveSite(ctx, req.CustomerID, req.SiteID); err != nil {
		return err
	}
	return scope.Check(req.CustomerID, req.SiteID) // the import makes the site if it does not exist
}

// checkFile reads a small file through, and only the look of a large one.
func (p *Pipeline) checkFile(ctx context.Context, req api.UploadRequest, data []byte) error {
	if len(data) > checkedAtOnce {
		data = data[:checkedAtOnce]
		if bytes.IndexByte(data, '\n') < 0 && bytes.IndexByte(data, '\r') < 0 {
			return api.ErrInvalidCSV.With("reason", fmt.Sprintf("no line ends in the first %d KB", checkedAtOnce>>10))
		}
		if bytes.HasPrefix(data, []byte("PK\x03\x04")) {
			return api.ErrInvalidCSV.With("reason", "the file is a spreadsheet or an archive, not a CSV")
		}
		return nil
	}
	options, err := p.readOptions(ctx, req)
	if err != nil {
		return err
	}
	_, err = readWhole(bytes.NewReader(data), options)
	var refusal *ingest.Refusal
	if errors.As(err, &refusal) {
		return refused(refusal)
	}
	return err
}

func (p *Pipeline) newUpload(scope api.Scope, req api.UploadRequest) ops.Upload {
	u := ops.Upload{Actor: scope.Actor, Request: req}
	u.UploadID = ops.NewID("upl", p.Now())
	u.Kind, u.CustomerID, u.SiteID = req.Kind, req.CustomerID, req.SiteID
	u.Region, u.Location, u.Filename, u.Bytes = req.Region, req.Location, req.Filename, req.Bytes
	return u
}

func (p *Pipeline) ack(u ops.Upload, message string) api.UploadAck {
	return api.UploadAck{Status: "success", Message: message, S3Path: u.S3Path, ProcessingStatus: u.ProcessingStatus, UploadID: u.UploadID}
}

// accept stores the record and its job in one transaction: with it the upload
// is acknowledged. ours says that the object was put for this upload alone.
func (p *Pipeline) accept(ctx context.Context, u ops.Upload, ours bool) (api.UploadAck, error) {
	u.S3Path = p.Objects.URI(u.ObjectKey)
	u.Stage, u.Accepted = stageValidating, p.Wall().UTC()
	var stored ops.Upload
	var fresh bool
	err := p.Records.Update(ctx, func(tx store.Tx) error {
		var err error
		if stored, fresh, err = p.Ops.AddUpload(tx, u, p.job(jobIngest, payload{UploadID: u.UploadID})); err != nil {
			return err
		}
		switch {
		case !fresh:
			return nil
		case ours:
			return p.named(tx, u.ObjectKey)
		}
		if _, err := tx.Get(intentBucket, store.Key(u.ObjectKey)); err == nil { // it is about to be dropped
			return api.InvalidParameter("s3_path", noSuchObject)
		} else if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		return nil
	})
	if ours && (err != nil || !fresh) {
		p.dropObjects(ctx, "", u.ObjectKey)
	}
	if err != nil {
		return api.UploadAck{}, fmt.Errorf("store upload %s: %w", u.UploadID, err)
	}
	if !fresh {
		return p.ack(stored, ackRepeated), nil
	}
	return p.ack(stored, ackMessages[u.Kind]), nil
}
