package feed

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"path"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/engine/simulate"
)

var clockBegin = time.Date(2026, 4, 15, 8, 0, 0, 0, time.UTC)

// The clock runs at its speed while the data follow, slowly when they do not, and at its
// speed again once they are imported.
func TestClockWaitsForData(t *testing.T) {
	for _, c := range []struct {
		speed      float64
		wait       time.Duration // by the wall
		importedAt time.Duration // the data that arrive then, after the start
		ahead      time.Duration // of the start, after the wait
		later      time.Duration // after another second
	}{
		{speed: 60, wait: 15 * time.Second, ahead: 15 * time.Minute, later: 16 * time.Minute},
		{speed: 60, wait: 20 * time.Second, ahead: 20 * time.Minute, later: 20*time.Minute + 3*time.Second},
		{speed: 60, wait: 80 * time.Second, ahead: 23 * time.Minute, later: 23*time.Minute + 3*time.Second},
		{speed: 60, wait: 80 * time.Second, importedAt: 10 * time.Minute, ahead: 23 * time.Minute, later: 24 * time.Minute},
		{speed: 1, wait: 3 * time.Hour, ahead: 3 * time.Hour, later: 3*time.Hour + time.Second},
		{speed: 0.5, wait: 3 * time.Hour, ahead: 90 * time.Minute, later: 90*time.Minute + time.Second/2},
		{speed: 10, wait: 121 * time.Second, ahead: 20*time.Minute + time.Second, later: 20*time.Minute + 2*time.Second},
		{speed: 3600, wait: 21 * time.Second, ahead: 20*time.Hour + 3*time.Minute, later: 20*time.Hour + 6*time.Minute}, // an upload every 4 s is 4 h
	} {
		wall := clockBegin
		clock := NewClock(clockBegin, c.speed, func() time.Time { return wall })
		if clock.Now() != clockBegin || clock.Start() != clockBegin {
			t.Fatalf("it begins at %v", clock.Now())
		}
		wall = wall.Add(c.wait)
		if c.importedAt > 0 {
			clock.Imported(clockBegin.Add(c.importedAt))
			clock.Imported(clockBegin) // a late report of older data changes nothing
		}
		if got := clock.Now().Sub(clockBegin).Round(time.Millisecond); got != c.ahead {
			t.Errorf("×%g: after %v it is %v ahead of its start, not %v", c.speed, c.wait, got, c.ahead)
		}
		wall = wall.Add(time.Second)
		if got := clock.Now().Sub(clockBegin).Round(time.Millisecond); got != c.later {
			t.Errorf("×%g: a second later it is %v ahead of its start, not %v", c.speed, got, c.later)
		}
	}
}

// Whatever the data do, the clock never goes back, stops only with the wall,
// and does not depend on how often it is read.
func TestClockGoesForward(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wall, speed := clockBegin, rapid.Float64Range(0.1, 3600).Draw(t, "speed")
		now := func() time.Time { return wall }
		often, seldom := NewClock(clockBegin, speed, now), NewClock(clockBegin, speed, now)
		for last := clockBegin; rapid.Bool().Draw(t, "more"); {
			step := time.Duration(rapid.IntRange(0, 300).Draw(t, "seconds")) * time.Second
			for range 3 {
				wall = wall.Add(step / 3)
				at := often.Now()
				if at.Before(last) || step > 0 && !at.After(last) {
					t.Fatalf("after %v it goes from %v to %v", step, last, at)
				}
				last = at
			}
			if d := often.Now().Sub(seldom.Now()).Abs(); d > time.Millisecond {
				t.Fatalf("read often it is %v off", d)
			}
			if rapid.Bool().Draw(t, "import") {
				until := clockBegin.Add(time.Duration(rapid.IntRange(0, 600).Draw(t, "minutes")) * time.Minute)
				often.Imported(until)
				seldom.Imported(until)
			}
		}
	})
}

