package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/backend/store/pgtest"
)

// leftovers are folders that are removed after the last test.
var leftovers []string

// tidy runs the tests and removes leftovers.
type tidy struct{ *testing.M }

func (m tidy) Run() int {
	code := m.M.Run()
	for _, dir := range leftovers {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return code
}

func TestMain(m *testing.M) {
	testscript.Main(pgtest.Main(tidy{m}), map[string]func(){
		"sunloop": func() { os.Exit(run(context.Background(), os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})) },
	})
}

// TestScripts runs the command line as a user would: each script of
// testdata/script in a separate folder.
func TestScripts(t *testing.T) {
	shared := newServers(t)
	database := shared.place(func() string { return shared.database().Database(t) })
	bucket := shared.place(func() string { return shared.bucket().Bucket(t) })
	testscript.Run(t, testscript.Params{
		Dir: "../../testdata/script",
		Setup: func(e *testscript.Env) error {
			deploy, err := filepath.Abs("../../deploy")
			if err != nil {
				return err
			}
			for _, kv := range [][2]string{
				{"HOME", e.WorkDir}, {"XDG_CONFIG_HOME", e.WorkDir + "/config"}, {"XDG_DATA_HOME", e.WorkDir + "/data"},
				{"NO_COLOR", "1"}, {"TZ", "UTC"}, {"DEPLOY", deploy},
			} {
				e.Setenv(kv[0], kv[1])
			}
			return nil
		},
		Cmds:      map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "plant": plantFile, "order": order, "operations": operations, "database": database, "bucket": bucket},
		Condition: installed,
	})
}

// exits STATUS COMMAND… runs a command that must end with that exit status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits STATUS COMMAND…")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var end *exec.ExitError
		if !errors.As(err, &end) {
			ts.Fatalf("%v", err)
		}
		got = end.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s:\n%s%s", got, args[0], ts.ReadFile("stdout"), ts.ReadFile("stderr"))
	}
}

// plantFile FILE DEAD writes seventy days of five inverters up to now, every
// quarter of an hour under a clear sky; for the last three days the DEADth
// makes nothing (0: none).
func plantFile(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: plant FILE DEAD")
	}
	f, err := os.Create(ts.MkAbs(args[0]))
	ts.Check(err)
	defer f.Close()
	fmt.Fprintln(f, "time,INV-1 AC power (kW),INV-2 AC power (kW),INV-3 AC power (kW),INV-4 AC power (kW),INV-5 AC power (kW)")
	end := time.Now().UTC().Truncate(15 * time.Minute)
	for t := end.AddDate(0, 0, -70); t.Before(end); t = t.Add(15 * time.Minute) {
		fmt.Fprint(f, t.Format("2006-01-02 15:04"))
		hour := float64(t.Hour()) + float64(t.Minute())/60
		for unit := 1; unit <= 5; unit++ {
			kw := (50 + float64(unit)/4) * math.Pow(max(0, math.Sin((hour-6)/12*math.Pi)), 1.2)
			if args[1] == strconv.Itoa(unit) && end.Sub(t) < 72*time.Hour {
				kw = 0
			}
			fmt.Fprintf(f, ",%.3f", kw)
		}
		fmt.Fprintln(f)
	}
}

// order SITE UNIT creates a work order in the data folder.
func order(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: order SITE UNIT")
	}
	ctx := context.Background()
	service, err := backend.New(backend.Config{DataDir: ts.MkAbs("data/sunloop"), Now: time.Now, Wall: time.Now})
	ts.Check(err)
	err = withOwnKey(ctx, service, ownKeyLasts, func(cl *client.Client) error {
		bill, err := cl.GenerateBOM(ctx, api.BOMRequest{AssetID: args[1], SiteID: args[0], CustomerID: "default", MaintenanceType: api.MaintenanceCorrective})
		if err != nil {
			return err
		}
		_, err = cl.CreateOrder(ctx, api.OrderRequest{AssetID: args[1], SiteID: args[0], CustomerID: "default", BOMID: bill.BOMID, Priority: api.PriorityHigh})
		return err
	})
	ts.Check(errors.Join(err, service.Close()))
}
