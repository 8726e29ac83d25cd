package forward

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/gateway/spool"
	"app.sunloop/backend/store"
	"app.sunloop/engine/points"
	"app.sunloop/engine/series"
	"app.sunloop/internal/longtest"
)

var day0 = time.Date(2026, 6, 15, 8, 0, 0, 0, time.UTC)

// service is a service that stores points, over a link that breaks.
type service struct {
	now      func() time.Time
	judge    func(step string) error // asked before a request arrives, between its steps and before its response
	stored   map[string]float64
	received map[string]ranges
	hashes   map[string]string
	requests [][2]int
	offset   time.Duration // of its clock
}

func newService(now func() time.Time) *service {
	return &service{now: now, stored: map[string]float64{}, received: map[string]ranges{}, hashes: map[string]string{}, judge: func(string) error { return nil }}
}

var errLink = errors.New("the link broke")

func (s *service) WriteTelemetry(_ context.Context, w api.WriteQuery, packed []byte) (*api.WriteResponse, error) {
	if err := s.judge("request"); err != nil {
		return nil, err
	}
	now := s.now().Add(s.offset)
	r := &api.WriteResponse{Success: true, ServiceTime: api.At(now)}
	got := s.received[w.Epoch]
	if w.Sequence > 0 {
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return nil, err
		}
		text, err := io.ReadAll(z)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		if hex.EncodeToString(sum[:]) != w.SHA256 {
			return nil, fmt.Errorf("checksum of batch %d", w.Sequence)
		}
		first := max(w.FirstSequence, 1)
		if w.FirstSequence == 0 {
			first = w.Sequence
		}
		name := fmt.Sprint(w.Epoch, first, w.Sequence)
		switch n := got.count(first, w.Sequence+1); {
		case n == w.Sequence-first+1:
			if h := s.hashes[name]; h != "" && h != w.SHA256 {
				return nil, api.ErrBatchChanged
			}
			r.Duplicate = true
		case n > 0:
			return nil, api.Conflict("Some of the batches %d to %d are stored already", first, w.Sequence)
		default:
			b, err := points.JSON(text, points.Options{Now: now, Skip: func(e points.Error) {
				r.Invalid++
				r.InvalidPoints = append(r.InvalidPoints, api.InvalidPoint{Field: e.Field, Reason: e.Reason})
			}})
			if err != nil {
				return nil, api.InvalidField("body", err.Error())
			}
			for _, u := range b.Units {
				eachPoint(u.AssetID, u.Frame, func(key string, v float64) { s.stored[key] = v })
			}
			if err := s.judge("points are stored, the number is not"); err != nil {
				return nil, err
			}
			s.received[w.Epoch] = union(got, ranges{{First: first, Last: w.Sequence}})
			s.hashes[name] = w.SHA256
			s.requests = append(s.requests, [2]int{first, w.Sequence})
		}
	}
	r.Received = s.received[w.Epoch]
	return r, s.judge("response")
}

func (s *service) RotateGatewayKey(context.Context) (*api.GatewaysResponse, error) {
	return &api.GatewaysResponse{APIKey: "next", APIKeyID: "key_2"}, nil
}

func eachPoint(id string, f series.Frame, visit func(key string, v float64)) {
	for i, t := range f.Times {
		for _, c := range f.Columns {
			if v := c.Values[i]; !math.IsNaN(v) {
				visit(fmt.Sprint(id, " ", t, " ", c.Quantity), v)
			}
		}
	}
}

// plant is a gateway with its folder, which may be killed and started again.
type plant struct {
	t       testing.TB
	dir     string
	service *service
	at      time.Time
	spool   *spool.Spool
	forward *Forwarder
	truth   map[string]float64 // what Append promised to send
	keys    []string
}

func newPlant(t testing.TB) *plant {
	p := &plant{t: t, dir: t.TempDir(), at: day0, truth: map[string]float64{}}
	p.service = newService(func() time.Time { return p.at })
	p.start()
	t.Cleanup(func() { _ = p.spool.Close() })
	return p
}

func (p *plant) start() {
	p.t.Helper()
	var err error
	if p.spool, err = spool.Open(filepath.Join(p.dir, "spool"), spool.Options{}); err != nil {
		p.t.Fatal(err)
	}
	p.forward = New(Options{Spool: p.spool, Service: p.service, SiteID: "roof", GatewayID: "g", Version: "1", Refused: filepath.Join(p.dir, "refused.jsonl"),
		Now: func() time.Time { return p.at }, Log: slog.New(slog.DiscardHandler), KeyMade: day0, SaveKey: func(key string) error { p.keys = append(p.keys, key); return nil }})
}

