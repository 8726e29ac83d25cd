package bolt

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"app.sunloop/backend/store/faultfs"
)

// allFaults reports whether every place is tried, as `make faults` does, or a
// sample.
func allFaults() bool { return os.Getenv("SUNLOOP_TEST_FAULTS") != "" }

// watch runs the watched writer over dir and answers all that it did.
func watch(t *testing.T, dir string, round int, decide func(faultfs.Event) faultfs.Effect) []faultfs.Event {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), exe)
	cmd.Env = append(os.Environ(), watchedDir+"="+dir, fmt.Sprintf("%s_ROUND=%d", watchedDir, round))
	cmd.Stderr = os.Stderr
	w, err := faultfs.Start(cmd, dir, decide)
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

// keepers are which of the pending writes a power loss keeps.
func keepers(seed uint64) map[string]func() bool {
	random := rand.New(rand.NewPCG(seed, 1))
	return map[string]func() bool{
		"none":   func() bool { return false },
		"all":    func() bool { return true },
		"half":   func() bool { return random.IntN(2) == 0 },
		"most":   func() bool { return random.IntN(10) > 0 },
		"little": func() bool { return random.IntN(10) == 0 },
	}
}

var allKept = []string{"none", "all", "half", "most", "little"}

// said records what was acknowledged and returns what was refused.
func (a acknowledged) said(t *testing.T, text []byte) (refusals []string) {
	t.Helper()
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if refusal, ok := strings.CutPrefix(line, "refused "); ok {
			refusals = append(refusals, refusal)
			continue
		}
		a.note(t, line)
	}
	return refusals
}

func newAcknowledged() acknowledged {
	return acknowledged{map[string]bool{}, map[string]bool{}, map[string]int{}}
}

// TestPowerLoss cuts the power at each write, sync and change of a name of a
// run, and has the disk keep all, none or any sectors of what was not synced:
// every state opens, is whole and holds all that had been acknowledged.
func TestPowerLoss(t *testing.T) {
	events := watch(t, t.TempDir(), 0, nil)
	every := 61
	if allFaults() {
		every = 1
	}
	disk, ack := faultfs.NewDisk(), newAcknowledged()
	images := 0
	for i, e := range events {
		if e.Op == faultfs.Marker {
			ack.said(t, e.Data)
			continue
		}
		disk.Apply(e)
		if i%every == 0 {
			ack.checkLeft(t, disk, uint64(i), 0, allKept, fmt.Sprintf("power lost after event %d, %s %s", i, e.Op, e.Path))
			images++
		}
	}
	if len(ack.records) != watchedSteps || images == 0 {
		t.Errorf("%d records acknowledged, %d images", len(ack.records), images)
	}
	t.Logf("%d events, power lost at %d, %d records, %d jobs done, steps %v", len(events), images, len(ack.records), len(ack.done), ack.steps)
}

