package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain"
	"app.sunloop/backend/domain/site"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
)

// maintainEvery is the interval of maintenance, by the wall clock.
const maintainEvery = time.Hour

// sealer is implemented by telemetry stores that close days and replace the day
// sums of earlier versions.
type sealer interface {
	Seal(ctx context.Context) (int, error)
	Resum(ctx context.Context) (int, error)
}

// maintain is the job that deletes what is past its retention, in small
// transactions, and lets the telemetry store seal.
func (p *Pipeline) maintain(ctx context.Context, _ store.Claimed) error {
	now, keep := p.Now(), p.config.Keep
	limits := domain.Limits{Forecasts: now.Add(-keep.Forecasts), Activities: now.Add(-keep.Activities), Detections: now.Add(-keep.Detections), Shifts: now.Add(-keep.Shifts)}
	for {
		n, err := p.Domain.Prune(ctx, limits)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	nowcast := func(u upload.Upload) bool { return u.Kind == api.UploadNowcast }
	if err := p.dropUploads(ctx, nowcast, now.Add(-keep.Nowcasts)); err != nil {
		return err
	}
	rejected := func(u upload.Upload) bool { return u.ProcessingStatus == api.UploadRejected }
	if err := p.dropUploads(ctx, rejected, now.Add(-keep.Refused)); err != nil {
		return err
	}
	if err := p.Imports.DropSessions(ctx, ""); err != nil {
		return err
	}
	if err := p.SweepObjects(ctx, false); err != nil {
		return err
	}
	// A job that died with its worker may have left its upload open.
	if err := p.requeue(ctx); err != nil {
		return err
	}
	if t, ok := p.Telemetry.(sealer); ok {
		if _, err := t.Seal(ctx); err != nil {
			return fmt.Errorf("seal telemetry: %w", err)
		}
		if _, err := t.Resum(ctx); err != nil {
			return err
		}
	}
	return nil
}

// dropUploads deletes old uploads and the files that no other upload has; their
// telemetry stays.
func (p *Pipeline) dropUploads(ctx context.Context, drop func(upload.Upload) bool, before time.Time) error {
	for {
		old, err := p.Domain.Uploads.Old(ctx, drop, before, 200)
		if err != nil || len(old) == 0 {
			return err
		}
		var keys []string
		for _, u := range old {
			if u.ObjectKey != "" {
				keys = append(keys, u.ObjectKey)
			}
		}
		err = p.Records.Update(ctx, func(tx store.Tx) error {
			return errors.Join(p.Domain.Uploads.Delete(tx, old), p.MarkForDeletion(tx, "", keys...))
		})
		if err != nil {
			return err
		}
		p.DeleteMarked(ctx, "", keys...)
	}
}

// recover resumes what an earlier process may have left: every open upload gets a
// job, and objects without a record are deleted, unless another process is about
// to name them.
func (p *Pipeline) recover(ctx context.Context) error {
	if err := p.SweepObjects(ctx, true); err != nil {
		return err
	}
	return p.requeue(ctx)
}

// requeue enqueues the job of every open upload and of every running change of a
// site, unless it is queued.
func (p *Pipeline) requeue(ctx context.Context) error {
	err := p.Records.Update(ctx, func(tx store.Tx) error {
		open, err := p.Domain.Uploads.AllOpen(tx)
		if err != nil {
			return err
		}
		for _, u := range open {
			job := p.NewJob(sitedata.JobIngest, sitedata.Payload{UploadID: u.UploadID})
			if u.ProcessingStatus == api.UploadProcessing && u.Version > 0 { // its telemetry is stored
				job = p.NewJob(sitedata.JobTrain, sitedata.Payload{SiteID: u.SiteID})
			}
			job.SkipIfPending = true
			if err := tx.Enqueue(job); err != nil {
				return err
			}
		}
		running, err := site.RunningChanges(tx)
		if err != nil {
			return err
		}
		for id := range running {
			job := p.NewJob(sitedata.JobSite, sitedata.Payload{SiteID: id})
			job.SkipIfPending = true
			if err := tx.Enqueue(job); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("requeue open uploads and changes of sites: %w", err)
	}
	return nil
}
