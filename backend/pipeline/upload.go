package pipeline

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"
	"sync"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
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
// the site has had already answers the former upload.
func (p *Pipeline) Upload(ctx context.Context, scope api.Scope, req api.UploadRequest, file io.Reader) (api.UploadAck, error) {
	if err := p.checkRequest(ctx, scope, &req); err != nil {
		return api.UploadAck{}, err
	}
	data, err := io.ReadAll(io.LimitReader(file, api.MaxUploadBytes+1))
	switch {
	case err != nil:
		return api.UploadAck{}, fmt.Errorf("receive the file: %w", err)
	case len(data) > api.MaxUploadBytes:
		return api.UploadAck{}, api.ErrFileTooLarge
	case len(data) == 0:
		return api.UploadAck{}, api.ErrCSVRequired
	}
	sum := sha256.Sum256(data)
	u := p.newUpload(scope, req, hex.EncodeToString(sum[:]), int64(len(data)))
	if former, ok, err := p.Ops.FormerUpload(ctx, u); err != nil || ok {
		return p.ack(former, ackRepeated), err
	}
	if err := p.checkFile(ctx, req, data); err != nil {
		return api.UploadAck{}, err
	}
	if u.ObjectKey, err = p.putObject(ctx, scope, req, data); err != nil {
		return api.UploadAck{}, err
	}
	return p.accept(ctx, u, true)
}

// Import queues an object that is stored already, named by req.S3Path.
func (p *Pipeline) Import(ctx context.Context, scope api.Scope, req api.UploadRequest) (api.UploadAck, error) {
	if req.S3Path == "" {
		return api.UploadAck{}, api.MissingParameter("s3_path")
	}
	if err := p.checkRequest(ctx, scope, &req); err != nil {
		return api.UploadAck{}, err
	}
	key, err := p.ownKey(req)
	if err != nil {
		return api.UploadAck{}, err
	}
	if err := p.checkObject(ctx, scope, key); err != nil {
		return api.UploadAck{}, err
	}
	object, err := p.Objects.Open(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return api.UploadAck{}, api.InvalidParameter("s3_path", "there is no such object")
	} else if err != nil {
		return api.UploadAck{}, fmt.Errorf("open the object: %w", err)
	}
	hash := sha256.New()
	n, err := io.Copy(hash, io.LimitReader(object, api.MaxUploadBytes+1))
	if err := errors.Join(err, object.Close()); err != nil {
		return api.UploadAck{}, fmt.Errorf("read the object: %w", err)
	}
	if n > api.MaxUploadBytes {
		return api.UploadAck{}, api.ErrFileTooLarge
	}
	u := p.newUpload(scope, req, hex.EncodeToString(hash.Sum(nil)), n)
	u.ObjectKey = key
	return p.accept(ctx, u, false)
}

// ownKey is the key of one of the service's own objects that is an upload of
// the request's customer: kind/client/customer/…
func (p *Pipeline) ownKey(req api.UploadRequest) (string, error) {
	key, ok := p.Objects.Key(req.S3Path)
	if !ok {
		return "", api.InvalidParameter("s3_path", "it must name an object of this service, as "+p.Objects.URI("historical/…"))
	}
	parts := strings.Split(key, "/")
	if len(parts) < 4 || parts[0] != api.UploadTrain && parts[0] != api.UploadNowcast || parts[2] != objects.Clean(req.CustomerID) {
		return "", api.InvalidParameter("s3_path", "it is not an uploaded file of this customer")
	}
	return key, nil
}

// checkObject refuses the file of a site that is not within the scope: its
// readings must not become those of one that is.
func (p *Pipeline) checkObject(ctx context.Context, scope api.Scope, key string) error {
	uses, err := p.Ops.ObjectUploads(ctx, key)
	if err != nil {
		return err
	}
	if len(uses) == 0 && !scope.CanSite(api.Every) {
		return api.ErrSiteNotPermitted // nobody knows whose it is
	}
	for _, u := range uses {
		if err := scope.Check(u.CustomerID, u.SiteID); err != nil {
			return err
		}
	}
	return nil
}

// checkRequest checks names and whose they are, and that the site, where there
// is one, is the customer's.
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
	site, err := p.Ops.Site(ctx, scope, req.SiteID)
	switch {
	case errors.Is(err, api.ErrSiteNotFound):
		return nil // the import makes it
	case err != nil:
		return err
	case site.CustomerID != req.CustomerID:
		return api.ErrSiteNotPermitted
	}
	return nil
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

// refused is a file's refusal in the contract's words, with the sentence that
// names line and reason.
func refused(r *ingest.Refusal) *api.Error {
	e := api.ErrInvalidCSV.With("reason", r.Error()).With("kind", string(r.Kind))
	if r.Line > 0 {
		e = e.With("line", r.Line)
	}
	return e
}

func (p *Pipeline) newUpload(scope api.Scope, req api.UploadRequest, hash string, size int64) ops.Upload {
	u := ops.Upload{Hash: hash, Actor: scope.Actor, Request: req}
	u.UploadID = ops.NewID("upl", p.Now())
	u.Kind, u.CustomerID, u.SiteID = req.Kind, req.CustomerID, req.SiteID
	u.Region, u.Location, u.Filename, u.Bytes = req.Region, req.Location, req.Filename, size
	return u
}

