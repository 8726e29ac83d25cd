package forward

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"time"

	"github.com/klauspost/compress/gzip"

	"app.sunloop/backend/api"
)

// appendText appends a text as JSON.
func appendText(b []byte, s string) []byte {
	text, err := json.Marshal(s)
	if err != nil {
		return append(b, `""`...) // a string can be marshalled
	}
	return append(b, text...)
}

// write sends a request and measures the offset of the clock by its response.
func (f *Forwarder) write(ctx context.Context, q api.WriteQuery, packed []byte) (*api.WriteResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	before := f.options.Now()
	r, err := f.options.Service.WriteTelemetry(ctx, q, packed)
	if err != nil {
		return nil, err
	}
	f.measure(before, f.options.Now(), r.ServiceTime.Time)
	return r, nil
}

// measure takes the clock's offset: the service's time less the middle of the request,
// which is known to half its duration and to the second of the service's time.
func (f *Forwarder) measure(before, after, service time.Time) {
	took := after.Sub(before)
	if service.IsZero() || took < 0 || took > timeLimit {
		return
	}
	offset := service.Sub(before.Add(took / 2))
	if offset.Abs() < took/2+time.Second {
		offset = 0
	}
	f.mu.Lock()
	was := f.offset
	f.offset, f.hasOffset = offset, true
	f.mu.Unlock()
	switch {
	case offset.Abs() > correctOffset && was.Abs() <= correctOffset:
		f.options.Log.Warn("clock is wrong: times of samples are corrected by the clock of the service", "offset", offset.Round(time.Second).String())
	case offset.Abs() > warnOffset && was.Abs() <= warnOffset:
		f.options.Log.Warn("clock differs from that of the service", "offset", offset.Round(time.Second).String())
	}
}

// send sends the batches of a plan.
func (f *Forwarder) send(ctx context.Context, p *plan) error {
	text := body(p.frames)
	sum := sha256.Sum256(text)
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
	if err != nil {
		return err
	}
	if _, err := z.Write(text); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	q := f.query()
	q.Sequence, q.SHA256, q.Invalid = p.last, hex.EncodeToString(sum[:]), api.InvalidSkip
	if p.first != p.last {
		q.FirstSequence = p.first
	}
	r, err := f.write(ctx, q, packed.Bytes())
	var refusal *api.Error
	if errors.As(err, &refusal) {
		return f.refuse(ctx, p, text, refusal)
	}
	if err != nil {
		f.unsync()
		return err
	}
	f.mu.Lock()
	f.received, f.sentAt = union(rangesOf(r.Received), f.lost), f.options.Now()
	f.note()
	f.mu.Unlock()
	if r.Invalid > 0 {
		f.setAside(r.Invalid, map[string]any{"at": api.At(f.options.Now()), "first_sequence": p.first, "sequence": p.last, "invalid": r.Invalid, "points": r.InvalidPoints})
	}
	return nil
}

// unsync asks the service before the next batch what it has: the outcome of a request is
// not known.
func (f *Forwarder) unsync() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.synced = false
}

// refuse handles a request that the service refused.
func (f *Forwarder) refuse(ctx context.Context, p *plan, text []byte, e *api.Error) error {
	switch {
	case errors.Is(e, api.ErrBatchChanged):
		return f.renumber(p.first)
	case e.Status == http.StatusConflict:
		f.unsync()
		return e
	case e.Status == http.StatusBadRequest || e.Status == http.StatusRequestEntityTooLarge || e.Status == http.StatusUnprocessableEntity:
		if p.first != p.last {
			return f.halve(ctx, p)
		}
		// One batch is refused as a whole: its number is used without it.
		f.setAside(p.points, map[string]any{"at": api.At(f.options.Now()), "sequence": p.last, "error": e.Message, "details": e.Details, "body": json.RawMessage(text)})
		return f.send(ctx, &plan{first: p.first, last: p.last})
	}
	f.unsync()
	return e
}

// halve sends the first half of the batches of a plan.
func (f *Forwarder) halve(ctx context.Context, p *plan) error {
	half, err := f.part(p.first, p.first+(p.last-p.first+1)/2-1)
	if err != nil || half == nil {
		return err
	}
	return f.send(ctx, half)
}

// setAside counts points that the service refused, and writes them to a file of bounded
// size.
func (f *Forwarder) setAside(points int, what map[string]any) {
	f.mu.Lock()
	f.refused += points
	f.mu.Unlock()
	f.options.Log.Warn("service refused samples", "points", points, "file", f.options.Refused)
	if err := appendLine(f.options.Refused, what); err != nil {
		f.options.Log.Warn("writing refused samples failed", "error", err.Error())
	}
}

func appendLine(path string, what any) error {
	b, err := json.Marshal(what)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	if st, err := file.Stat(); err != nil || st.Size()+int64(len(b)) > maxRefused {
		return errors.Join(err, fmt.Errorf("%s has %d bytes, which is the most", path, maxRefused))
	}
	_, err = file.Write(append(b, '\n'))
	return err
}

