package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/alecthomas/kong"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/backend/feed"
	"app.sunloop/backend/regularfile"
	"app.sunloop/engine/simulate"
	"app.sunloop/tui"
)

// DemoCmd is the console on a simulated fleet.
type DemoCmd struct {
	ConsoleFlags
	Seed     uint64  `default:"1" help:"Seed of the fleet, its weather and faults."`
	Speed    float64 `default:"60" help:"Speed of the plants' clock as a multiple of real time."`
	Headless bool    `help:"Run only the service, without a console."`
	kept     bool    // its data are there at the next start
	alone    bool    // without a crew
	WorkFlags
	OutsideFlags
	ListenFlags
	WatchFlags
}

// The demo's history and live samples.
const (
	demoHistoryStep = 15 * time.Minute
	demoLiveStep    = 5 * time.Minute
	demoLook        = 5 * time.Second // of the crew for findings
	demoStartHour   = 10              // local time of the first site at which the plants' clock starts
	demoUser        = "operator"
	demoDispatcher  = "dispatcher"
	demoSimulator   = "simulator" // uploads what the simulated plants report
)

// demoRates are ZAR for one unit of the fleet's other currencies, roughly.
var demoRates = map[string]float64{"EUR": 20, "USD": 18}

// demoState is what a kept demo must know to continue.
type demoState struct {
	Seed     uint64    `json:"seed"`
	Start    time.Time `json:"start"` // of the history
	Begin    time.Time `json:"begin"` // of the live stream, first time
	Clock    time.Time `json:"clock"` // up to which the service has everything
	Fed      bool      `json:"fed"`   // the history is uploaded
	Password string    `json:"password"`
}

// Run plays the demo until the person leaves.
func (c *DemoCmd) Run(ctx context.Context, k *kong.Context, g *Globals, std streams) error {
	if !(c.Speed > 0) || c.Speed > 3600 {
		return fmt.Errorf("--speed is a number above 0 and up to 3600, not %g", c.Speed)
	}
	if _, err := c.ListenFlags.check(); err != nil {
		return err
	}
	if namesStore(k) {
		return errDemoStore
	}
	g.command, g.given = "demo", givenFlags(k)
	if !c.Headless {
		c.plainIfDumb(std, os.Getenv)
		if err := c.checkRecord(); err != nil {
			return err
		}
	}
	if !c.Headless && !c.Plain {
		if _, err := needTerminal(std); err != nil {
			return err
		}
	}
	dir := keptDemo(k)
	if c.kept = dir != ""; !c.kept {
		var err error
		if dir, err = os.MkdirTemp("", "sunloop-demo-"); err != nil {
			return fmt.Errorf("make a folder for the demo: %w", err)
		}
		defer os.RemoveAll(dir)
	}
	return c.open(ctx, g, std, dir, c.console)
}

// keptDemo is the folder named by --data on the command line, empty without
// one: a data folder that is configured for real work is none of the demo's.
func keptDemo(k *kong.Context) string {
	for _, p := range k.Path {
		if p.Flag != nil && p.Flag.Name == "data" {
			return p.Flag.Target.String()
		}
	}
	return ""
}

// show is what is done with a demo that plays: service and client are its.
type show func(ctx context.Context, d *demo) error

// demo is a demo that plays.
type demo struct {
	globals *Globals
	std     streams
	service *backend.Service
	state   demoState
	fleet   *simulate.Fleet
	login   *api.LoginResponse
	client  client.Options // signed in
	log     *slog.Logger
	lines   *tail
	history atomic.Uint64 // bits of the share of the history that is sent
}

