package pipeline

import (
	"testing"
	"time"

	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
)

// TestDetectionBehind: a site is behind an hour after its detection was due, and not if
// there is nothing new, or if it is new.
func TestDetectionBehind(t *testing.T) {
	p := newPlant(t, day0, nil)
	ago := func(d time.Duration) time.Time { return day0.Add(-d) }
	set := func(id string, s sitedata.State) {
		t.Helper()
		err := p.db.Update(t.Context(), func(tx store.Tx) error {
			_, err := sitedata.UpdateState(tx, id, func(t *sitedata.State) { id := t.SiteID; *t = s; t.SiteID = id })
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	fresh := sitedata.State{Data: 1}
	fresh.Rhythm.Last = ago(10 * time.Minute)
	old := fresh
	old.Rhythm.Last = ago(3 * time.Hour)
	want := 0
	for id, c := range map[string]struct {
		state  sitedata.State
		behind int
	}{
		"new data, long ago":  {sitedata.State{Data: 2, DetectData: 1, DetectAt: ago(2 * time.Hour)}, 1},
		"new data, just now":  {sitedata.State{Data: 2, DetectData: 1, DetectAt: ago(30 * time.Minute)}, 0},
		"nothing new":         {sitedata.State{Data: 2, DetectData: 2, DetectAt: ago(30 * time.Hour)}, 0},
		"reporting":           {sitedata.State{Data: 2, DetectData: 2, Live: true, LastData: ago(time.Hour), DetectAt: ago(2 * time.Hour)}, 1},
		"never, since today":  {fresh, 0},
		"never, long ago":     {old, 1},
		"history, not judged": {sitedata.State{Data: 1}, 0},
	} {
		set(id, c.state)
		want += c.behind
		if n, err := p.DetectionBehind(t.Context()); err != nil || n != want {
			t.Errorf("after %s: %d sites are behind, %v, want %d", id, n, err, want)
		}
	}
}