// succeed records that the service was reached.
func (f *Forwarder) succeed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.state != StateSending {
		f.options.Log.Info("service reached")
	}
	f.state, f.failures, f.lastErr = StateSending, 0, nil
}

// fail records a failure and returns the pause before the next attempt.
func (f *Forwarder) fail(ctx context.Context, err error) time.Duration {
	if ctx.Err() != nil {
		return minPause
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures++
	state := StateWaiting
	pause, e := pauseAfter(f.failures, err)
	if e != nil && e.Status >= 400 && e.Status < 500 && e.Status != http.StatusRequestTimeout && e.Status != http.StatusTooManyRequests && e.Status != http.StatusConflict {
		state, pause = StateRefused, refusedPause
	}
	if f.state != state || f.failures == 1 {
		f.options.Log.Warn("sending samples failed", "state", state, "error", err.Error())
	}
	f.state, f.lastErr, f.errorAt = state, err, f.options.Now()
	return pause
}

// pauseAfter returns the pause after failures in a row, the last of which is err. If the
// service responded, and named no time for the next attempt, its response is e.
func pauseAfter(failures int, err error) (pause time.Duration, e *api.Error) {
	pause = min(minPause<<min(failures-1, 9), maxPause)
	pause = pause/2 + rand.N(pause/2+1) //nolint:gosec // no secret: gateways do not come back together
	if errors.As(err, &e) && e.RetryAfter > 0 {
		return max(time.Duration(e.RetryAfter)*time.Second, minPause), nil
	}
	return pause, e
}

// renewKey replaces a key that is old.
func (f *Forwarder) renewKey(ctx context.Context) {
	now := f.options.Now()
	f.mu.Lock()
	due := !f.keyMade.IsZero() && now.Sub(f.keyMade) >= keyAge && now.Sub(f.keyTried) >= keyRetry
	if due {
		f.keyTried = now
	}
	f.mu.Unlock()
	if !due || f.options.SaveKey == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, timeLimit)
	defer cancel()
	r, err := f.options.Service.RotateGatewayKey(ctx)
	if err == nil {
		err = f.options.SaveKey(r.APIKey)
	}
	if err != nil {
		f.options.Log.Warn("key replacement failed", "error", err.Error())
		return
	}
	f.options.Log.Info("key replaced", "api_key_id", r.APIKeyID)
	f.mu.Lock()
	f.keyMade = now
	f.mu.Unlock()
}

// Status is the state of a Forwarder.
type Status struct {
	State        string     `json:"state"`
	Error        string     `json:"error,omitempty"`
	ErrorAt      *time.Time `json:"error_at,omitempty"`
	GatewayID    string     `json:"gateway_id"`
	Batches      int        `json:"batches"`               // that wait
	Points       int64      `json:"points"`                // of them, about
	Acknowledged int        `json:"acknowledged_sequence"` // all batches up to it are stored
	LastSequence int        `json:"last_sequence"`
	LastAck      *time.Time `json:"last_acknowledged_at,omitempty"`
	Refused      int        `json:"refused_points"`
	OffsetS      *float64   `json:"clock_offset_s,omitempty"` // the service's clock less this one's
	ClockWrong   bool       `json:"clock_wrong"`
	Corrected    int        `json:"corrected_batches"`
	Renumbered   int        `json:"renumbered"`
	SpoolBytes   int64      `json:"spool_bytes"`
	SpoolMax     int64      `json:"spool_max_bytes"`
	Full         bool       `json:"nearly_full"` // more than 80 % of the room is used
	Damaged      int        `json:"damaged_records"`
	Dropped      int64      `json:"dropped_points"` // that were never sent, as the spool was full
}

// NeedsAttention reports whether a person has something to do.
func (s Status) NeedsAttention() bool {
	return s.State == StateRefused || s.Full || s.ClockWrong || s.Refused > 0 || s.Dropped > 0 || s.Damaged > 0
}

// Status returns the state.
func (f *Forwarder) Status() Status {
	st := f.options.Spool.Status()
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Status{State: f.state, GatewayID: f.options.GatewayID, LastSequence: st.Next - 1, Acknowledged: f.received.missing(st.First) - 1, Refused: f.refused, Corrected: f.corrected,
		Renumbered: f.renewed, SpoolBytes: st.Bytes, SpoolMax: st.MaxBytes, Full: float64(st.Bytes) > alarmShare*float64(st.MaxBytes), Damaged: st.Damaged, Dropped: st.Dropped.Points}
	s.Batches = max(st.Batches-f.received.count(st.First, st.Next), 0)
	if st.Batches > 0 {
		s.Points = st.Points * int64(s.Batches) / int64(st.Batches)
	}
	if f.lastErr != nil {
		at := f.errorAt
		s.Error, s.ErrorAt = f.lastErr.Error(), &at
	}
	if !f.sentAt.IsZero() {
		at := f.sentAt
		s.LastAck = &at
	}
	if f.hasOffset {
		offset := f.offset.Seconds()
		s.OffsetS, s.ClockWrong = &offset, f.offset.Abs() > correctOffset
	}
	return s
}