// A wall clock that is set back stops the clock until it has caught up.
func TestClockAfterSetBack(t *testing.T) {
	wall := clockBegin
	clock := NewClock(clockBegin, 60, func() time.Time { return wall })
	for _, c := range []struct{ wall, want time.Duration }{{10 * time.Second, 10 * time.Minute}, {-time.Hour, 10 * time.Minute}, {11 * time.Second, 11 * time.Minute}} {
		wall = clockBegin.Add(c.wall)
		if got := clock.Now().Sub(clockBegin); got != c.want {
			t.Errorf("at %v of the wall it is %v, not %v", c.wall, got, c.want)
		}
	}
}

// slowService accepts uploads and imports each one some time after it was sent.
type slowService struct {
	mu    sync.Mutex
	takes time.Duration
	due   []time.Time // of each upload
}

func (s *slowService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodPost {
		_, _ = io.Copy(io.Discard, r.Body)
		s.due = append(s.due, time.Now().Add(s.takes))
		_ = json.NewEncoder(w).Encode(api.UploadAck{Status: "success", UploadID: strconv.Itoa(len(s.due) - 1)})
		return
	}
	n, err := strconv.Atoi(path.Base(r.URL.Path))
	if err != nil || n >= len(s.due) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	u := api.Upload{UploadID: path.Base(r.URL.Path), ProcessingStatus: api.UploadQueued}
	if !time.Now().Before(s.due[n]) {
		u.ProcessingStatus = api.UploadCompleted
	}
	_ = json.NewEncoder(w).Encode(api.UploadResponse{Success: true, Upload: u})
}

// A service that imports slowly does not fall behind the plants' clock: the clock waits, and
// runs at its speed again when the service is fast again.
func TestClockWaitsForSlowImporter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := simulate.Demo(1, clockBegin.AddDate(0, 0, -2), clockBegin)
		service := &slowService{takes: time.Minute} // 60 minutes of the plants
		clock := NewClock(clockBegin, 60, time.Now)
		p := Player{
			Client: client.New(client.Options{Transport: client.InProcess(service), Now: time.Now}), Fleet: fleet, Clock: clock,
			Step: 5 * time.Minute, Log: slog.New(slog.DiscardHandler), Sent: func(time.Time) {},
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Live(ctx) }()
		lead := func() time.Duration {
			now := clock.Now()
			clock.mu.Lock()
			defer clock.mu.Unlock()
			return now.Sub(clock.data)
		}
		run := func(wall time.Duration) (most, passed time.Duration) {
			begun := clock.Now()
			for range wall / time.Second {
				time.Sleep(time.Second)
				most = max(most, lead())
			}
			return most, clock.Now().Sub(begun)
		}
		if most, passed := run(10 * time.Minute); most > 30*time.Minute || passed < 20*time.Minute {
			t.Errorf("with a slow service the clock is up to %v ahead of the data, and advances by %v in 10 min", most, passed)
		}
		service.mu.Lock()
		service.takes = 0
		service.mu.Unlock()
		run(2 * time.Minute)
		if most, passed := run(10 * time.Minute); most > 20*time.Minute || passed != 10*time.Hour {
			t.Errorf("with a fast service the clock is up to %v ahead of the data, and advances by %v in 10 min", most, passed)
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// The clock does not wait for a site whose uploads are refused, because it was removed, for
// example.
func TestClockWithRefusedSite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := simulate.Demo(1, clockBegin.AddDate(0, 0, -2), clockBegin)
		clock := NewClock(clockBegin, 60, time.Now)
		refusing := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict) })
		p := Player{
			Client: client.New(client.Options{Transport: client.InProcess(refusing), Now: time.Now}), Fleet: fleet, Clock: clock,
			Step: 5 * time.Minute, Log: slog.New(slog.DiscardHandler),
			Sent: func(until time.Time) {
				if until.After(clockBegin) {
					t.Errorf("refused samples before %v count as sent", until)
				}
			},
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		if err := p.Live(ctx); err != nil {
			t.Error(err)
		}
		if passed := clock.Now().Sub(clockBegin); passed != 10*time.Hour {
			t.Errorf("the clock advances by %v in 10 min", passed)
		}
	})
}
