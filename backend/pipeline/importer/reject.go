package importer

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/store"
	"app.sunloop/engine/ingest"
)

// rejectionError returns the API's error of a rejected file, with the line and the
// reason.
func rejectionError(r *ingest.Refusal) *api.Error {
	e := api.ErrInvalidCSV.With("reason", r.Error()).With("kind", string(r.Kind))
	if r.Line > 0 {
		e = e.With("line", r.Line)
	}
	return e
}

// reject records a rejected upload and returns the error with the record's id. An
// error that is no rejection is returned unchanged: the caller may retry.
func (im *Importer) reject(ctx context.Context, u upload.Upload, err error) error {
	var refusal *api.Error
	if !errors.As(err, &refusal) || refusal.Status >= http.StatusInternalServerError {
		return err
	}
	u.ErrorKind, u.Error, u.ErrorLine = rejectionDetails(refusal)
	u.ObjectKey, u.S3Path = "", ""
	id, added := u.UploadID, false
	err = im.Records.Update(store.WithoutCommitHook(ctx), func(tx store.Tx) error {
		var stored upload.Upload
		var err error
		if stored, added, err = im.Domain.Uploads.AddRejected(tx, u); err != nil {
			return err
		}
		if id = stored.UploadID; !added {
			return nil
		}
		return im.recordRejection(tx, u)
	})
	if err != nil {
		return fmt.Errorf("record the refusal %q: %w", refusal.Message, err)
	}
	if added {
		im.Hooks.Upload(u.Kind, UploadRefused)
	}
	return refusal.With("upload_id", id)
}

// Kinds of rejections in addition to those of [ingest.Refusal].
const (
	kindEmpty    = "empty_file"
	kindPath     = "s3_path"
	kindConflict = "conflict"
)

// rejectionDetails returns what the record of a rejection contains.
func rejectionDetails(e *api.Error) (kind, sentence string, line int) {
	kind, _ = e.Details["kind"].(string)
	line, _ = e.Details["line"].(int)
	sentence = e.Message
	if reason, ok := e.Details["reason"].(string); ok {
		if sentence += ": " + reason; e.Message == api.ErrInvalidCSV.Message {
			sentence = reason
		}
	}
	switch {
	case kind != "":
	case e.Status == http.StatusRequestEntityTooLarge:
		kind = string(ingest.TooLarge)
	case e.Is(api.ErrCSVRequired):
		kind = kindEmpty
	case e.Is(api.ErrInvalidCSV):
		kind = string(ingest.NotCSV)
	case e.Status == http.StatusConflict:
		kind = kindConflict
	case e.Details["field"] == "s3_path":
		kind = kindPath
	}
	return kind, sentence, line
}

func (im *Importer) recordRejection(tx store.Tx, u upload.Upload) error {
	return im.Domain.Activities.Record(tx, activity.Record{CustomerID: u.CustomerID, SiteID: u.SiteID, Phase: api.PhaseObserve, Title: "File rejected",
		Description: name(u) + ": " + u.Error, Actor: u.Actor})
}

// rejectImport ends an upload of which nothing is stored. Its object is deleted,
// unless another upload has it. Other uploads of the site may have waited for it.
func (im *Importer) rejectImport(ctx context.Context, u upload.Upload, r *ingest.Refusal) error {
	key := u.ObjectKey
	err := im.Records.Update(ctx, func(tx store.Tx) error {
		u, err := im.Domain.Uploads.SetStatus(tx, u.UploadID, api.UploadRejected, func(u *upload.Upload) {
			u.Error, u.ErrorKind, u.ErrorLine = r.Error(), string(r.Kind), r.Line
			u.Stage, u.Progress = "", 1
			u.ObjectKey, u.S3Path = "", ""
		})
		if err != nil {
			return err
		}
		if err := im.MarkForDeletion(tx, "", key); err != nil {
			return err
		}
		if err := im.recordRejection(tx, u); err != nil {
			return err
		}
		return im.releaseWaiting(tx, u)
	})
	if err == nil {
		im.DeleteMarked(ctx, "", key)
	}
	return err
}