// kill ends the process; what it held in memory is gone.
func (p *plant) kill() {
	_ = p.spool.Close()
	p.start()
}

// commit appends the present interval of two units, as far as it has come, and at times
// an interval of some minutes ago.
func (p *plant) commit(late bool) {
	p.t.Helper()
	p.at = p.at.Add(10 * time.Second)
	var frames []store.AssetFrame
	for _, id := range []string{"A", "B"} {
		f := series.Frame{Times: []int64{p.at.Truncate(time.Minute).Unix()}}
		if late {
			f.Times = append([]int64{p.at.Add(-7 * time.Minute).Truncate(time.Minute).Unix()}, f.Times...)
		}
		power, step := make([]float64, len(f.Times)), make([]float64, len(f.Times))
		for i := range f.Times {
			power[i], step[i] = float64(p.at.Unix()%100_000)+float64(i), 60
		}
		f.Set(series.PowerKW, power)
		f.Set(series.StepS, step)
		frames = append(frames, store.AssetFrame{AssetID: id, Frame: f})
	}
	if err := p.forward.Append(frames); err != nil {
		p.t.Fatal(err)
	}
	for _, a := range frames {
		eachPoint(a.AssetID, a.Frame, func(key string, v float64) { p.truth[key] = v })
	}
}

// settle sends until nothing is left.
func (p *plant) settle() {
	p.t.Helper()
	for n := range 10_000 {
		pause := p.forward.step(p.t.Context())
		if s := p.forward.Status(); s.State == StateSending && s.Batches == 0 && pause == idlePause {
			return
		} else if n == 9999 {
			p.t.Fatalf("not settled: %+v", s)
		}
	}
}

// check compares what the service has with what was read.
func (p *plant) check() {
	p.t.Helper()
	lost, wrong := 0, 0
	for key, v := range p.truth {
		if got, ok := p.service.stored[key]; !ok {
			lost++
		} else if got != v {
			wrong++
		}
	}
	if invented := len(p.service.stored) - len(p.truth) + lost; lost+wrong+invented > 0 {
		p.t.Fatalf("%d of %d points lost, %d not as they were read last, %d invented", lost, len(p.truth), wrong, invented)
	}
	for epoch, r := range p.service.received {
		n := 0
		for _, q := range p.service.requests {
			n += q[1] - q[0] + 1
		}
		if len(p.service.received) == 1 && n != r.count(1, r.last()+1) {
			p.t.Fatalf("%s: %d batches were recorded %d times", epoch, r.count(1, r.last()+1), n)
		}
	}
}

// faults runs a gateway over a link that breaks at random, with kills of gateway and
// service at random steps, until there were enough kills.
func faults(t *testing.T, seed uint64, kills int) {
	p := newPlant(t)
	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a test is repeated by its seed
	cut, done := 0, 0
	p.service.judge = func(step string) error {
		switch {
		case cut > 0:
			return errLink
		case random.IntN(12) == 0:
			if random.IntN(2) == 0 {
				return errLink
			}
			e := *api.ErrUnavailable
			e.RetryAfter = 1
			return &e
		case random.IntN(25) == 0: // the service is killed at this step
			done++
			return errLink
		}
		return nil
	}
	for done < kills {
		if random.IntN(30) == 0 {
			cut = random.IntN(120)
		}
		p.commit(random.IntN(9) == 0)
		if cut > 0 {
			cut--
		}
		for range random.IntN(4) {
			p.forward.step(t.Context())
		}
		if random.IntN(15) == 0 {
			p.kill()
			done++
		}
	}
	cut = 0
	p.service.judge = func(string) error { return nil }
	p.settle()
	p.check()
	if s := p.forward.Status(); s.Renumbered > 0 || s.Refused > 0 || s.Damaged > 0 {
		t.Fatalf("%+v", s)
	}
}

// TestFaults loses nothing and stores nothing twice over a flaky link and kills.
func TestFaults(t *testing.T) {
	for seed := range uint64(4) {
		faults(t, seed, 25)
	}
}

// TestFiveHundredKills is the same with 500 kills of gateway, service and link.
func TestFiveHundredKills(t *testing.T) {
	longtest.Mark(t)
	faults(t, 42, 500)
}

