package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/engine/simulate"
	"app.sunloop/tui"
)

// DemoCmd is the console on a simulated fleet.
type DemoCmd struct {
	ConsoleFlags
	Seed     uint64  `default:"1" help:"Which fleet, weather and faults."`
	Speed    float64 `default:"60" help:"How many times faster than the wall the plants' clock runs."`
	Keep     string  `name:"keep" placeholder:"DIR" help:"Keep the demo's data in DIR and go on from there next time." type:"path"`
	Headless bool    `help:"The service alone, without a console."`
	Listen   string  `default:"127.0.0.1:8080" help:"Address of the service with --headless."`
}

// The demo's history and live samples.
const (
	demoHistory     = 365 * 24 * time.Hour
	demoHistoryStep = 15 * time.Minute
	demoLiveStep    = 5 * time.Minute
	demoStartHour   = 10 // local time of the first site at which the plants' clock starts
	demoUser        = "operator"
)

// demoState is what a kept demo must know to go on.
type demoState struct {
	Seed     uint64    `json:"seed"`
	Start    time.Time `json:"start"` // of the history
	Begin    time.Time `json:"begin"` // of the live stream, first time
	Clock    time.Time `json:"clock"` // up to which the service has everything
	Fed      bool      `json:"fed"`   // the history is uploaded
	Password string    `json:"password"`
}

// Run plays the demo until the person leaves.
func (c *DemoCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if !(c.Speed > 0) || c.Speed > 3600 {
		return fmt.Errorf("--speed is a number above 0 and up to 3600, not %g", c.Speed)
	}
	dir := c.Keep
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "sunloop-demo-"); err != nil {
			return fmt.Errorf("make a folder for the demo: %w", err)
		}
		defer os.RemoveAll(dir)
	}
	g.Data = dir
	state, resume, err := c.state(dir)
	if err != nil {
		return err
	}
	clock := simClock{start: state.Clock, wall: time.Now(), speed: c.Speed, now: time.Now}
	log, lines := g.headlessLog(std.err), (*tail)(nil)
	if !c.Headless {
		var closeLog func() error
		if log, lines, closeLog, err = g.consoleLog(dir); err != nil {
			return fmt.Errorf("open the log: %w", err)
		}
		defer closeLog()
	}
	service, err := backend.New(backend.Config{
		DataDir: dir, Now: clock.Now, Wall: time.Now, Logger: log,
		// The plants' clock runs fast: by the wall, a forecast a minute and a detection each few samples are plenty.
		Settle: 2 * time.Second,
	})
	if err != nil {
		return openFailed(dir, err)
	}
	return withService(ctx, service, func(ctx context.Context) error { return c.play(ctx, g, std, service, state, resume, clock, log, lines) })
}

// play feeds the service and shows the console, or serves.
func (c *DemoCmd) play(ctx context.Context, g *Globals, std streams, service *backend.Service, state demoState, resume bool, clock simClock, log *slog.Logger, lines *tail) error {
	transport := client.InProcess(service.Handler())
	if !resume {
		_, err := service.Auth().CreateUser(ctx, auth.NewUser{Username: demoUser, Password: state.Password, Role: api.RoleAdmin})
		if err != nil {
			return fmt.Errorf("make the demo's user: %w", err)
		}
	}
	feeder := client.New(client.Options{Transport: transport, Now: time.Now})
	login, err := feeder.Login(ctx, demoUser, state.Password)
	if err != nil {
		return fmt.Errorf("sign the demo in: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	f := feed{
		client: feeder, fleet: simulate.Demo(state.Seed, state.Start, state.Begin), clock: clock,
		history: demoHistoryStep, step: demoLiveStep, log: log,
	}
	left := state // the feed's own copy
	f.sent = func(until time.Time) {
		left.Clock, left.Fed = until, true
		if err := left.save(g.Data); err != nil {
			log.Warn("keep the demo's place", "error", err)
		}
	}
	fed := make(chan error, 1)
	go func() {
		err := f.run(ctx, state.Fed)
		if err != nil && ctx.Err() == nil {
			log.Error("the demo's feed ended", "error", err)
			if c.Headless {
				cancel()
			}
		}
		fed <- err
	}()
	if c.Headless {
		err = c.serve(ctx, g, std, service, state)
	} else {
		o := client.Options{Transport: transport, Credential: login.Token, Now: time.Now}
		var options tui.Options
		if options, err = c.options(g, std, log, lines, nil, &o); err == nil {
			options.Source, options.User = fmt.Sprintf("demo ×%g", c.Speed), login.User
			err = tui.Run(ctx, options)
		}
	}
	cancel()
	if feedErr := <-fed; c.Headless && feedErr != nil && !errors.Is(feedErr, context.Canceled) {
		err = errors.Join(err, feedErr)
	}
	return err
}

// serve is the demo without a console: how to reach it is printed.
func (c *DemoCmd) serve(ctx context.Context, g *Globals, std streams, service *backend.Service, state demoState) error {
	key, _, err := service.Auth().CreateKey(ctx, auth.NewKey{Name: "demo", Role: api.RoleOperator, Customers: []string{api.Every}, Sites: []string{api.Every}, CreatedBy: demoUser})
	if err != nil {
		return fmt.Errorf("make the demo's API key: %w", err)
	}
	return listen(ctx, service.Handler(), c.Listen, "", "", func(address string) {
		fmt.Fprintf(std.out, "address   http://%s\nAPI key   %s\nuser      %s\npassword  %s\n", address, key, demoUser, state.Password)
	})
}

// state is the kept demo's, or a new one.
func (c *DemoCmd) state(dir string) (s demoState, resume bool, err error) {
	b, err := os.ReadFile(filepath.Join(dir, "demo.json"))
	if err == nil {
		if err := json.Unmarshal(b, &s); err != nil {
			return s, false, fmt.Errorf("%s: %w", filepath.Join(dir, "demo.json"), err)
		}
		return s, true, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return s, false, err
	}
	// The plants' day begins in working hours of the first site, whatever the
	// hour here: an empty night shows nothing.
	first := simulate.Demo(c.Seed, time.Now(), time.Now()).Sites[0]
	y, m, d := time.Now().In(first.Zone).Date()
	begin := time.Date(y, m, d, demoStartHour, 0, 0, 0, first.Zone).UTC()
	s = demoState{Seed: c.Seed, Start: begin.Add(-demoHistory), Begin: begin, Clock: begin, Password: rand.Text()}
	return s, false, s.save(dir)
}

func (s demoState) save(dir string) error {
	b, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := writePrivate(filepath.Join(dir, "demo.json"), b); err != nil {
		return fmt.Errorf("keep the demo's state: %w", err)
	}
	return nil
}
