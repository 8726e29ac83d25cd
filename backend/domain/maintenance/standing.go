package maintenance

import (
	"context"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Standing is how the webhooks stand as a whole.
type Standing struct {
	Waiting  int       // deliveries, among them those that are tried again
	Oldest   time.Time // when the oldest of them was made; zero: none waits
	Disabled int       // subscriptions that were given up
}

// mostWaiting bounds how many deliveries are counted.
const mostWaiting = 20_000

// Standing looks at all deliveries and subscriptions.
func (s *Service) Standing(ctx context.Context) (out Standing, err error) {
	err = s.Records.View(ctx, func(tx store.Tx) error {
		out = Standing{}
		list, _, err := deliveries.List(tx, store.Query{Index: "due", Limit: mostWaiting})
		if err != nil {
			return err
		}
		for _, d := range list {
			if out.Waiting++; out.Oldest.IsZero() || d.CreatedAt.Before(out.Oldest) {
				out.Oldest = d.CreatedAt.Time
			}
		}
		all, _, err := subscriptions.List(tx, store.Query{})
		for _, v := range all {
			if v.Status == api.SubscriptionDisabled {
				out.Disabled++
			}
		}
		return err
	})
	if err != nil {
		return out, fmt.Errorf("look at the webhooks: %w", err)
	}
	return out, nil
}
