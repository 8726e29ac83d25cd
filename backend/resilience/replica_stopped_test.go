//go:build !windows

package resilience

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"app.sunloop/backend/api"
	"app.sunloop/backend/servetest"
)

// long is a history of a site's one inverter that takes a moment to learn from.
func long(asset string, seed int) string {
	var b strings.Builder
	b.WriteString("timestamp,asset_id,power_kw\n")
	today := time.Now().UTC().Truncate(24 * time.Hour)
	for day := -400; day < 0; day++ {
		for i := range rowsADay {
			fmt.Fprintf(&b, "%s,%s,%.2f\n", today.AddDate(0, 0, day).Add(time.Duration(i)*30*time.Minute).Format(time.RFC3339), asset, 3*rowPowerKW(seed+day*day, i))
		}
	}
	return b.String()
}

// runs says whether a site's job of a kind is in a replica's hands.
func (c *cluster) runs(kind, site string) (running bool) {
	c.t.Helper()
	db, err := pgx.Connect(c.t.Context(), c.primary.URL(c.database))
	if err != nil {
		c.t.Fatal(err)
	}
	defer db.Close(context.Background())
	err = db.QueryRow(c.t.Context(), `SELECT EXISTS (SELECT FROM sunloop.river_job WHERE state = 'running' AND kind = $1 AND args::text LIKE '%' || $2 || '%')`, kind, site).Scan(&running)
	if err != nil {
		c.t.Fatal(err)
	}
	return running
}

// stopped: a replica that is paused in the middle of a job until others have
// taken the job over and done it, and is then resumed, has no further effect.
func (c *cluster) stopped(t *testing.T, times int) {
	stages := []string{"training", "detecting"}
	for seed, stage := range stages[:min(times, len(stages))] {
		site := "Still-" + stage
		for i := 1; i < replicas; i++ {
			c.kill(i) // so that it is known who has the job
		}
		c.await(1)
		sole := c.replica(0)
		root, asker := at(sole.URL, c.askers...), at(sole.URL, c.askers...)
		newSite(t, root.Client, tenant, site, site+"-1")
		ack, err := root.UploadTrain(t.Context(), api.UploadRequest{CustomerID: tenant, SiteID: site, Region: "eu", Location: "48.2,16.4", Timezone: "UTC", CapacityKW: 100}, strings.NewReader(long(site+"-1", seed)), nil)
		if err != nil {
			t.Fatal(err)
		}
		missed := false
		for late := time.Now().Add(2 * servetest.ReadyWithin); ; time.Sleep(time.Millisecond) {
			u, err := asker.Upload(t.Context(), ack.UploadID)
			if missed = err == nil && u.Ended() && stage == "detecting"; missed {
				break // it takes some milliseconds
			}
			if err != nil || u.Ended() || time.Now().After(late) {
				t.Fatalf("the upload was never seen %s: %+v, %v", stage, u, err)
			}
			if u.Stage == stage && (stage == "detecting" || c.runs("train", site)) {
				break
			}
		}
		if missed {
			t.Logf("%s was over before it was seen", stage)
			for i := 1; i < replicas; i++ {
				c.start(i)
			}
			continue
		}
		if err := sole.Cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		still := time.Now()
		root.Close()
		asker.Close()
		for i := 1; i < replicas; i++ {
			c.start(i)
		}
		c.await(replicas - 1)
		other := at(c.replica(1).URL, c.askers...)
		defer other.Close()
		for late := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
			u, err := other.Upload(t.Context(), ack.UploadID)
			if err != nil || time.Now().After(late) {
				t.Fatalf("the upload was not taken over: %+v, %v\n%s", u, err, c.logs())
			}
			if u.Ended() {
				if u.ProcessingStatus != api.UploadCompleted {
					t.Errorf("the upload is %s: %v", u.ProcessingStatus, u.Warnings)
				}
				break
			}
		}
		t.Logf("%s was taken over and done %s after its replica had stopped", stage, time.Since(still).Round(time.Second))
		if err := sole.Cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		c.await(replicas)
		// It continues its work, and finds at the end, or before, that the job is
		// another's. Nothing signals when.
		time.Sleep(15 * time.Second)
		if status, err := sole.Stop(); status != 0 || err != nil {
			t.Errorf("the replica that had stopped ended with %d, %v:\n%s", status, err, sole.Log())
		}
		c.gone(sole)
		c.start(0)
		list, err := other.Models(t.Context(), api.ListQuery{CustomerID: tenant, SiteID: site})
		if err != nil {
			t.Fatal(err)
		}
		trained := 0
		for _, m := range list.ModelMetrics {
			if m.ModelType == api.ModelForecasting {
				trained++
			}
		}
		if trained != 1 {
			t.Errorf("stopped at %s, the site has %d models of the same data: %+v", stage, trained, list.ModelMetrics)
		}
	}
}
