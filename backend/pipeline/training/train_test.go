package training

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/pipeline/sitedata"
)

// day0 is the time of these tests.
var day0 = time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC)

// TestQuiet: a site is quiet some time after the last of its files came, on
// whichever replica, and a clock that goes before does not hold it up.
func TestIdleAt(t *testing.T) {
	now := day0
	p := &Trainer{Data: sitedata.New(sitedata.Config{Wall: func() time.Time { return now }}), Quiet: time.Minute}
	one := func(kind string, at time.Time) (u upload.Upload) {
		u.Kind, u.Accepted = kind, at
		return u
	}
	train := func(at time.Time) upload.Upload { return one(api.UploadTrain, at) }
	for name, c := range map[string]struct {
		open []upload.Upload
		want time.Time
	}{
		"the last counts":        {[]upload.Upload{train(now.Add(-time.Hour)), train(now.Add(-10 * time.Second)), train(now.Add(-time.Minute))}, now.Add(50 * time.Second)},
		"a nowcast does not":     {[]upload.Upload{one(api.UploadNowcast, now), train(now.Add(-time.Hour))}, now.Add(-59 * time.Minute)},
		"a clock that is before": {[]upload.Upload{train(now.Add(time.Hour))}, now.Add(time.Minute)},
		"none":                   {nil, time.Time{}.Add(time.Minute)},
	} {
		if at := p.idleAt(c.open); !at.Equal(c.want) {
			t.Errorf("%s: %v, want %v", name, at, c.want)
		}
	}
}
