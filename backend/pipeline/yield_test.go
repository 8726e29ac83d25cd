package pipeline

import (
	"context"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/store"
)

// repairs wait for ever, and keep what they are shown.
type repairs struct {
	mu  sync.Mutex
	run finding.Run
}

func (r *repairs) RepairsWait(context.Context, string) (bool, error) { return true, nil }

func (r *repairs) Verify(_ store.Tx, run finding.Run) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.run = run
	return nil
}

// A run of the detector shows the repairs that wait the last days of the units;
// those of a healthy plant are about what was expected.
func TestDetectionShowsRepairsTheYields(t *testing.T) {
	waiting := &repairs{}
	p := newPlant(t, day0, func(c *Config) { c.Repairs = waiting })
	s := fleet(40, 3)
	p.start()
	p.ended1(p.upload(request(api.UploadTrain), csvOf(t, s, day0.AddDate(0, 0, -40), day0, 15*time.Minute)))
	if _, err := p.Detect(t.Context(), admin, api.AssetRef{AssetID: s.Units[0].AssetID, SiteID: "South"}, 0); err != nil {
		t.Fatal(err)
	}
	waiting.mu.Lock()
	defer waiting.mu.Unlock()
	for _, u := range s.Units {
		list, good, bright := waiting.run.DayYields[u.AssetID], 0, 0
		for _, y := range list {
			if y.Clear && y.Known {
				bright++
				if y.Ratio > 0.97 && y.Ratio < 1.05 {
					good++
				}
			}
		}
		if len(list) < 29 || len(list) > 32 || bright < 3 || good < bright*9/10 {
			t.Errorf("unit %s: %d days, %d clear, %d of them as expected: %+v", u.AssetID, len(list), bright, good, list)
		}
	}
}
