package s3test

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if log := os.Getenv("S3TEST_ORPHAN"); log != "" {
		orphan(log)
	}
	goleak.VerifyTestMain(Main(m))
}

// orphan starts a child that reports that it runs, and dies without notifying
// it.
func orphan(log string) {
	f, err := os.Create(log)
	if err != nil {
		panic(err)
	}
	if _, err := launch(f, nil, "sh", "-c", `trap 'echo ended; exit' TERM; echo lives; while :; do sleep 0.02; done`); err != nil {
		panic(err)
	}
	wait(func() bool { return contains(log, "lives") })
	p, _ := os.FindProcess(os.Getpid())
	_ = p.Kill()
	select {}
}

func contains(file, word string) bool {
	text, _ := os.ReadFile(file)
	return strings.Contains(string(text), word)
}

func wait(until func() bool) bool {
	for end := time.Now().Add(patience); !until(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// TestServerEndsWithItsStarter kills a process that has started a server: the
// server ends.
func TestServerEndsWithItsStarter(t *testing.T) {
	skipWithout(t)
	log := filepath.Join(t.TempDir(), "log")
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "S3TEST_ORPHAN="+log)
	if err := cmd.Run(); err == nil {
		t.Fatal("the starter was not killed")
	}
	if !wait(func() bool { return contains(log, "ended") }) {
		t.Error("the child lives on")
	}
}

// TestServerComesBack stops a server and starts it again: its buckets are there.
func TestServerComesBack(t *testing.T) {
	s := Start(t)
	uri := s.Bucket(t)
	there := func() error {
		name := BucketOf(t, uri)
		return s.asRoot(func(c *s3.Client) error {
			_, err := c.HeadBucket(t.Context(), &s3.HeadBucketInput{Bucket: &name})
			return err
		})
	}
	if err := there(); err != nil {
		t.Fatal(err)
	}
	s.Stop()
	if _, err := http.Get(s.Endpoint()); err == nil {
		t.Error("a stopped server answers")
	}
	if err := s.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := there(); err != nil {
		t.Errorf("the bucket is gone: %v", err)
	}
}