// open opens the service over dir and plays the demo while show runs.
func (c *DemoCmd) open(ctx context.Context, g *Globals, std streams, dir string, show show) error {
	g.Data = dir
	proxies, err := c.proxies()
	if err != nil {
		return err
	}
	state, err := c.state(dir)
	if err != nil {
		return err
	}
	clock := feed.NewClock(state.Clock, c.Speed, time.Now)
	log, lines := g.headlessLog(std.err), (*tail)(nil)
	if !c.Headless {
		var logFile io.Closer
		if log, lines, logFile, err = g.consoleLog(dir); err != nil {
			return fmt.Errorf("open the log: %w", err)
		}
		defer logFile.Close()
	}
	cfg := backend.Config{
		DataDir: dir, Now: clock.Now, Wall: time.Now, Logger: log, Version: version,
		// The plants' clock runs fast: by the wall, a forecast a minute and a detection each few samples are plenty.
		Settle:         2 * time.Second,
		TrustedProxies: proxies, WebhookAllow: c.WebhookAllow, ImportFrom: c.ImportFrom,
	}
	if len(c.ExchangeRates) == 0 {
		c.ExchangeRates = demoRates
	}
	if err := c.apply(&cfg); err != nil {
		return err
	}
	return c.WatchFlags.run(ctx, cfg, c.EndDelay, func(ctx context.Context, service *backend.Service) error {
		return c.play(ctx, &demo{globals: g, std: std, service: service, state: state, log: log, lines: lines}, clock, show)
	})
}

// addUser creates a user of the demo, unless an earlier start did.
func (d *demo) addUser(ctx context.Context, name, role string) error {
	_, err := d.service.Auth().CreateUser(ctx, auth.NewUser{Username: name, Password: d.state.Password, Role: role, Customers: []string{api.Every}, Sites: []string{api.Every}})
	if refusal := (*api.Error)(nil); err != nil && !(errors.As(err, &refusal) && refusal.Status == http.StatusConflict) {
		return fmt.Errorf("create the demo's user %s: %w", name, err)
	}
	return nil
}

// work does what the demo's dispatcher does, as a separate user: what the person
// at the console does is distinct from it.
func (d *demo) work(ctx context.Context, o client.Options, clock *feed.Clock) error {
	if err := d.addUser(ctx, demoDispatcher, api.RoleOperator); err != nil {
		return err
	}
	dispatcher := client.New(o)
	if _, err := dispatcher.Login(ctx, demoDispatcher, d.state.Password); err != nil {
		return fmt.Errorf("sign the demo's dispatcher in: %w", err)
	}
	crew := feed.Operators{Client: dispatcher, Fleet: d.fleet, Clock: clock, Look: demoLook, LeaveAt: d.fleet.Sites[0].ID} // its worst alarm is for the person at the console
	return crew.Run(ctx)
}

// play signs in and feeds the service while show runs.
func (c *DemoCmd) play(ctx context.Context, d *demo, clock *feed.Clock, show show) error {
	d.client = client.Options{Transport: client.InProcess(d.service.Handler()), Now: time.Now}
	for _, name := range []string{demoUser, demoSimulator} {
		if err := d.addUser(ctx, name, api.RoleAdmin); err != nil {
			return err
		}
	}
	var err error
	if d.login, err = client.New(d.client).Login(ctx, demoUser, d.state.Password); err != nil {
		return fmt.Errorf("sign the demo in: %w", err)
	}
	o := d.client
	o.MaxRetryWait = commandPatience // the crew and the feed wait when a busy service requests it
	feeder := client.New(o)          // not the session of the console, which may sign out
	signIn := func(ctx context.Context) error {
		if _, err := feeder.Login(ctx, demoSimulator, d.state.Password); err != nil {
			return fmt.Errorf("sign the demo's simulator in: %w", err)
		}
		return nil
	}
	if err := signIn(ctx); err != nil {
		return err
	}
	d.client.Credential = d.login.Token
	d.fleet = simulate.Demo(d.state.Seed, d.state.Start, d.state.Begin)
	f := feed.Player{Client: feeder, Fleet: d.fleet, Clock: clock, History: feed.History, HistoryStep: demoHistoryStep, Step: demoLiveStep, Log: d.log, SignIn: signIn}
	left := d.state // the feed's own copy
	f.Sent = func(until time.Time) {
		left.Clock, left.Fed = until, true
		if err := left.save(d.globals.Data); err != nil {
			d.log.Warn("saving demo state failed", "error", err)
		}
	}
	if d.history.Store(math.Float64bits(1)); !d.state.Fed {
		d.history.Store(0)
		f.Progress = func(share float64) { d.history.Store(math.Float64bits(share)) }
		if err = f.Register(ctx); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	fed := make(chan error, 1)
	go func() {
		var err error
		if !d.state.Fed {
			err = f.UploadHistory(ctx)
		}
		if err == nil {
			err = f.Live(ctx)
		}
		if err != nil && ctx.Err() == nil {
			d.log.Error("demo feed stopped", "error", err)
			if c.Headless {
				cancel()
			}
		}
		fed <- err
	}()
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		if c.alone {
			return
		}
		if err := d.work(ctx, o, clock); err != nil && ctx.Err() == nil {
			d.log.Warn("demo crew stopped", "error", err)
		}
	}()
	err = show(ctx, d)
	cancel()
	<-worked
	if feedErr := <-fed; c.Headless && feedErr != nil && !errors.Is(feedErr, context.Canceled) {
		err = errors.Join(err, feedErr)
	}
	return err
}

