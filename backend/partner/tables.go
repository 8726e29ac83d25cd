package partner

import "app.sunloop/backend/store"

// Tables is all that this package keeps in records, for a check of the data.
func Tables() []store.Checked {
	return []store.Checked{
		marks,
		store.Unchecked(bucket),
		store.Unchecked(planWords),
	}
}
