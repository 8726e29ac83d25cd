package auth

import "app.sunloop/backend/store"

// Tables is all that this package keeps in records, for a check of the data.
func Tables() []store.Checked {
	return []store.Checked{
		signingKeys,
		accounts,
		sessions,
		apiKeys,
		challenges,
		sharedMarks,
		keptAttempts,
		setupNonces,
	}
}
