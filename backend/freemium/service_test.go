package freemium

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/mail"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/engine/solar"
)

// world is the service over a real store, with a clock that a test turns and
// a mailbox.
type world struct {
	*Service
	store *bolt.Store

	mu       sync.Mutex
	at       time.Time
	messages []mail.Message
	fail     error
}

func (w *world) Send(_ context.Context, m mail.Message) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fail != nil {
		return w.fail
	}
	w.messages = append(w.messages, m)
	return nil
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.at
}

func (w *world) pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.at = w.at.Add(d)
}

// now is in the middle of an hour and of a day in Durban.
var now = time.Date(2026, 3, 4, 10, 20, 0, 0, time.UTC)

func newWorld(t testing.TB) *world {
	t.Helper()
	w := &world{at: now}
	var err error
	if w.store, err = bolt.Open(t.TempDir(), bolt.Options{Now: w.clock}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.store.Close(); err != nil {
			t.Error(err)
		}
	})
	if w.Service, err = New(Options{Records: w.store, Key: []byte("key of the tests"), Mail: w, Now: w.clock}); err != nil {
		t.Fatal(err)
	}
	return w
}

// code sends a code and reads it in the message.
func (w *world) code(t testing.TB, email, remote string) string {
	t.Helper()
	if err := w.SendCode(t.Context(), email, remote); err != nil {
		t.Fatal(err)
	}
	for word := range strings.FieldsSeq(w.messages[len(w.messages)-1].Text) {
		if len(word) == api.FreemiumCodeDigits && strings.Trim(word, "0123456789") == "" {
			return word
		}
	}
	t.Fatalf("no code in %q", w.messages[len(w.messages)-1].Text)
	return ""
}

// durban is the location of the tests' plant.
var durban = solar.Location{LatitudeDeg: -29.86, LongitudeDeg: 31.03}

// csvOf is hourly power of a plant of 100 kW in Durban under changing skies,
// the days before the end.
func csvOf(end time.Time, days int) string {
	r := rand.New(rand.NewPCG(1, 2))
	var b strings.Builder
	b.WriteString("timestamp,power_kw\n")
	start := end.Truncate(24*time.Hour).AddDate(0, 0, -days)
	sky := 0.8
	for t := start; t.Before(end.Truncate(time.Hour)); t = t.Add(time.Hour) {
		if t.Hour() == 0 {
			sky = 0.3 + 0.7*math.Sqrt(r.Float64())
		}
		mid := t.Add(30 * time.Minute)
		clear := solar.ClearSky(mid, solar.At(mid, durban), durban, 0).GHI / 1000 * 90
		fmt.Fprintf(&b, "%s,%.3f\n", t.Format(time.RFC3339), clear*min(1, sky*(0.8+0.3*r.Float64())))
	}
	return b.String()
}

// request is valid except for the code.
func request(code string) api.FreemiumRequest {
	return api.FreemiumRequest{Email: "ana@example.org", VerificationCode: code, SiteName: "Roof", Location: "Durban, ZA", CapacityKW: 100, TOUAccepted: true}
}

// BenchmarkYear is a year of hourly data from the file to the answer, training
// included.
func BenchmarkYear(b *testing.B) { benchmark(b, 366, modelBlend) }

// BenchmarkMonth is thirty days, which the analogs answer.
func BenchmarkMonth(b *testing.B) { benchmark(b, 30, modelAnalog) }

func benchmark(b *testing.B, days int, kind string) {
	w := newWorld(b)
	file := csvOf(now, days)
	blended := 0
	for b.Loop() {
		out, err := w.make(b.Context(), request(""), strings.NewReader(file))
		if err != nil {
			b.Fatal(err)
		}
		if out.ModelType == kind {
			blended++
		}
	}
	b.ReportMetric(float64(blended)/float64(b.N), "as-wanted/op")
}
