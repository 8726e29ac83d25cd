package pipeline

import (
	"context"
	"fmt"
	"time"

	"app.sunloop/backend/store"
)

// Standing is how the sites stand as a whole.
type Standing struct {
	Sites          int       // that data came for
	Trained        int       // of these, with a model
	OldestModel    time.Time // end of the data of the model that learned from the oldest; zero: there is none
	OldestForecast time.Time // the newest forecast of the site that waits longest for another; zero: there is none
}

// Standing looks at all sites.
func (p *Pipeline) Standing(ctx context.Context) (out Standing, err error) {
	err = p.Records.View(ctx, func(tx store.Tx) error {
		out = Standing{}
		all, _, err := tracks.List(tx, store.Query{})
		for _, t := range all {
			out.Sites++
			if !t.HasModel {
				continue
			}
			out.Trained++
			if !t.TrainedEnd.IsZero() {
				out.OldestModel = earlier(out.OldestModel, t.TrainedEnd)
			}
			if !t.ForecastAt.IsZero() {
				out.OldestForecast = earlier(out.OldestForecast, t.ForecastAt)
			}
		}
		return err
	})
	if err != nil {
		return out, fmt.Errorf("look at the sites' tracks: %w", err)
	}
	return out, nil
}

// earlier is the earlier of two times; a zero a is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