// console shows the demo, or serves it.
func (c *DemoCmd) console(ctx context.Context, d *demo) error {
	if c.Headless {
		return c.serve(ctx, d)
	}
	if c.Plain {
		return c.lines(ctx, d.std, client.New(d.client), c.source())
	}
	options, err := c.options(d.globals, d.std, d.log, d.lines, nil, &d.client)
	if err != nil {
		return err
	}
	options.Behind.SiteID = d.fleet.Sites[0].ID // where it is day when the demo begins
	if c.kept {
		options.Places = placesOf("demo " + d.globals.Data)
	}
	options.Source, options.User, options.Intro = c.source(), d.login.User, !c.kept
	options.SignInHint = fmt.Sprintf("The user of the demo is %s, the password %s.", demoUser, d.state.Password)
	options.Preparing = func() (string, float64, bool) {
		share := math.Float64frombits(d.history.Load())
		return "simulating a year of history", share, share < 1
	}
	return tui.Run(ctx, options)
}

func (c *DemoCmd) source() string { return fmt.Sprintf("demo ×%g", c.Speed) }

// serve is the demo without a console: how to reach it is printed.
func (c *DemoCmd) serve(ctx context.Context, d *demo) error {
	key, _, err := d.service.Auth().CreateKey(ctx, auth.NewKey{Name: "demo", Role: api.RoleOperator, Customers: []string{api.Every}, Sites: []string{api.Every}, CreatedBy: demoUser})
	if err != nil {
		return fmt.Errorf("make the demo's API key: %w", err)
	}
	return c.ListenFlags.serve(ctx, d.service, d.globals.Data, d.log, func(r reached) {
		fmt.Fprintf(d.std.out, "address   %s\nAPI key   %s\nuser      %s\npassword  %s\n", r.Address, key, demoUser, d.state.Password)
		if r.Fingerprint != "" {
			fmt.Fprintf(d.std.out, "sha256    %s\n", r.Fingerprint)
		}
	})
}

// state is the kept demo's, or a new one.
func (c *DemoCmd) state(dir string) (s demoState, err error) {
	b, err := regularfile.Read(filepath.Join(dir, "demo.json"))
	if err == nil {
		if err := json.Unmarshal(b, &s); err != nil {
			return s, fmt.Errorf("%s: %w", filepath.Join(dir, "demo.json"), err)
		}
		return s, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	if _, err := os.Stat(filepath.Join(dir, "sunloop.db")); err == nil {
		return s, fmt.Errorf("%s contains data that are not from a demo; give the demo a separate folder", dir)
	}
	// The plants' day begins in working hours of the first site, whatever the
	// hour here: an empty night shows nothing.
	first := simulate.Demo(c.Seed, time.Now(), time.Now()).Sites[0]
	y, m, d := time.Now().In(first.Zone).Date()
	begin := time.Date(y, m, d, demoStartHour, 0, 0, 0, first.Zone).UTC()
	s = demoState{Seed: c.Seed, Start: feed.Start(begin), Begin: begin, Clock: begin, Password: demoPassword()}
	return s, s.save(dir)
}

// demoPassword returns a random password that a person can type: the demo shows it when
// they have signed out.
func demoPassword() string {
	t := strings.ToLower(rand.Text())
	return t[:4] + "-" + t[4:8] + "-" + t[8:12] + "-" + t[12:16]
}

func (s demoState) save(dir string) error {
	b, err := json.MarshalIndent(s, "", "  ") //nolint:gosec // the demo keeps its password, in a private file
	if err != nil {
		return err
	}
	if err := writePrivate(filepath.Join(dir, "demo.json"), b); err != nil {
		return fmt.Errorf("keep the demo's state: %w", err)
	}
	return nil
}
