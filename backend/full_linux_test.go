package backend

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/backend/health"
	"app.sunloop/backend/store/faultfs"
)

// fullDir gives a copy of the test program its working folder until it is full.
const fullDir = "SUNLOOP_TEST_FULL_DIR"

// Names of files whose making fills the disk, and makes room on it.
const fillsDisk, makesRoom = "fills", "makes-room"

// TestFullChild is the program whose folder is full for a while. It says each
// answer that is not what it should be.
func TestFullChild(t *testing.T) {
	dir := os.Getenv(fullDir)
	if dir == "" {
		t.Skip("it runs for TestFullDisk")
	}
	if _, err := faultfs.Enter(); err != nil {
		t.Fatal(err)
	}
	s, err := New(faultConfig(dir))
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(context.Background()) }()
	ctx := t.Context()
	key, _, err := s.Auth().CreateKey(ctx, auth.NewKey{Name: "test", Role: api.RoleAdmin, Customers: []string{api.Every}})
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(client.Options{Transport: client.InProcess(s.Handler()), Credential: key, Now: time.Now})
	defer c.Close()
	want := func(status int, what string, err error) {
		var refused *api.Error
		switch {
		case status == 200 && err == nil, errors.As(err, &refused) && refused.Status == status:
			fmt.Println("as due:", what)
		default:
			fmt.Println("odd:", what, err)
		}
	}
	site := func(id string) error {
		_, err := c.SetSite(ctx, api.Site{SiteID: id, CustomerID: "acme", Timezone: "Europe/Vienna", CapacityKW: 50})
		return err
	}
	// More than is held in memory: it goes through the spool.
	large := "timestamp,power_kw\n" + strings.Repeat("2026-06-12T00:00:00Z,1\n", 8<<20/23)
	upload := func(body string) error {
		_, err := c.UploadNowcast(ctx, api.UploadRequest{CustomerID: "acme", SiteID: "South", Region: "eu", Location: "Vienna", Timezone: "Europe/Vienna"}, strings.NewReader(body), nil)
		return err
	}
	want(200, "a site", site("South"))
	want(200, "ready", c.Ready(ctx))
	mark := func(name string) {
		f, err := os.Create(filepath.Join(dir, name))
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
	}
	mark(fillsDisk)
	for range 2 { // it stays so
		want(503, "a site without room", site("North"))
		want(503, "a large upload without room", upload(large))
		want(503, "a small upload without room", upload(large[:1000*23]))
		want(200, "ready to read without room", c.Ready(ctx))
		_, err := c.Readiness(ctx, api.CapabilityWrites)
		want(503, "ready to write without room", err)
		list, err := c.Sites(ctx, api.ListQuery{})
		want(200, "reading without room", err)
		if err == nil && len(list.Sites) != 1 {
			fmt.Println("odd: sites", len(list.Sites))
		}
		if left, err := os.ReadDir(s.opened.Load().spool); err != nil || len(left) > 0 {
			fmt.Println("odd: the spool has", len(left), err)
		}
	}
	var unready *api.Error
	if _, err := c.Readiness(ctx, api.CapabilityWrites); !errors.As(err, &unready) || !strings.Contains(fmt.Sprint(unready.Details), "the disk is full") {
		fmt.Println("odd: not ready for another reason", err)
	}
	mark(makesRoom)
	_, err = c.Readiness(ctx, api.CapabilityWrites)
	want(200, "ready again", err)
	want(200, "a site again", site("North"))
	want(200, "a large upload again", upload(large))
	if err := errors.Join(s.Close(), <-ended); err != nil {
		fmt.Println("odd: it ends with", err)
	}
}

// TestFullDisk has every write of the folder find no room for a while: the
// service reads on and is ready for it, refuses writes with 503 and is not ready
// for them, and is whole again once there is room.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	full, refused := false, 0
	said, err := watched(t, "TestFullChild", fullDir, dir, func(e faultfs.Event) faultfs.Effect {
		switch {
		case e.Path == fillsDisk:
			full = true
		case e.Path == makesRoom:
			full = false
		case full && e.Op == faultfs.Write:
			refused++
			return faultfs.Effect{Err: syscall.ENOSPC}
		}
		return faultfs.Effect{}
	})
	if err != nil || strings.Contains(said, "odd") || strings.Count(said, "as due") != 17 || refused < 6 {
		t.Errorf("%d writes refused, %v; it said\n%s", refused, err, said)
	}
	for _, name := range []string{fillsDisk, makesRoom} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if found, err := checkFolder(t.Context(), dir); err != nil || len(found.Faults) > 0 {
		t.Errorf("the folder has %q, %v", found.Faults, err)
	}
}

// TestDocumentedDiskSpace compares docs/guarantees.md with the conditions of
// readiness.
func TestDocumentedDiskSpace(t *testing.T) {
	text, err := os.ReadFile("../docs/guarantees.md")
	if err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf("`/readyz?capability=writes` and `=uploads` return 503 until a file of %d MiB fits again and %d MiB are free; they also do so before the disk is full, while less than %[2]d MiB are free.", health.RoomBytes>>20, health.MinFreeBytes>>20)
	if !strings.Contains(string(text), want) {
		t.Errorf("docs/guarantees.md does not say: %s", want)
	}
}
