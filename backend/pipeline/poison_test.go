package pipeline

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
)

// poisonDir has a copy of the test program work on a data folder with an
// import that ends the process.
const poisonDir = "SUNLOOP_TEST_POISON_DIR"

// exitPoisoned is how the import ends the process.
const exitPoisoned = 7

// TestPoisonChild is the program that its file kills.
func TestPoisonChild(t *testing.T) {
	dir := os.Getenv(poisonDir)
	if dir == "" {
		t.Skip("it runs for TestOneFileCannotKeepTheServiceDown")
	}
	p := &plant{t: t, dir: dir, clock: day0}
	p.open()
	p.handlers[sitedata.JobIngest] = handler{run: func(context.Context, store.Claimed) error { os.Exit(exitPoisoned); return nil }, failed: p.Importer.JobFailed}
	p.start()
	p.await("the end of all uploads", func() bool {
		list, _, err := p.Uploads(t.Context(), admin, api.ListQuery{})
		return err == nil && len(list) == 1 && list[0].Ended()
	})
	p.close()
}

// A file whose import ends the process is given up after some starts: its
// upload fails with a reason, and its site is no longer one that loads.
func TestOneFileCannotKeepTheServiceDown(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	p := newPlant(t, day0, nil)
	id := p.upload(request(api.UploadTrain), csvOf(t, fleet(3, 1), day0.AddDate(0, 0, -3), day0, time.Hour))
	p.close()
	crashes := 0
	for ; ; crashes++ {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestPoisonChild$")
		cmd.Env = append(os.Environ(), poisonDir+"="+p.dir)
		out, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err == nil {
			break
		}
		if !errors.As(err, &exit) || exit.ExitCode() != exitPoisoned || crashes > maxLostAttempts {
			t.Fatalf("start %d: %v\n%s", crashes, err, out)
		}
	}
	if crashes != maxLostAttempts {
		t.Errorf("given up after %d crashes, not %d", crashes, maxLostAttempts)
	}
	p.open()
	u, err := p.Find(t.Context(), admin, id)
	if err != nil || u.ProcessingStatus != api.UploadFailed || !strings.Contains(u.Error, "the service ended 10 times while it worked on this") {
		t.Errorf("ended as %+v, %v", u, err)
	}
	if _, loading, err := p.siteStates(t.Context()); err != nil || len(loading) != 0 {
		t.Errorf("loading: %v, %v", loading, err)
	}
}
