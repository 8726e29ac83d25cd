//go:build !windows

package resilience

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/backend/notify"
	"app.sunloop/backend/servetest"
	"app.sunloop/internal/longtest"
)

// notifyKills is the variable for how often the service is killed in
// TestNotificationsOverKills; `make notify-kills` does it 500 times.
const notifyKills = "SUNLOOP_TEST_NOTIFY_KILLS"

// Figures of the plants of the test. A unit stops with each file, so that no more than a
// third of a site is down: more would be an outage of the site.
const (
	notifyUnits    = 12
	notifyStops    = 4                // of a site
	notifyHistory  = 12               // days before the first stop
	phaseWithin    = 15 * time.Second // of a round, until the service does what it is killed at
	notifyChannels = 4                // each of which gets every message
)

// alarmReceiver takes messages of a webhook, and refuses 15 % of them.
type alarmReceiver struct {
	*httptest.Server
	mu      sync.Mutex
	dice    *rand.Rand
	got     []acceptedMessage // in order
	refused int
}

// acceptedMessage is a message with the channel by which it came.
type acceptedMessage struct {
	notify.Message
	channel string
}

func newAlarmReceiver(seed uint64) *alarmReceiver {
	r := &alarmReceiver{dice: rand.New(rand.NewPCG(seed, 15))}
	r.Server = httptest.NewServer(http.HandlerFunc(r.take))
	return r
}

func (r *alarmReceiver) take(w http.ResponseWriter, q *http.Request) {
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return // the sender was killed: nothing has arrived
	}
	var event struct{ Data notify.Message }
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := json.Unmarshal(body, &event); err != nil || r.dice.Float64() < 0.15 {
		r.refused++
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	r.got = append(r.got, acceptedMessage{event.Data, q.URL.Path})
}

// calls is how many messages came.
func (r *alarmReceiver) calls() int { return len(r.got) + r.refused }

// messages are the accepted ones, in order.
func (r *alarmReceiver) messages() []acceptedMessage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// notifySite is the CSV of the days of a site from one on, in which the first units are
// down since a day each.
func notifySite(first, last, stopped int) string {
	var b strings.Builder
	b.WriteString("timestamp,asset_id,power_kw\n")
	begin := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -40)
	for day := first; day <= last; day++ {
		for i := range rowsADay {
			at := begin.AddDate(0, 0, day).Add(time.Duration(i) * 30 * time.Minute).Format(time.RFC3339)
			for unit := range notifyUnits {
				kw := 3 * rowPowerKW(0, i) * (1 + float64(unit)/100)
				if unit < stopped {
					kw = 0
				}
				fmt.Fprintf(&b, "%s,U-%02d,%.2f\n", at, unit, kw)
			}
		}
	}
	return b.String()
}

