package partner

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

func (p *plant) changed(siteID string) {
	p.t.Helper()
	if err := p.store.Update(p.t.Context(), func(tx store.Tx) error { return p.Changed(tx, siteID) }); err != nil {
		p.t.Fatal(err)
	}
}

func (p *plant) marked() (n int) {
	p.t.Helper()
	if err := p.store.View(p.t.Context(), func(tx store.Tx) error {
		list, _, err := marks.List(tx, store.Query{})
		n = len(list)
		return err
	}); err != nil {
		p.t.Fatal(err)
	}
	return n
}

// Marked schedules are made again, and no others; one that changes while it is
// made is made again.
func TestRefreshMakesWhatChanged(t *testing.T) {
	p := newPlant(t, api.Site{})
	tasks := func() (n int, at api.Time) {
		t.Helper()
		doc, err := p.Snapshot(t.Context(), south, api.SnapshotSchedule)
		if errors.Is(err, api.ErrNotFound) {
			return -1, at
		}
		var s api.MaintenanceSchedule
		if err != nil || json.Unmarshal(doc, &s) != nil {
			t.Fatal(err, string(doc))
		}
		return s.Summary.TotalTasks, s.GeneratedAt
	}
	refresh := func() {
		t.Helper()
		if err := p.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	plan := func(in int) {
		p.plans.list = append(p.plans.list, api.Schedule{ScheduleID: "sch", AssetID: "INV-1", SiteID: south, MaintenanceType: api.MaintenancePreventive, Status: api.SchedulePending,
			ScheduledDate: api.At(p.clock.AddDate(0, 0, in))})
	}
	plan(1)
	refresh()
	if n, _ := tasks(); n != -1 {
		t.Errorf("made without a mark: %d tasks", n)
	}
	p.changed(south)
	refresh()
	if n, at := tasks(); n != 1 || !at.Equal(p.clock) || p.marked() != 0 {
		t.Errorf("%d tasks, %d marks", n, p.marked())
	}
	if _, err := p.Snapshot(t.Context(), south, api.SnapshotSignals); !errors.Is(err, api.ErrNotFound) {
		t.Errorf("the signals were made too: %v", err)
	}
	first := p.clock
	p.clock = p.clock.Add(time.Minute)
	refresh()
	if _, at := tasks(); !at.Equal(first) {
		t.Error("made again although nothing changed")
	}
	p.changed(south)
	p.plans.meanwhile = func() { p.plans.meanwhile = nil; plan(3); p.changed(south) }
	refresh()
	if n, _ := tasks(); n != 2 || p.marked() != 0 {
		t.Errorf("a change meanwhile: %d tasks, %d marks", n, p.marked())
	}
	p.plans.list = p.plans.list[:1]
	p.changed("Nowhere")
	p.changed(south)
	plan(2)
	refresh()
	if n, _ := tasks(); n != 2 || p.marked() != 0 {
		t.Errorf("%d tasks, %d marks", n, p.marked())
	}
	p.plans.broken = errors.New("disk on fire")
	p.changed(south)
	if err := p.Refresh(t.Context()); !errors.Is(err, p.plans.broken) || p.marked() != 1 {
		t.Errorf("what failed: %v, %d marks", err, p.marked())
	}
}

// TestOldListIsNotStoredLast: of two replicas that make a site's schedule, the
// one that listed the plan before a change does not store it after the other
// has stored the change.
func TestOldListIsNotStoredLast(t *testing.T) {
	p := newPlant(t, api.Site{})
	other := &Service{p.Config}
	for name, make := range map[string]func() error{
		"refresh": func() error { p.changed(south); return p.Refresh(t.Context()) },
		"make":    func() error { return p.Make(t.Context(), south, p.clock) },
	} {
		t.Run(name, func(t *testing.T) {
			p.plans.list = nil
			p.plans.meanwhile = func() {
				p.plans.meanwhile = nil
				p.plans.list = []api.Schedule{{ScheduleID: "sch", AssetID: "INV-1", SiteID: south, MaintenanceType: api.MaintenancePreventive, Status: api.SchedulePending, ScheduledDate: api.At(p.clock.AddDate(0, 0, 1))}}
				p.changed(south)
				if err := other.Refresh(t.Context()); err != nil {
					t.Error(err)
				}
			}
			if err := make(); err != nil {
				t.Fatal(err)
			}
			doc, err := p.Snapshot(t.Context(), south, api.SnapshotSchedule)
			if err != nil {
				t.Fatal(err)
			}
			var s api.MaintenanceSchedule
			if err := json.Unmarshal(doc, &s); err != nil || s.Summary.TotalTasks != 1 || p.marked() != 0 {
				t.Errorf("%d tasks, %d marks, %v", s.Summary.TotalTasks, p.marked(), err)
			}
		})
	}
}
