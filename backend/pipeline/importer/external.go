package importer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"path"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
)

// importObject enqueues an object of this service.
func (im *Importer) importObject(ctx context.Context, scope api.Scope, u upload.Upload) (api.UploadAck, error) {
	key, err := im.uploadKey(u.Request)
	if err != nil {
		return api.UploadAck{}, err
	}
	if err := im.checkObject(ctx, scope, key); err != nil {
		return api.UploadAck{}, err
	}
	object, err := im.Objects.Open(ctx, key)
	if errors.Is(err, store.ErrNotFound) {
		return api.UploadAck{}, api.InvalidParameter("s3_path", noSuchObject)
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
	u.Hash, u.Bytes, u.ObjectKey = hex.EncodeToString(hash.Sum(nil)), n, key
	return im.accept(ctx, u, false)
}

const noSuchObject = "there is no such object"

// importExternal copies a file of an external source and enqueues the copy.
func (im *Importer) importExternal(ctx context.Context, scope api.Scope, u upload.Upload) (api.UploadAck, error) {
	uri := u.Request.S3Path
	data, err := im.ImportSource.Fetch(ctx, uri, u.CustomerID, api.MaxUploadBytes)
	if err != nil {
		return api.UploadAck{}, im.fetchError(ctx, uri, err)
	}
	if u.Filename == "" {
		u.Filename = path.Base(uri)
	}
	return im.storeFile(ctx, scope, u, data)
}

// fetchError returns the response to a failed copy. Errors of the external store
// are logged, and not sent to the client.
func (im *Importer) fetchError(ctx context.Context, uri string, err error) error {
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, objects.ErrNotAllowed):
		return api.InvalidParameter("s3_path", "it may name an object of this service, as "+im.Objects.URI("historical/…")+
			", or a file in a place that the operator allows: sunloop serve --import-from s3://bucket/prefix")
	case errors.Is(err, store.ErrNotFound):
		return api.InvalidParameter("s3_path", noSuchObject)
	case errors.Is(err, objects.ErrTooLarge):
		return api.ErrFileTooLarge.With("field", "s3_path")
	case errors.Is(err, objects.ErrNoFile), errors.Is(err, objects.ErrDenied):
		return api.InvalidParameter("s3_path", lastCause(err).Error())
	}
	im.Logger.Error("fetch external file", "s3_path", uri, "error", err)
	return api.ErrUnavailable.With("field", "s3_path").With("reason", "the store of s3_path cannot be reached now: try again later")
}

// lastCause returns the innermost wrapped error.
func lastCause(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		err = next
	}
}

// uploadKey returns the key of an object of the service that is an upload of the
// request's customer: kind/client/customer/…
func (im *Importer) uploadKey(req api.UploadRequest) (string, error) {
	key, ok := im.Objects.Key(req.S3Path)
	if !ok {
		return "", api.InvalidParameter("s3_path", "it must name an object of this service, as "+im.Objects.URI("historical/…"))
	}
	parts := strings.Split(key, "/")
	if len(parts) < 4 || parts[0] != api.UploadTrain && parts[0] != api.UploadNowcast || parts[2] != objects.Clean(req.CustomerID) {
		return "", api.InvalidParameter("s3_path", "it is not an uploaded file of this customer")
	}
	return key, nil
}

// checkObject rejects the file of a site outside the scope: its readings must not
// become those of another site.
func (im *Importer) checkObject(ctx context.Context, scope api.Scope, key string) error {
	uses, err := im.Domain.Uploads.OfObject(ctx, key)
	if err != nil {
		return err
	}
	if len(uses) == 0 && !scope.CanSite(api.Every) {
		return api.ErrForbidden // its owner is unknown
	}
	for _, u := range uses {
		if err := scope.Check(u.CustomerID, u.SiteID); err != nil {
			return err
		}
	}
	return nil
}