// checkLeft compares what was acknowledged with everything that a power loss
// may leave; silent is the number of jobs whose end may be unreported.
func (a acknowledged) checkLeft(t *testing.T, disk *faultfs.Disk, seed uint64, silent int, kept []string, where string) {
	t.Helper()
	for _, name := range kept {
		keep := keepers(seed)[name]
		dir := filepath.Join(t.TempDir(), "left")
		if err := disk.WriteFolder(dir, keep); err != nil {
			t.Fatal(err)
		}
		a.check(t, dir, silent)
		if t.Failed() {
			t.Fatalf("%s, with %s of what was pending", where, name)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReopenedAfterFailedSync opens the folder again after a sync has failed,
// with the system taking for written what never reached the disk, and cuts the
// power while the second process writes.
func TestReopenedAfterFailedSync(t *testing.T) {
	every, kept := 53, []string{"none"}
	if allFaults() {
		every, kept = 1, []string{"none", "all", "half"}
	}
	for at := 6; ; at += every {
		n := 0
		dir := t.TempDir()
		first := watch(t, dir, 0, func(e faultfs.Event) faultfs.Effect {
			if !syncs(e) {
				return faultfs.Effect{}
			}
			n++
			return once(syscall.EIO)(n-1, at, e)
		})
		if n <= at {
			return
		}
		second := watch(t, dir, 1, nil)
		for _, name := range kept {
			disk, ack := faultfs.NewDisk(), newAcknowledged()
			disk.Reached = keepers(uint64(at))[name]
			for i, e := range slices.Concat(first, second) {
				if e.Op == faultfs.Marker {
					ack.said(t, e.Data)
					continue
				}
				disk.Apply(e)
				// The second process's first commits are those that count.
				if i > len(first) && i < len(first)+20 {
					ack.checkLeft(t, disk, uint64(i), 2, kept, fmt.Sprintf("sync %d failed with %s of it on the disk, power lost after event %d", at, name, i))
				}
			}
		}
	}
}

// fault is what becomes of the calls of a run, by their number among those that
// change the file of records.
type fault struct {
	name    string
	applies func(faultfs.Event) bool
	verdict func(n, at int, e faultfs.Event) faultfs.Effect
	refusal string // of what follows, where all do
}

func writes(e faultfs.Event) bool {
	return (e.Op == faultfs.Write || e.Op == faultfs.Truncate) && strings.HasPrefix(e.Path, fileName)
}

func syncs(e faultfs.Event) bool {
	return e.Op == faultfs.Sync && (strings.HasPrefix(e.Path, fileName) || e.Path == ".")
}

func once(no syscall.Errno) func(n, at int, e faultfs.Event) faultfs.Effect {
	return func(n, at int, _ faultfs.Event) faultfs.Effect {
		if n == at {
			return faultfs.Effect{Err: no}
		}
		return faultfs.Effect{}
	}
}

var faults = []fault{
	{"a write fails", writes, once(syscall.EIO), "failed"},
	{"a write has no room", writes, once(syscall.ENOSPC), ""},
	{"a write is short, its rest has no room", writes, func(n, at int, e faultfs.Event) faultfs.Effect {
		switch n {
		case at:
			if e.Op == faultfs.Write && len(e.Data) > 512 {
				return faultfs.Effect{Short: 512}
			}
			return faultfs.Effect{Err: syscall.ENOSPC}
		case at + 1:
			return faultfs.Effect{Err: syscall.ENOSPC}
		}
		return faultfs.Effect{}
	}, ""},
	{"no room from here on", writes, func(n, at int, _ faultfs.Event) faultfs.Effect {
		if n >= at {
			return faultfs.Effect{Err: syscall.ENOSPC}
		}
		return faultfs.Effect{}
	}, "full"},
	{"a sync fails once", syncs, once(syscall.EIO), "failed"},
	{"a sync has no room", syncs, once(syscall.ENOSPC), "failed"},
	{"no sync succeeds from here on", syncs, func(n, at int, _ faultfs.Event) faultfs.Effect {
		if n >= at {
			return faultfs.Effect{Err: syscall.EIO}
		}
		return faultfs.Effect{}
	}, "failed"},
}

// TestFaults makes the n-th write or sync of a run fail: nothing is reported as
// stored that is not, neither in the files as the system has them nor after a
// power loss. A failure that cannot be undone stops all writing, another does
// not, and reading continues.
func TestFaults(t *testing.T) {
	first, every := 17, 131 // a sample begins after the file was made
	if allFaults() {
		first, every = 0, 1
	}
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			runs := 0
			for at := first; ; at += every {
				n := 0
				dir := t.TempDir()
				events := watch(t, dir, 0, func(e faultfs.Event) faultfs.Effect {
					if !f.applies(e) {
						return faultfs.Effect{}
					}
					n++
					return f.verdict(n-1, at, e)
				})
				if n <= at {
					break // there are no more
				}
				runs++
				where := fmt.Sprintf("%s, number %d", f.name, at)
				f.judge(t, events, dir, uint64(at), where)
				if t.Failed() {
					t.Fatal(where)
				}
			}
			t.Logf("%d places", runs)
		})
	}
}

// judge compares what a run reported with what it left.
func (f fault) judge(t *testing.T, events []faultfs.Event, dir string, seed uint64, where string) {
	t.Helper()
	disk, ack := faultfs.NewDisk(), newAcknowledged()
	var refusals []string
	for _, e := range events {
		switch {
		case e.Op != faultfs.Marker:
			disk.Apply(e)
		case strings.TrimSpace(string(e.Data)) == "unopened":
			refusals = nil
			f.refusal = ""
		case strings.TrimSpace(string(e.Data)) == "unclosed":
			t.Errorf("%s: it does not close", where)
		default:
			before := len(ack.records) + len(ack.done)
			more := ack.said(t, e.Data)
			if len(refusals) > 0 && refusals[0] == "failed" && before != len(ack.records)+len(ack.done) {
				t.Errorf("%s: %q is acknowledged after the disk failed", where, e.Data)
			}
			refusals = append(refusals, more...)
		}
	}
	for _, r := range refusals {
		if r != "failed" && r != "full" {
			t.Errorf("%s: refused with %s", where, r)
		}
	}
	if f.refusal != "" && len(refusals) > 0 && refusals[len(refusals)-1] != f.refusal {
		t.Errorf("%s: refused as %v", where, refusals)
	}
	ack.checkLeft(t, disk, seed, len(refusals), allKept, where)
	ack.check(t, dir, len(refusals)) // as the system has it
}
