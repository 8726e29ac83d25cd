package alert

import (
	"time"

	"app.sunloop/backend/api"
)

// Health returns the figures of alerts over a window.
func Health(all []Alert, now time.Time, window time.Duration) api.AlertHealth {
	f := newAlertFigures(now, window)
	for i := range all {
		f.add(&all[i])
	}
	return f.health()
}
