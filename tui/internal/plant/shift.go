package plant

import (
	"time"

	"app.sunloop/backend/api"
)

// Shift is the shift log: a hand-over of this morning that anna has read, and a note. The user looked last at six.
func (p *Plant) Shift(now time.Time) api.ShiftResponse {
	at := func(hour, minute int) api.Time {
		return api.At(p.Midnight(now).Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute))
	}
	entries := []api.ShiftEntry{
		{EntryID: "shf_2", SiteID: p.SiteID, Kind: api.ShiftNote, Text: "The gate code has changed; ask the guard", SignedBy: "thandi", At: at(9, 5)},
		{EntryID: "shf_1", SiteID: p.SiteID, Kind: api.ShiftHandOver, SignedBy: "thandi", At: at(6, 10), Since: at(-2, 0), ReadBy: []api.ShiftReader{{Name: "anna", At: at(6, 30)}},
			Text: "INV-05: string outage since 11 November, fuses are in stock; order of INV-06 on hold, thandi"},
	}
	return api.ShiftResponse{Success: true, SeenAt: at(6, 0), Entries: entries, Count: len(entries)}
}