// TestNewestFirst sends the newest minute first after a cut, then what is missing.
func TestNewestFirst(t *testing.T) {
	p := newPlant(t)
	p.commit(false)
	p.settle()
	p.service.judge = func(string) error { return errLink }
	for range 500 {
		p.commit(false)
		p.forward.step(t.Context())
	}
	if s := p.forward.Status(); s.State != StateWaiting || s.Batches != 500 || s.Acknowledged != 1 || s.LastSequence != 501 {
		t.Errorf("%+v", s)
	}
	p.service.judge = func(string) error { return nil }
	p.forward.step(t.Context())
	p.commit(false)
	p.forward.step(t.Context())
	p.settle()
	if want := "[[1 1] [496 501] [502 502] [2 495]]"; fmt.Sprint(p.service.requests) != want {
		t.Errorf("requests %v, want %s", p.service.requests, want)
	}
	p.check()
}

// TestCopiedSpool runs two gateways over copies of a spool: neither loses anything.
func TestCopiedSpool(t *testing.T) {
	p := newPlant(t)
	for range 20 {
		p.commit(false)
	}
	p.settle()
	older := t.TempDir()
	if err := os.CopyFS(older, os.DirFS(p.dir)); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		p.commit(false)
	}
	p.settle()
	// The folder is restored from a backup: its next numbers were used.
	p.dir = older
	p.kill()
	for range 5 {
		p.commit(false)
	}
	p.settle()
	p.check()
	if s := p.forward.Status(); s.Renumbered != 1 || len(p.service.received) != 2 {
		t.Errorf("%+v, epochs %v", s, slices.Collect(maps.Keys(p.service.received)))
	}
	p.kill()
	p.commit(false)
	p.settle()
	p.check()
}

// TestRefused continues behind points that the service refuses, and keeps them in a file.
func TestRefused(t *testing.T) {
	p := newPlant(t)
	p.commit(false)
	bad := series.Frame{Times: []int64{p.at.Unix()}}
	bad.Set(series.PowerKW, []float64{1e300})
	if err := p.forward.Append([]store.AssetFrame{{AssetID: "A", Frame: bad}}); err != nil {
		t.Fatal(err)
	}
	// An id that the service does not take refuses its whole batch.
	good := series.Frame{Times: []int64{p.at.Unix()}}
	good.Set(series.PowerKW, []float64{1})
	if err := p.forward.Append([]store.AssetFrame{{AssetID: " C", Frame: good}}); err != nil {
		t.Fatal(err)
	}
	p.commit(false)
	p.settle()
	p.check()
	b, err := os.ReadFile(filepath.Join(p.dir, "refused.jsonl"))
	if s := p.forward.Status(); err != nil || s.Refused != 2 || strings.Count(string(b), "\n") != 2 || !strings.Contains(string(b), "1e+300") || !strings.Contains(string(b), `" C"`) {
		t.Errorf("%+v\n%s, %v", s, b, err)
	}
	if got := p.service.received[p.spool.Epoch()]; fmt.Sprint(got) != "[{1 4}]" {
		t.Errorf("received %v", got)
	}
}

// TestNotAdmitted keeps everything while the key is refused, and asks rarely.
func TestNotAdmitted(t *testing.T) {
	p := newPlant(t)
	p.service.judge = func(string) error { return api.ErrUnauthorized }
	p.commit(false)
	if pause := p.forward.step(t.Context()); pause != refusedPause {
		t.Errorf("pause %s", pause)
	}
	if s := p.forward.Status(); s.State != StateRefused || s.Batches != 1 || s.Error == "" {
		t.Errorf("%+v", s)
	}
	p.service.judge = func(string) error { return nil }
	p.settle()
	p.check()
}

// TestClock corrects the times of a gateway whose clock is wrong, and says so.
func TestClock(t *testing.T) {
	p := newPlant(t)
	p.service.offset = -2 * time.Hour // this clock is two hours ahead
	p.commit(false)
	p.forward.step(t.Context()) // learns it; the first batch is of the future and waits
	if s := p.forward.Status(); !s.ClockWrong || *s.OffsetS != -7200 || s.Batches != 1 {
		t.Fatalf("%+v", s)
	}
	p.commit(false)
	p.forward.step(t.Context())
	want := p.at.Add(-2 * time.Hour).Truncate(time.Minute).Unix()
	if s := p.forward.Status(); s.Corrected != 1 || p.service.stored[fmt.Sprint("A ", want, " power_kw")] == 0 {
		t.Errorf("%+v, stored %v", s, p.service.stored)
	}
}

// TestKeyIsReplaced replaces the key after a month.
func TestKeyIsReplaced(t *testing.T) {
	p := newPlant(t)
	p.settle()
	p.at = p.at.Add(keyAge - time.Second)
	p.settle()
	if len(p.keys) != 0 {
		t.Errorf("keys %v", p.keys)
	}
	p.at = p.at.Add(time.Second)
	p.settle()
	p.settle()
	if fmt.Sprint(p.keys) != "[next]" {
		t.Errorf("keys %v", p.keys)
	}
}
