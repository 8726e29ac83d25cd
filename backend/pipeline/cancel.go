package pipeline

import (
	"context"
	"fmt"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/store"
)

// Cancel ends an upload before its time. A file whose readings are not stored
// yet leaves nothing but its record, which is failed. Later it is the training
// that ends, for all files of the site that wait for it: their readings stay,
// and the site is trained again when more come.
func (p *Pipeline) Cancel(ctx context.Context, scope api.Scope, uploadID string) (api.Upload, error) {
	u, err := p.Find(ctx, scope, uploadID)
	if err != nil {
		return u, err
	}
	var training bool
	err = p.Records.Update(ctx, func(tx store.Tx) error {
		now, err := p.Ops.UploadInTx(tx, uploadID)
		if err != nil {
			return err
		}
		training = now.Version > 0
		switch {
		case now.Ended():
			return api.Conflict("Upload %s has ended: it is %s", uploadID, now.ProcessingStatus)
		case now.Kind == api.UploadNowcast || !training && now.Stage != stageValidating:
			return api.Conflict("Upload %s is being stored, which is soon over", uploadID)
		case training:
			return p.cancelTraining(tx, now, scope.Actor)
		}
		return p.cancelImport(tx, now, scope.Actor)
	})
	if err != nil {
		return u, err
	}
	if training {
		p.cancelJob(ctx, jobTrain, u.SiteID)
	} else {
		p.cancelJob(ctx, jobIngest, uploadID)
		key, ok := p.Objects.Key(u.S3Path)
		if ok {
			p.takeBack(ctx, "", key)
		}
	}
	return p.Find(ctx, scope, uploadID)
}

// cancelJob ends a job if it runs. What it was about is cancelled already, so
// that one which goes on comes to nothing.
func (p *Pipeline) cancelJob(ctx context.Context, kind, unique string) {
	if err := p.Queue.Cancel(ctx, kind, unique); err != nil {
		p.Logger.WarnContext(ctx, "cancel a job", "kind", kind, "of", unique, "error", err)
	}
}

func (p *Pipeline) cancelImport(tx store.Tx, u ops.Upload, actor string) error {
	key := u.ObjectKey
	u, err := p.Ops.MoveUpload(tx, u.UploadID, api.UploadFailed, func(u *ops.Upload) {
		u.Error, u.Stage, u.Progress = "Cancelled by "+actor+" before anything was stored", "", 1
		u.ObjectKey, u.S3Path = "", ""
	})
	if err != nil {
		return err
	}
	if err := p.dropping(tx, "", key); err != nil {
		return err
	}
	if err := p.noteCancelled(tx, u, actor, "Import cancelled"); err != nil {
		return err
	}
	return p.releaseOthers(tx, u)
}

func (p *Pipeline) cancelTraining(tx store.Tx, u ops.Upload, actor string) error {
	open, err := p.Ops.OpenUploads(tx, u.SiteID)
	if err != nil {
		return err
	}
	for _, o := range open {
		if o.Version == 0 {
			continue // it will ask for a training of its own
		}
		_, err := p.Ops.MoveUpload(tx, o.UploadID, api.UploadWithWarnings, func(o *ops.Upload) {
			o.Warnings = append(o.Warnings, "training: cancelled by "+actor+"; the data are stored")
			o.Stage, o.Progress = "", 1
		})
		if err != nil {
			return err
		}
	}
	_, err = advance(tx, u.SiteID, func(t *Track) { t.Trained, t.TriedEnd = t.Data, t.LastData })
	if err != nil {
		return err
	}
	return p.noteCancelled(tx, u, actor, "Training cancelled")
}

func (p *Pipeline) noteCancelled(tx store.Tx, u ops.Upload, actor, title string) error {
	return p.Ops.Note(tx, ops.Note{CustomerID: u.CustomerID, SiteID: u.SiteID, Phase: api.PhaseOrient, Title: title,
		Description: fmt.Sprintf("%s, of site %s", name(u), u.SiteID), Actor: actor})
}
