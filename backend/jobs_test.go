package backend

import (
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/admin"
	"app.sunloop/backend/admin/socket"
	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// TestRetryDeadJob lets a job fail, finds it through the administrative socket
// and retries it: it fails again, since no code runs its kind.
func TestRetryDeadJob(t *testing.T) {
	h := open(t, Config{DataDir: t.TempDir(), Now: time.Now})
	err := h.service.opened.Load().records.Update(t.Context(), func(tx store.Tx) error {
		return tx.Enqueue(store.Job{Kind: "unheard", Unique: "roof", MaxAttempts: 1})
	})
	if err != nil {
		t.Fatal(err)
	}
	dead := func(after time.Time) socket.DeadJob {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			jobs, err := socket.JobsOf(t.Context(), h.cfg.DataDir)
			if err == nil && jobs.Dead == 1 && len(jobs.DeadJobs) == 1 && jobs.DeadJobs[0].DiedAt.After(after) {
				return jobs.DeadJobs[0]
			}
		}
		t.Fatal("the job does not die")
		return socket.DeadJob{}
	}
	first := dead(time.Time{})
	if first.Kind != "unheard" || first.About != "roof" || first.Attempts != 1 || !strings.Contains(first.Cause, `no handler for jobs of kind "unheard"`) {
		t.Errorf("dead: %+v", first)
	}
	if err := socket.RetryJob(t.Context(), h.cfg.DataDir, first.ID); err != nil {
		t.Fatal(err)
	}
	if again := dead(first.DiedAt); again.ID != first.ID {
		t.Errorf("revived as %s, not as %s", again.ID, first.ID)
	}
	if err := socket.RetryJob(t.Context(), h.cfg.DataDir, "job_none"); err == nil || !strings.Contains(err.Error(), `no dead job has the id "job_none"`) {
		t.Errorf("an unknown job: %v", err)
	}
	list, _, err := h.service.Trail().List(t.Context(), api.Unlimited("test"), api.AuditQuery{Actor: admin.Actor, Page: api.Page{Limit: 10}})
	if err != nil || len(list) != 2 || list[0].Status != 404 || list[1].Status != 200 || list[1].Route != admin.JobRoute || list[1].TargetIDs["job_id"] != first.ID {
		t.Errorf("trail %+v, %v", list, err)
	}
}
