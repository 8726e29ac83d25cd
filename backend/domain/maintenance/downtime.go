package maintenance

import (
	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/availability"
	"app.sunloop/backend/store"
	"app.sunloop/engine/kpi"
)

// categories are the categories of availability of a unit that is stopped for work,
// by its type. Emergency work follows a failure.
var categories = map[string]kpi.Category{
	api.MaintenancePreventive: kpi.ScheduledMaintenance,
	api.MaintenanceCorrective: kpi.PlannedCorrective,
	api.MaintenanceEmergency:  kpi.ForcedOutage,
}

// stoppedFor returns the times in which work kept units of a site stopped, with the
// holds of its orders in which the work was interrupted.
func stoppedFor(tx store.Tx, siteID string) (list []availability.Work, err error) {
	err = orders.Each(tx, store.Query{Prefix: store.Key(siteID)}, func(o order) error {
		for _, d := range o.Downtime {
			w := availability.Work{OrderID: o.OrderID, AssetID: o.AssetID, Category: categories[o.MaintenanceType], From: d.From.Time, To: d.To.Time}
			for _, h := range o.Holds {
				if (d.To.IsZero() || h.From.Before(d.To.Time)) && (h.To.IsZero() || h.To.After(d.From.Time)) {
					w.Holds = append(w.Holds, availability.Hold(h))
				}
			}
			list = append(list, w)
		}
		return nil
	})
	return list, err
}
