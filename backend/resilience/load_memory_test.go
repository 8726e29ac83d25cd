package resilience

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/servetest"
)

// uploadBound is what the service may take while the largest files come in at
// once: they go to disk as they come, so that what counts is a buffer for each
// and the two that are being worked off.
const uploadBound = 500 // MiB

// TestLargestUploadsAtOnce sends files of 10 MB side by side; each is
// acknowledged.
func TestLargestUploadsAtOnce(t *testing.T) {
	_, whole := loadSeconds(t)
	uploads := 6
	if whole {
		uploads = 100
	}
	f := makeFleet(t, 1, 1, 1, 1)
	p := servetest.Start(t, f.dir, "--no-mfa")
	csv := largestCSV(f.first)
	var wait sync.WaitGroup
	for n := range uploads {
		wait.Go(func() {
			c := p.Client(f.keys[0])
			defer c.Close()
			for { // 60 a minute are taken
				r, err := c.UploadTrain(t.Context(), api.UploadRequest{CustomerID: fleetCustomer, SiteID: fmt.Sprint("large-", n), Region: "eu", Location: "Vienna", Filename: "a.csv"}, strings.NewReader(csv), nil)
				var refused *api.Error
				if errors.As(err, &refused) && refused.Status == http.StatusTooManyRequests {
					time.Sleep(time.Duration(refused.RetryAfter) * time.Second)
					continue
				}
				if err != nil || r.ProcessingStatus != api.UploadQueued {
					t.Errorf("upload %d: %+v, %v", n, r, err)
				}
				return
			}
		})
	}
	wait.Wait()
	t.Logf("%d uploads of %d bytes: resident %.0f MiB at most", uploads, len(csv), p.PeakMiB())
	if most := p.PeakMiB(); most > uploadBound {
		t.Errorf("%.0f MiB resident, more than %d", most, uploadBound)
	}
}

// largestCSV is a file of the largest size that is taken: forty units by the
// minute, so that it holds few enough days that no model is trained on it.
func largestCSV(first time.Time) string {
	var b strings.Builder
	b.Grow(api.MaxUploadBytes)
	b.WriteString("timestamp")
	for u := range 40 {
		fmt.Fprintf(&b, ",INV-%02d power (kW)", u)
	}
	b.WriteByte('\n')
	row := strings.Repeat(",12.5", 40) + "\n"
	for i := 0; b.Len()+len(row)+30 < api.MaxUploadBytes; i++ {
		b.WriteString(first.Add(time.Duration(i) * time.Minute).Format(time.RFC3339))
		b.WriteString(row)
	}
	return b.String()
}

// TestMemoryOfAFleet logs what a service of 1,000 units takes at rest, after
// each site was read; 200 MiB are wanted.
func TestMemoryOfAFleet(t *testing.T) {
	if _, whole := loadSeconds(t); !whole {
		t.Skip("make load measures it")
	}
	f := makeFleet(t, 10, 100, 30, 1)
	p := servetest.Start(t, f.dir, "--no-mfa")
	c := p.Client(f.keys[0])
	defer c.Close()
	for i := range f.sites {
		if _, err := c.Assets(t.Context(), api.ListQuery{SiteID: fleetSite(i), Page: api.Page{Limit: api.MaxLimit}}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.SiteSummary(t.Context(), api.SiteRef{SiteID: fleetSite(i)}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Latest(t.Context(), api.SiteRef{SiteID: fleetSite(i)}); err != nil {
			t.Fatal(err)
		}
	}
	time.Sleep(10 * time.Second)
	u, _ := p.Usage()
	t.Logf("%d units: resident %d MiB", f.sites*f.units, u.RSSBytes>>20)
}
