package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/ops"
	"app.sunloop/backend/store"
)

// maintainEvery is how often old records are dropped, by the wall clock.
const maintainEvery = time.Hour

// sealer is what a telemetry store may offer: closing days and merging
// finished months.
type sealer interface {
	Seal(ctx context.Context) (int, error)
}

// maintain is the job that drops what is past its time, in small transactions,
// and lets the telemetry store tidy up.
func (p *Pipeline) maintain(ctx context.Context, _ store.Claimed) error {
	now := p.Now()
	keep := ops.Limits{Forecasts: now.Add(-p.Keep.Forecasts), Activities: now.Add(-p.Keep.Activities), Detections: now.Add(-p.Keep.Detections)}
	for {
		n, err := p.Ops.Prune(ctx, keep)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
	}
	nowcast := func(u ops.Upload) bool { return u.Kind == api.UploadNowcast }
	if err := p.dropUploads(ctx, nowcast, now.Add(-p.Keep.Nowcasts)); err != nil {
		return err
	}
	refused := func(u ops.Upload) bool { return u.ProcessingStatus == api.UploadRejected }
	if err := p.dropUploads(ctx, refused, now.Add(-p.Keep.Refused)); err != nil {
		return err
	}
	if err := p.sweepIntents(ctx, false); err != nil {
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
	}
	return nil
}

// dropUploads forgets old uploads and the files that no other has; their
// telemetry stays.
func (p *Pipeline) dropUploads(ctx context.Context, drop func(ops.Upload) bool, before time.Time) error {
	for {
		old, err := p.Ops.OldUploads(ctx, drop, before, 200)
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
			return errors.Join(p.Ops.DropUploads(tx, old), p.dropping(tx, "", keys...))
		})
		if err != nil {
			return err
		}
		p.takeBack(ctx, "", keys...)
	}
}
