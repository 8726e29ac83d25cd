package laws

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alexedwards/argon2id"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
)

const customer = "acme"

// installation is a running service over a temporary folder, with a client of it. Its
// plants' clock only moves when a test sets it.
type installation struct {
	*client.Client
	t       testing.TB
	dir     string
	clock   atomic.Int64 // Unix seconds
	key     string
	service *backend.Service
	ended   chan error
	days    int // of data before training starts; 0: the default
}

func open(t testing.TB, now time.Time, trainingDays int) *installation {
	t.Helper()
	h := &installation{t: t, dir: t.TempDir(), days: trainingDays}
	h.set(now)
	if err := os.Chmod(h.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	h.up()
	t.Cleanup(h.down)
	var err error
	if h.key, _, err = h.service.Auth().CreateKey(t.Context(), auth.NewKey{Name: "laws", Role: api.RoleAdmin, Customers: []string{api.Every}}); err != nil {
		t.Fatal(err)
	}
	h.connect()
	return h
}

func (h *installation) set(now time.Time) { h.clock.Store(now.Unix()) }

func (h *installation) now() time.Time { return time.Unix(h.clock.Load(), 0).UTC() }

func (h *installation) up() {
	h.t.Helper()
	s, err := backend.New(backend.Config{
		DataDir: h.dir, Now: h.now, Wall: time.Now, TrainingDays: h.days, Tick: 5 * time.Millisecond, Settle: time.Millisecond, Quiet: 20 * time.Millisecond, KeyRate: 1_000_000,
		Argon: &argon2id.Params{Memory: 1024, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32},
	})
	if err != nil {
		h.t.Fatal(err)
	}
	ended := make(chan error, 1)
	h.service, h.ended = s, ended
	go func() { ended <- s.Run(context.Background()) }()
}

// down closes the service; a second call does nothing.
func (h *installation) down() {
	if h.service == nil {
		return
	}
	if h.Client != nil {
		h.Client.Close()
	}
	if err := errors.Join(h.service.Close(), <-h.ended); err != nil {
		h.t.Error(err)
	}
	h.service = nil
}

func (h *installation) connect() {
	h.Client = client.New(client.Options{Transport: client.InProcess(h.service.Handler()), Credential: h.key, Now: time.Now})
}

func (h *installation) restart() {
	h.t.Helper()
	h.down()
	h.up()
	h.connect()
}

// upload sends a file and waits until all that follows from it is done.
func (h *installation) upload(kind string, req api.UploadRequest, csv string) (api.Upload, error) {
	req.CustomerID, req.Region, req.Filename = customer, "eu", "data.csv"
	send := h.UploadTrain
	if kind == api.UploadNowcast {
		send = h.UploadNowcast
	}
	ack, err := send(h.t.Context(), req, strings.NewReader(csv), nil)
	if err != nil {
		return api.Upload{}, err
	}
	pause := 2 * time.Millisecond
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(pause) {
		pause = min(pause*5/4, 25*time.Millisecond) // each look reads the record of the upload
		u, err := h.Upload(h.t.Context(), ack.UploadID)
		if err != nil {
			return api.Upload{}, err
		}
		if u.Ended() {
			if u.Error != "" {
				return *u, fmt.Errorf("upload ended with %s", u.Error)
			}
			return *u, nil
		}
	}
	return api.Upload{}, errors.New("upload does not end")
}

// seeds returns the seeds of n draws, times SUNLOOP_TEST_LAWS, from 1 or
// SUNLOOP_TEST_LAWS_FROM on, and those that have found faults; or only the one of
// SUNLOOP_TEST_LAWS_SEED.
func seeds(t *testing.T, n int, found ...uint64) (list []uint64) {
	t.Helper()
	if seed := setting(t, "SUNLOOP_TEST_LAWS_SEED"); seed > 0 {
		return []uint64{seed}
	}
	if times := setting(t, "SUNLOOP_TEST_LAWS"); times > 0 {
		n *= int(times)
	}
	from := max(setting(t, "SUNLOOP_TEST_LAWS_FROM"), 1)
	for i := range n {
		list = append(list, from+uint64(i))
	}
	for _, seed := range found {
		if !slices.Contains(list, seed) {
			list = append(list, seed)
		}
	}
	return list
}

// setting is the number in a variable of the environment; 0 if it is not set.
func setting(t *testing.T, name string) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n < 1 {
		t.Fatalf("read %s: %q is not a number above 0", name, text)
	}
	return n
}
