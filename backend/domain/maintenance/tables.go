package maintenance

import "app.sunloop/backend/store"

// Tables is all that this package keeps in records, for a check of the data.
func Tables() []store.Checked {
	return []store.Checked{
		boms,
		subscriptions,
		deliveries,
		stocks,
		schedules,
		orders,
	}
}