func (p *Pipeline) ack(u ops.Upload, message string) api.UploadAck {
	return api.UploadAck{Status: "success", Message: message, S3Path: u.S3Path, ProcessingStatus: u.ProcessingStatus, UploadID: u.UploadID}
}

// accept stores the record and its job in one transaction: with it the upload
// is acknowledged. ours says that the object was put for this upload alone.
func (p *Pipeline) accept(ctx context.Context, u ops.Upload, ours bool) (api.UploadAck, error) {
	u.S3Path = p.Objects.URI(u.ObjectKey)
	u.Stage = stageValidating
	var stored ops.Upload
	var fresh bool
	err := p.Records.Update(ctx, func(tx store.Tx) error {
		var err error
		if stored, fresh, err = p.Ops.AddUpload(tx, u, p.job(jobIngest, payload{UploadID: u.UploadID})); err != nil {
			return err
		}
		if !ours || !fresh {
			return nil
		}
		return tx.Delete(intentBucket, store.Key(u.ObjectKey))
	})
	if ours && (err != nil || !fresh) {
		p.dropObject(ctx, u.ObjectKey)
	}
	if err != nil {
		return api.UploadAck{}, fmt.Errorf("store upload %s: %w", u.UploadID, err)
	}
	if !fresh {
		return p.ack(stored, ackRepeated), nil
	}
	if u.Kind == api.UploadTrain {
		p.touch(u.SiteID)
	}
	return p.ack(stored, ackMessages[u.Kind]), nil
}

// intentBucket names the objects that are being put: one without a record at
// the next start is of an upload that was never acknowledged.
const intentBucket = "object-intents"

func (p *Pipeline) putObject(ctx context.Context, scope api.Scope, req api.UploadRequest, data []byte) (string, error) {
	name := objects.Upload{Kind: req.Kind, Client: cmp.Or(scope.ActorID, "direct"), Customer: req.CustomerID, Region: req.Region,
		Location: req.Location, Manufacturer: cmp.Or(req.Manufacturer, "auto")}
	folder := path.Dir(name.Key())
	stamp := api.At(p.Now())
	for n := 0; ; n++ {
		name.At = p.stamps.next(folder, stamp.Time)
		key := name.Key()
		taken := false
		err := p.Records.Update(ctx, func(tx store.Tx) error {
			_, err := tx.Get(intentBucket, store.Key(key))
			if taken = err == nil; taken {
				return nil
			}
			if !errors.Is(err, store.ErrNotFound) {
				return err
			}
			return tx.Put(intentBucket, store.Key(key), []byte(p.life))
		})
		if err != nil {
			return "", fmt.Errorf("announce object %s: %w", key, err)
		}
		if taken { // its object is for whoever announced it to keep or to sweep
			if n < 1000 {
				continue
			}
			return "", fmt.Errorf("store object %s: a thousand others are being stored", key)
		}
		err = p.Objects.Put(ctx, key, bytes.NewReader(data))
		switch {
		case err == nil:
			return key, nil
		case errors.Is(err, store.ErrExists) && n < 1000:
			// Another file of the same second: theirs stays.
			if err := p.forgetIntent(ctx, key); err != nil {
				return "", err
			}
		default:
			p.dropObject(ctx, key)
			return "", fmt.Errorf("store object %s: %w", key, err)
		}
	}
}

// stamps gives each file of a folder a second of its own.
type stamps struct {
	mu   sync.Mutex
	last map[string]time.Time // by folder
}

// maxFolders bounds what is remembered; what is forgotten costs a collision.
const maxFolders = 10_000

func (s *stamps) next(folder string, at time.Time) time.Time {
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

func (p *Pipeline) forgetIntent(ctx context.Context, key string) error {
	return p.Records.Update(ctx, func(tx store.Tx) error { return tx.Delete(intentBucket, store.Key(key)) })
}

// dropObject takes back an object whose upload was not acknowledged. One that
// an upload has stays: two files of the same second may have announced it.
func (p *Pipeline) dropObject(ctx context.Context, key string) {
	ctx = context.WithoutCancel(ctx)
	uses, err := p.Ops.ObjectUploads(ctx, key)
	if err == nil && len(uses) == 0 {
		err = p.Objects.Delete(ctx, key)
	}
	if err == nil {
		err = p.forgetIntent(ctx, key)
	}
	if err != nil {
		p.Logger.Warn("drop an object; the next start will", "key", key, "error", err)
	}
}

// sweepIntents deletes the objects of uploads that a former process did not
// come to acknowledge. Those of this one may be under way already.
func (p *Pipeline) sweepIntents(ctx context.Context) error {
	var keys []string
	err := p.Records.View(ctx, func(tx store.Tx) error {
		keys = nil
		for e, err := range tx.Scan(intentBucket, nil, nil, false) {
			if err != nil {
				return err
			}
			if parts := store.Parts(e.Key); len(parts) == 1 && string(e.Value) != p.life {
				keys = append(keys, parts[0])
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("list the objects under way: %w", err)
	}
	for _, key := range keys {
		p.dropObject(ctx, key)
	}
	return nil
}
