package spool

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"app.sunloop/backend/store/faultfs"
)

// powerDir is the folder of the process that TestPowerLoss watches.
const powerDir = "SUNLOOP_TEST_SPOOL"

// TestPowerLossChild is that process: it says which batches were acknowledged to it.
func TestPowerLossChild(t *testing.T) {
	dir := os.Getenv(powerDir)
	if dir == "" {
		t.Skip("it runs for TestPowerLoss")
	}
	if _, err := faultfs.Enter(); err != nil {
		t.Fatal(err)
	}
	s, err := Open(dir, Options{})
	if err != nil {
		return // nothing was acknowledged
	}
	n := 0
	try := func() {
		_, next := s.Range()
		if _, err := s.Append(samples(next, 2)); err == nil {
			fmt.Println("batch", next)
		}
		if n++; n%4 == 0 {
			_ = s.rotate(s.next())
		}
	}
	for range 9 {
		try()
	}
	if err := s.Forget(4); err == nil {
		fmt.Println("forgot 4")
	}
	for range 3 {
		try()
	}
}

// acknowledged are the numbers of the batches that were, less those that were forgotten.
func acknowledged(said string) map[int]bool {
	out := map[int]bool{}
	for line := range strings.Lines(said) {
		var n int
		if _, err := fmt.Sscanf(line, "batch %d", &n); err == nil {
			out[n] = true
		}
		if strings.HasPrefix(line, "forgot") {
			for n := range 4 {
				delete(out, n)
			}
		}
	}
	return out
}

func present(t *testing.T, dir string, want map[int]bool, when string) {
	t.Helper()
	s, err := Open(dir, Options{})
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	defer s.Close() //nolint:errcheck // of a test
	got := map[int]bool{}
	for _, n := range numbers(t, s) {
		got[n] = true
	}
	for n := range want {
		if !got[n] {
			t.Fatalf("%s: batch %d is lost, there are %v", when, n, got)
		}
	}
	add(t, s, 1)
}

// watch runs the child under the eyes of judge.
func watch(t *testing.T, dir string, judge func(faultfs.Event) faultfs.Effect) []faultfs.Event {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPowerLossChild$")
	cmd.Env = append(os.Environ(), powerDir+"="+dir)
	w, err := faultfs.Start(cmd, dir, judge)
	if errors.Is(err, faultfs.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	events, err := w.Wait()
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// TestPowerLoss cuts the power at each file operation, with any part of what was not
// synced on the disk: each acknowledged batch is there, and numbers continue.
func TestPowerLoss(t *testing.T) {
	events := watch(t, t.TempDir(), nil)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // a test is repeated by its seed
	disk := faultfs.NewDisk()
	said := ""
	for i, e := range events {
		if e.Op == faultfs.Marker {
			said += string(e.Data)
		}
		disk.Apply(e)
		for _, share := range []int{0, 1, 2} { // nothing, half and all of what is pending
			dir := t.TempDir()
			if err := disk.WriteFolder(dir, func() bool { return random.IntN(2) < share }); err != nil {
				t.Fatal(err)
			}
			present(t, dir, acknowledged(said), fmt.Sprintf("operation %d (%s %s), share %d", i, e.Op, e.Path, share))
		}
	}
	if n := len(acknowledged(said)); n != 9 {
		t.Errorf("%d batches were acknowledged", n)
	}
}

// TestFailingDisk lets one write, sync or new file after the other fail: what is
// acknowledged then is there after a start.
func TestFailingDisk(t *testing.T) {
	for _, op := range []faultfs.Op{faultfs.Write, faultfs.Sync, faultfs.Create} {
		for nth := range 6 {
			dir := t.TempDir()
			n := 0
			events := watch(t, dir, func(e faultfs.Event) faultfs.Effect {
				if e.Op != op {
					return faultfs.Effect{}
				}
				if n++; n == 2*nth+2 {
					if op == faultfs.Write {
						return faultfs.Effect{Err: syscall.ENOSPC, Short: 5}
					}
					return faultfs.Effect{Err: syscall.EIO}
				}
				return faultfs.Effect{}
			})
			said := ""
			for _, e := range events {
				if e.Op == faultfs.Marker {
					said += string(e.Data)
				}
			}
			present(t, dir, acknowledged(said), fmt.Sprintf("%s %d failed", op, 2*nth+2))
		}
	}
}
