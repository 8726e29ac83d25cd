package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"
	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/backend/store/faultfs"
)

// faultDir gives a copy of the test program its working folder under watch.
const faultDir = "SUNLOOP_TEST_FAULT_DIR"

func faultConfig(dir string) Config {
	start := time.Date(2026, 6, 15, 9, 0, 0, 0, time.UTC)
	return Config{DataDir: dir, Now: func() time.Time { return start }, Wall: time.Now, WebhookAllow: []string{"127.0.0.1"}, RequireMFA: true,
		Argon: &argon2id.Params{Memory: 1024, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32}}
}

// TestFaultChild is the program whose calls fail: it says what was acknowledged
// to it, and each answer that is neither a success nor a refusal it should be.
func TestFaultChild(t *testing.T) {
	dir := os.Getenv(faultDir)
	if dir == "" {
		t.Skip("it runs for TestFaults")
	}
	if _, err := faultfs.Enter(); err != nil {
		t.Fatal(err)
	}
	s, err := New(faultConfig(dir))
	if err != nil {
		return // nothing was acknowledged
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	defer func() { _ = errors.Join(s.Close(), <-ended) }() // the disk may have failed
	ctx := t.Context()
	key, _, err := s.Auth().CreateKey(ctx, auth.NewKey{Name: "test", Role: api.RoleAdmin, Customers: []string{api.Every}})
	if err != nil {
		return
	}
	fmt.Println("key", key)
	c := client.New(client.Options{Transport: client.InProcess(s.Handler()), Credential: key, Now: time.Now})
	defer c.Close()
	said := func(err error, what ...any) bool {
		var refused *api.Error
		if err == nil {
			fmt.Println(what...)
		} else if !errors.As(err, &refused) || refused.Status != 503 && refused.Status != 500 && refused.Status != 404 && refused.Status != 400 { // what an earlier refusal left out is missed
			fmt.Println("odd", err)
		}
		return err == nil
	}
	_, err = c.SetSite(ctx, api.Site{SiteID: "South", CustomerID: "acme", Timezone: "Europe/Vienna", CapacityKW: 50})
	said(err, "site", "South")
	_, err = c.AddAsset(ctx, api.Asset{AssetID: "INV-1", SiteID: "South", Name: "One", Type: "inverter", CapacityKW: 50, Location: "roof"})
	said(err, "asset", "INV-1")
	signIn(ctx, s, c, said)
	var csv strings.Builder
	csv.WriteString("timestamp,power_kw\n")
	for n := range 300 {
		fmt.Fprintf(&csv, "%s,%d\n", time.Date(2026, 6, 12, 0, 15*n, 0, 0, time.UTC).Format(time.RFC3339), n%40)
	}
	ack, err := c.UploadNowcast(ctx, api.UploadRequest{CustomerID: "acme", SiteID: "South", Region: "eu", Location: "Vienna", Timezone: "Europe/Vienna"}, strings.NewReader(csv.String()), nil)
	if err == nil {
		said(err, "upload", ack.UploadID)
	} else {
		said(err)
	}
	bill, err := c.GenerateBOM(ctx, api.BOMRequest{AssetID: "INV-1", MaintenanceType: api.MaintenanceCorrective})
	if !said(err, "bom") {
		return
	}
	o, err := c.CreateOrder(ctx, api.OrderRequest{CustomerID: "acme", BOMID: bill.BOMID})
	if err != nil {
		said(err)
		return
	}
	said(nil, "order", o.OrderID, 0)
	_, err = c.Subscribe(ctx, o.OrderID, "http://127.0.0.1:9/hook")
	said(err, "subscription", o.OrderID)
	moved, err := c.MoveOrder(ctx, api.OrderRequest{Action: api.ActionStart, OrderID: o.OrderID, AssignedTechnician: "grace"})
	if err == nil {
		said(nil, "order", o.OrderID, moved.Order.Version)
	} else {
		said(err)
	}
}

// signIn makes a person, who comes in with a password and a one-time code.
func signIn(ctx context.Context, s *Service, c *client.Client, said func(error, ...any) bool) {
	_, err := c.AddUser(ctx, api.UsersRequest{Username: filledUser, Password: filledPassword, RoleID: api.RoleAdmin, CustomerIDs: []string{api.Every}})
	if !said(err, "user", filledUser) {
		return
	}
	person := client.New(client.Options{Transport: client.InProcess(s.Handler()), Now: time.Now})
	defer person.Close()
	begun, err := person.Login(ctx, filledUser, filledPassword)
	if !said(err) {
		return
	}
	device, err := otp.NewKeyFromURL(begun.ProvisioningURI)
	if err != nil {
		fmt.Println("odd", err)
		return
	}
	code, err := totp.GenerateCode(device.Secret(), time.Now())
	if err != nil {
		fmt.Println("odd", err)
		return
	}
	in, err := person.VerifyMFA(ctx, begun.MFAToken, code)
	if err != nil {
		said(err)
		return
	}
	said(nil, "session", in.Token)
}

// TestFaults has the n-th change of a file, or the n-th sync, of a run of the
// whole service fail: no panic, no success for what is not there after the
// folder is opened again, and a folder that checks clean.
func TestFaults(t *testing.T) {
	every, last := 67, 200
	if os.Getenv("SUNLOOP_TEST_FAULTS") != "" {
		every = 1
	}
	runs, orders := 0, 0
	for name, f := range map[string]struct {
		errno syscall.Errno
		syncs bool
	}{"write": {syscall.EIO, false}, "room": {syscall.ENOSPC, false}, "sync": {syscall.EIO, true}} {
		for at := 3; at < last; at += every {
			n := 0
			dir := t.TempDir()
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			said, err := watched(t, "TestFaultChild", faultDir, dir, func(e faultfs.Event) faultfs.Effect {
				if (e.Op == faultfs.Sync) != f.syncs {
					return faultfs.Effect{}
				}
				if n++; n-1 == at {
					return faultfs.Effect{Err: f.errno}
				}
				return faultfs.Effect{}
			})
			if err != nil {
				t.Fatalf("%s %d: %v", name, at, err)
			}
			if n <= at {
				break
			}
			runs++
			orders += strings.Count(said, "order ")
			acknowledgedIsThere(t, dir, said)
			if t.Failed() {
				t.Fatalf("%s %d; it said\n%s", name, at, said)
			}
		}
	}
	t.Logf("%d runs, %d orders and moves acknowledged", runs, orders)
	if runs == 0 || orders == 0 {
		t.Error("nothing was acknowledged in any of them")
	}
}

// watched runs a test of this binary as a program that works in dir, each of
// whose calls that change a file there is judged first; skips where calls cannot
// be watched. What it answers is what the program said; a panic is an error.
func watched(t *testing.T, test, variable, dir string, judge func(faultfs.Event) faultfs.Effect) (said string, err error) {
	t.Helper()
	events, err := watchedEvents(t, test, variable, dir, judge)
	var words strings.Builder
	for _, e := range events {
		if e.Op == faultfs.Marker {
			words.Write(e.Data)
		}
	}
	return words.String(), err
}

// watchedEvents runs a program as watched does, and returns its changes of files with
// what it said between them.
func watchedEvents(t *testing.T, test, variable, dir string, judge func(faultfs.Event) faultfs.Effect) ([]faultfs.Event, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+test+"$")
	cmd.Env = append(os.Environ(), variable+"="+dir)
	var trouble bytes.Buffer
	cmd.Stderr = &trouble
	w, err := faultfs.Start(cmd, dir, judge)
	if errors.Is(err, faultfs.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	events, err := w.Wait()
	if err != nil || strings.Contains(trouble.String(), "panic") {
		return nil, fmt.Errorf("%w\n%s", errors.Join(err, errors.New("the program failed")), &trouble)
	}
	return events, nil
}

// acknowledgedIsThere opens the folder again and looks for what was said.
func acknowledgedIsThere(t *testing.T, dir, said string) {
	t.Helper()
	s, err := New(faultConfig(dir))
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	var c *client.Client
	for line := range strings.Lines(said) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		var err error
		switch id := words[1]; words[0] {
		case "odd":
			err = errors.New(line)
		case "key":
			c = client.New(client.Options{Transport: client.InProcess(s.Handler()), Credential: id, Now: time.Now})
			defer c.Close()
		case "site":
			_, err = c.SiteSummary(ctx, api.SiteRef{SiteID: id})
		case "user":
			list, failed := c.Users(ctx, api.ListQuery{})
			if err = failed; err == nil && (len(list.Users) != 1 || list.Users[0].Username != id) {
				err = fmt.Errorf("the users are %+v", list.Users)
			}
		case "session":
			person := client.New(client.Options{Transport: client.InProcess(s.Handler()), Credential: id, Now: time.Now})
			_, err = person.Sites(ctx, api.ListQuery{})
			person.Close()
		case "upload":
			_, err = c.Upload(ctx, id)
		case "subscription":
			list, failed := c.Subscriptions(ctx, api.ListQuery{}, id)
			if err = failed; err == nil && len(list.Subscriptions) == 0 {
				err = errors.New("there is no subscription")
			}
		case "order":
			version, failed := strconv.Atoi(words[2])
			if failed != nil {
				t.Fatal(failed)
			}
			o, failed := c.Order(ctx, id)
			if err = failed; err == nil && o.Version < version {
				err = fmt.Errorf("the order has version %d", o.Version)
			}
		}
		if err != nil {
			t.Errorf("%q was acknowledged: %v", line, err)
		}
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if found, err := checkFolder(ctx, dir); err != nil || len(found.Faults) > 0 {
		t.Errorf("the folder has %q, %v", found.Faults, err)
	}
}
