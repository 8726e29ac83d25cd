package freemium

import "app.sunloop/backend/store"

// Tables is all that this package keeps in records, for a check of the data.
func Tables() []store.Checked {
	return []store.Checked{
		codes,
		sent,
		customers,
	}
}
