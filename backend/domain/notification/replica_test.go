//go:build !gateway

package notification_test

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/notification"
	"app.sunloop/backend/notify"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/postgres"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Main(m).Run()) }

// openDatabase connects to a database as a replica does.
func openDatabase(t *testing.T, url string, now func() time.Time) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, postgres.Options{Now: now, Lease: 3 * time.Second, Enqueue: func(context.Context, pgx.Tx, store.Job) error { return nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// onStorages runs a test over a file, and over PostgreSQL where that is installed.
func onStorages(t *testing.T, test func(t *testing.T, d *desk)) {
	t.Run("file", func(t *testing.T) { test(t, newDesk(t)) })
	t.Run("database", func(t *testing.T) {
		url := pgtest.Database(t)
		test(t, newDeskOn(domaintest.NewOn(t, func(now func() time.Time) (store.Records, store.Telemetry) {
			s := openDatabase(t, url, now)
			return s, s
		})))
	})
}

// TestReplicas has two replicas over one database raise alarms, plan and send. The first
// one ends half-way. Each alarm is one message, whichever replica raised it.
func TestReplicas(t *testing.T) {
	url := pgtest.Database(t)
	r := new(receiver)
	type replica struct {
		*desk
		stop func()
	}
	var replicas []*replica
	for range 2 {
		var cluster store.Cluster
		d := &desk{Fixture: domaintest.NewOn(t, func(now func() time.Time) (store.Records, store.Telemetry) {
			s := openDatabase(t, url, now)
			cluster = s
			return s, s
		}), receiver: r}
		var err error
		d.service, err = notification.New(notification.Config{Records: d.Records, Cluster: cluster, Domain: d.Services, Wall: time.Now, Sender: r, Sealer: auth.Key{7}, Key: []byte("a key of the test"), Shared: true})
		if err != nil {
			t.Fatal(err)
		}
		replicas = append(replicas, &replica{desk: d})
	}
	const sites = 12
	c := onePerson()
	c.People[0].Limit = 1000
	replicas[0].apply(c)
	var all []api.Site
	for n := range sites {
		all = append(all, replicas[0].AddSite(fmt.Sprintf("Site %d", n), "acme"))
	}
	for _, one := range replicas {
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { one.service.Run(ctx) })
		one.stop = func() { cancel(); running.Wait() }
		defer one.stop()
	}
	raise := func(by *replica, s api.Site) {
		by.Update(func(tx store.Tx) error {
			_, err := by.Detections.RecordRun(tx, finding.Run{Site: s, ModelVersion: "rules", From: by.Clock.Add(-30 * 24 * time.Hour), Now: by.Clock, Units: []string{"INV-1"},
				Events: []finding.Event{domaintest.Outage("INV-1", by.Clock.Add(-time.Hour), by.Clock)}})
			return err
		})
	}
	// received waits until so many messages were received and none waits.
	received := func(n int) {
		t.Helper()
		for late := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
			r.mu.Lock()
			got := len(r.got)
			r.mu.Unlock()
			waiting, err := replicas[1].service.Status(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if got >= n && waiting.Waiting == 0 && waiting.OldestEvent.IsZero() {
				return
			}
			if time.Now().After(late) {
				t.Fatalf("%d of %d messages, %+v", got, n, waiting)
			}
		}
	}
	for n, s := range all[:sites/2] {
		raise(replicas[n%2], s)
	}
	received(sites / 2)
	replicas[0].stop()
	for _, s := range all[sites/2:] {
		raise(replicas[1], s)
	}
	received(sites)
	replicas[1].stop()
	sent, alarms := map[string]int{}, map[string]int{}
	for _, m := range r.got {
		sent[m.ID]++
		for _, id := range m.AlertIDs {
			alarms[id]++
		}
		if m.Kind != notify.KindRaised {
			t.Errorf("a message of kind %s", m.Kind)
		}
	}
	if len(r.got) != sites || len(sent) != sites || len(alarms) != sites {
		t.Errorf("%d messages with %d ids about %d alarms, want %d of each", len(r.got), len(sent), len(alarms), sites)
	}
}
