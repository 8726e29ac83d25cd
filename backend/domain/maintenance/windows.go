package maintenance

import (
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Window is a time in which work is expected to stop a unit: its alarms notify no one.
type Window struct {
	ID      string // of the work order
	SiteID  string
	AssetID string
	From    time.Time
	To      time.Time // zero: until it is ended
}

// Windows returns the maintenance windows of a site that have not ended: the planned times
// of isolating work orders that are open, and the downtime of those that have begun.
func Windows(tx store.Tx, siteID string, now time.Time) (list []Window, err error) {
	err = orders.Each(tx, store.Query{Prefix: store.Key(siteID)}, func(o order) error {
		if !o.open() {
			return nil
		}
		w := Window{ID: o.OrderID, SiteID: o.SiteID, AssetID: o.AssetID}
		for _, d := range o.Downtime {
			if w.From, w.To = d.From.Time, d.To.Time; w.To.IsZero() || now.Before(w.To) {
				list = append(list, w)
			}
		}
		if !o.Isolating || o.PlannedStart.IsZero() || o.Status == api.OrderOnHold {
			return nil
		}
		w.From = o.PlannedStart.Time
		w.To = w.From.Add(time.Duration(o.EstimatedDurationHours * float64(time.Hour)))
		if now.Before(w.To) {
			list = append(list, w)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the maintenance windows of site %s: %w", siteID, err)
	}
	return list, nil
}