// However often the service is killed, each alarm is announced, though the receiver
// refuses 15 % of the messages, and the messages of an incident arrive in order.
func TestNotificationsOverKills(t *testing.T) {
	longtest.Mark(t)
	kills := fromEnv(t, notifyKills, 3)
	stops := min(max(kills/10, 1), notifyStops) // of a site
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	place := newAlarmReceiver(seed)
	defer place.Close()
	dir := filepath.Join(t.TempDir(), "data")
	root, _, _ := strings.Cut(servetest.Admin(t, dir, "", "key", "create", "root", "--role", "role_admin", "--customers", "*", "--rate", "0"), "\n")
	p := servetest.Start(t, dir, killFlags...)
	c := visitorAt(p.URL, root)
	config := api.NotificationConfig{Routes: []api.NotificationRoute{{RouteID: "all", Priority: api.AlertNormal, UrgentFrom: api.AlertNormal, RepeatMinutes: -1, Steps: []api.NotificationStep{{}}}}}
	for n := range notifyChannels {
		id := fmt.Sprint("hook-", n)
		config.Channels = append(config.Channels, api.NotificationChannel{ChannelID: id, Kind: notify.ChannelWebhook, URL: place.URL + "/" + id, Secret: "whsec_c2VjcmV0", Limit: 1000})
		config.Routes[0].Steps[0].To = append(config.Routes[0].Steps[0].To, "channel:"+id)
	}
	if _, err := client.Call(t.Context(), c.Client, api.ApplyNotificationConfig, api.NotificationsRequest{CustomerID: tenant, Configuration: &config}); err != nil {
		t.Fatal(err)
	}
	var uploads []string
	raised, killed := map[string]bool{}, 0
	known := func(c visitor, first int) { // alarms of sites from the first on that a client has seen unacknowledged
		for site := max(first, 0); site*stops <= killed; site++ {
			list, err := c.Alerts(t.Context(), api.ListQuery{CustomerID: tenant, SiteID: fmt.Sprint("N-", site), Page: api.Page{Limit: api.MaxLimit}}, api.AlertUnacknowledged)
			if err != nil {
				continue // the site does not exist yet, or the service is being killed
			}
			for _, a := range list.Alerts {
				raised[a.AlertID] = true
			}
		}
	}
	// upload sends a file until it is acknowledged, and waits until it is imported.
	upload := func(c visitor, site, csv string) {
		for late := time.Now().Add(2 * servetest.ReadyWithin); ; {
			ack, err := c.UploadTrain(t.Context(), api.UploadRequest{CustomerID: tenant, SiteID: site, Region: "eu", Location: "48.2,16.4", Timezone: "UTC", CapacityKW: 50 * notifyUnits}, strings.NewReader(csv), nil)
			if err == nil {
				uploads = append(uploads, ack.UploadID)
				return
			}
			if time.Now().After(late) {
				t.Fatalf("upload: %v\n%s", err, p.Log())
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	ended := func(c visitor) bool {
		for _, id := range uploads {
			u, err := c.Upload(t.Context(), id)
			if err != nil || !u.Ended() {
				return false
			}
		}
		uploads = nil
		return true
	}
	begun := time.Now()
	for killed < kills {
		site, stop := killed/stops, killed%stops+1
		name := fmt.Sprint("N-", site)
		if stop == 1 {
			upload(c, name, notifySite(0, notifyHistory-1, 0))
		}
		upload(c, name, notifySite(notifyHistory+stop-1, notifyHistory+stop-1, stop))
		// It is killed while it imports, or detects, or plans, or sends.
		place.mu.Lock()
		calls := place.calls()
		place.mu.Unlock()
		phase := func(holds func() bool) {
			for late := time.Now().Add(phaseWithin); !holds() && time.Now().Before(late); time.Sleep(10 * time.Millisecond) {
			}
		}
		switch dice.IntN(4) {
		case 0:
			time.Sleep(time.Duration(dice.IntN(1000)) * time.Millisecond)
		case 1:
			phase(func() bool { return ended(c) })
			time.Sleep(time.Duration(dice.IntN(400)) * time.Millisecond)
		default:
			phase(func() bool {
				place.mu.Lock()
				defer place.mu.Unlock()
				return place.calls() > calls
			})
			time.Sleep(time.Duration(dice.IntN(60)) * time.Millisecond)
		}
		known(c, killed/stops-1)
		c.Close()
		p.Kill()
		killed++
		if strings.Contains(p.Log(), "panic") {
			t.Fatalf("it panicked:\n%s", p.Log())
		}
		p = servetest.Start(t, dir, killFlags...)
		c = visitorAt(p.URL, root)
	}
	took := time.Since(begun)
	sites := (kills + stops - 1) / stops
	// wait waits until a condition holds, with time for retries and delayed updates.
	wait := func(what string, holds func() bool) {
		t.Helper()
		for late := time.Now().Add(10 * time.Minute); !holds(); time.Sleep(time.Second) {
			if time.Now().After(late) {
				t.Errorf("%s: it did not happen\n%s", what, p.Log())
				return
			}
		}
	}
	idle := func() bool {
		for _, status := range []string{"pending", "held"} {
			list, err := client.Call(t.Context(), c.Client, api.ListNotifications, api.NotificationsRequest{CustomerID: tenant, Status: status, Page: api.Page{Limit: 1}})
			if err != nil || len(list.Deliveries) > 0 {
				return false
			}
		}
		return true
	}
	// announced returns by how many channels each alarm was announced.
	announced := func() map[string]int {
		by := map[string]map[string]bool{}
		for _, m := range place.messages() {
			for _, id := range m.AlertIDs {
				if by[id] == nil {
					by[id] = map[string]bool{}
				}
				by[id][m.channel] = true
			}
		}
		n := map[string]int{}
		for id, channels := range by {
			n[id] = len(channels)
		}
		return n
	}
	wait("all files imported", func() bool { return ended(c) })
	known(c, 0)
	wait("all alarms announced", func() bool {
		is := announced()
		for id := range raised {
			if is[id] < notifyChannels {
				return false
			}
		}
		return idle()
	})
	for site := range sites { // all units run again
		upload(c, fmt.Sprint("N-", site), notifySite(notifyHistory+stops, notifyHistory+stops+1, 0))
	}
	wait("all files imported", func() bool { return ended(c) })
	ending := func() map[string]bool {
		threads := map[string]bool{}
		for _, m := range place.messages() {
			queue := m.channel + " " + m.Thread
			threads[queue] = threads[queue] || m.Kind == notify.KindAllClear
		}
		return threads
	}
	wait("an all-clear of each incident", func() bool {
		for _, over := range ending() {
			if !over {
				return false
			}
		}
		return idle()
	})
	c.Close()
	p.Kill()
	if len(raised) < (kills+1)/2 {
		t.Errorf("only %d alarms were raised", len(raised))
	}
	is, missed := announced(), 0
	for id := range raised {
		if is[id] < notifyChannels {
			missed++
			t.Errorf("alarm %s was announced by %d of %d channels", id, is[id], notifyChannels)
		}
	}
	last, first, again, disordered := map[string]time.Time{}, map[string]bool{}, 0, 0
	for _, m := range place.messages() {
		if first[m.ID] {
			again++
			continue
		}
		first[m.ID] = true
		queue := m.channel + " " + m.Thread
		if m.At.Before(last[queue]) {
			disordered++
			t.Errorf("incident %s: %s planned at %s came after one of %s", m.Thread, m.Kind, m.At, last[queue])
		}
		last[queue] = m.At
	}
	t.Logf("%d kills in %s; %d alarms, %d missed, %d messages out of order in %d queues; %d messages accepted, %d of them repeated, %d refused",
		kills, took.Round(time.Second), len(raised), missed, disordered, len(last), len(place.messages()), again, place.refused)
	checkFolder(t, dir)
}
