package importer

import (
	"context"
	"errors"
	"fmt"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/activity"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
)

// Cancel ends an upload early. A file whose readings are not stored leaves only
// its record, which is failed. Later the training is cancelled, for all files of
// the site that wait for it: their readings stay, and the site is trained again
// when more arrive.
func (im *Importer) Cancel(ctx context.Context, scope api.Scope, uploadID string) (api.Upload, error) {
	u, err := im.Find(ctx, scope, uploadID)
	if err != nil {
		return u, err
	}
	if err := im.checkWritable(ctx, scope, u.SiteID); err != nil {
		return u, err
	}
	var training bool
	var parts []string // keys of the objects of a session
	err = im.Records.Update(ctx, func(tx store.Tx) error {
		now, err := im.Domain.Uploads.GetIn(tx, uploadID)
		if err != nil {
			return err
		}
		training = now.Version > 0
		switch {
		case now.Ended():
			return api.InvalidTransition("Upload %s has ended: it is %s", uploadID, now.ProcessingStatus)
		case now.Kind == api.UploadNowcast || !training && now.Stage != sitedata.StageValidating:
			return api.InProgress("Upload %s is being stored, which is soon over", uploadID)
		case training:
			return im.cancelTraining(tx, now, scope.Actor)
		}
		if now.SessionID != "" && now.ObjectKey == "" {
			if parts, err = im.markParts(tx, now.SessionID); err != nil {
				return err
			}
		}
		return im.cancelImport(tx, now, scope.Actor)
	})
	if err != nil {
		return u, err
	}
	if training {
		im.cancelJob(ctx, sitedata.JobTrain, u.SiteID)
	} else {
		im.cancelJob(ctx, sitedata.JobIngest, uploadID)
		key, ok := im.Objects.Key(u.S3Path)
		if ok {
			im.DeleteMarked(ctx, "", key)
		}
		im.DeleteMarked(ctx, "", parts...)
	}
	return im.Find(ctx, scope, uploadID)
}

// cancelJob cancels a job if it runs. Its upload or site is changed already, so
// that a job which continues has no effect.
func (im *Importer) cancelJob(ctx context.Context, kind, unique string) {
	if err := im.Queue.Cancel(ctx, kind, unique); err != nil {
		im.Logger.WarnContext(ctx, "cancel job", "kind", kind, "of", unique, "error", err)
	}
}

func (im *Importer) cancelImport(tx store.Tx, u upload.Upload, actor string) error {
	key := u.ObjectKey
	u, err := im.Domain.Uploads.SetStatus(tx, u.UploadID, api.UploadFailed, func(u *upload.Upload) {
		u.Error, u.Stage, u.Progress = "Cancelled by "+actor+" before anything was stored", "", 1
		u.ObjectKey, u.S3Path = "", ""
	})
	if err != nil {
		return err
	}
	if key != "" {
		if err := im.MarkForDeletion(tx, "", key); err != nil {
			return err
		}
	}
	if err := im.recordCancellation(tx, u, actor, "Import cancelled"); err != nil {
		return err
	}
	return im.releaseWaiting(tx, u)
}

func (im *Importer) cancelTraining(tx store.Tx, u upload.Upload, actor string) error {
	open, err := im.Domain.Uploads.Open(tx, u.SiteID)
	if err != nil {
		return err
	}
	for _, o := range open {
		if o.Version == 0 {
			continue // its import enqueues another training
		}
		_, err := im.Domain.Uploads.SetStatus(tx, o.UploadID, api.UploadWithWarnings, func(o *upload.Upload) {
			o.Warnings = append(o.Warnings, "training: cancelled by "+actor+"; the data are stored")
			o.Stage, o.Progress = "", 1
		})
		if err != nil {
			return err
		}
	}
	_, err = sitedata.UpdateState(tx, u.SiteID, func(t *sitedata.State) { t.Trained, t.TriedEnd = t.Data, t.LastData })
	if err != nil {
		return err
	}
	return im.recordCancellation(tx, u, actor, "Training cancelled")
}

func (im *Importer) recordCancellation(tx store.Tx, u upload.Upload, actor, title string) error {
	return im.Domain.Activities.Record(tx, activity.Record{CustomerID: u.CustomerID, SiteID: u.SiteID, Phase: api.PhaseOrient, Title: title,
		Description: fmt.Sprintf("%s, of site %s", name(u), u.SiteID), Actor: actor})
}

// checkWritable refuses a request to change an archived site, or one whose change of
// the whole site runs.
func (im *Importer) checkWritable(ctx context.Context, scope api.Scope, siteID string) error {
	return im.Records.View(ctx, func(tx store.Tx) error {
		if err := site.CheckWritable(tx, scope, siteID); err != nil || !scope.Writes {
			return err
		}
		change, err := site.RunningChange(tx, siteID)
		if err == nil && change != nil {
			err = api.InProgress("Site %s is being changed: try again when that has ended", siteID)
		}
		return err
	})
}

// markParts deletes the parts of a session and marks their objects for deletion.
func (im *Importer) markParts(tx store.Tx, sessionID string) ([]string, error) {
	v, err := upload.SessionIn(tx, sessionID)
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	keys, err := upload.DeleteParts(tx, v)
	if err != nil {
		return nil, err
	}
	return keys, im.MarkForDeletion(tx, "", keys...)
}
