package laws

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/exp/teatest"
	"github.com/charmbracelet/x/vt"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/engine/simulate"
	"app.sunloop/themes"
	"app.sunloop/tui"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
)

// console is a console over an installation, in a terminal that keeps its screen.
type console struct {
	*tui.Model
	out *terminal.Output

	mu     sync.Mutex
	screen *vt.Emulator
	drawn  chan struct{}
}

// Write draws on the terminal.
func (c *console) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.screen.Write(p)
	select {
	case c.drawn <- struct{}{}:
	default:
	}
	return n, err
}

func (c *console) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	_, cmd := c.Model.Update(msg)
	return c, cmd
}

func (c *console) View() string {
	frame := c.Model.View()
	_, _ = c.out.Write(nil) // to memory
	return frame
}

// text is what the terminal shows.
func (c *console) text() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.screen.String()
}

// show opens a console of an installation for the length of a test, whose clock is
// ahead by what a test adds. Its program is the second value.
func (h *installation) show(t *testing.T, ahead *atomic.Int64, width, height int) (*console, *teatest.TestModel) {
	t.Helper()
	theme, ok := themes.Find(themes.Builtin(), themes.ControlRoom)
	if !ok {
		t.Fatal("there is no theme of the control room")
	}
	o := tui.Options{
		Client: client.New(client.Options{Transport: client.InProcess(h.service.Handler()), Credential: h.key}), Source: "embedded", Now: func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }, Keys: keymap.Default(),
		Log: slog.New(slog.DiscardHandler), Theme: theme, Themes: themes.Builtin(), Profile: themes.TrueColor, Pen: chart.Braille, Exports: t.TempDir(),
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := &console{screen: vt.NewEmulator(width, height), drawn: make(chan struct{}, 1)}
	c.out = terminal.NewOutput(c, terminal.OutputOptions{})
	if _, err := c.out.WriteString("\x1b[?1049h"); err != nil {
		t.Fatal(err)
	}
	c.Model = tui.New(ctx, o, c.out, nil)
	program := teatest.NewTestModel(t, c, teatest.WithInitialTermSize(width, height))
	t.Cleanup(func() {
		cancel()
		if err := program.Quit(); err != nil {
			t.Error(err)
		}
		program.WaitFinished(t, teatest.WithFinalTimeout(time.Minute))
		o.Client.Close()
		_ = c.screen.Close() // memory
	})
	return c, program
}

// quantity matches a power or an energy in the header: three digits and a unit that
// fits.
const quantity = `(-?[\d.]+ (?:W|kW|MW|Wh|kWh|MWh))`

var header = map[string]*regexp.Regexp{
	"power":        regexp.MustCompile(`^` + quantity),
	"expected":     regexp.MustCompile(`of ` + quantity + ` expected`),
	"today":        regexp.MustCompile(quantity + ` today`),
	"P50":          regexp.MustCompile(`\(P50 ` + quantity + `\)`),
	"PR":           regexp.MustCompile(`PR (\d+ %)`),
	"availability": regexp.MustCompile(`availability ([\d.]+ %)`),
	"units":        regexp.MustCompile(`units (\d+)/(\d+)`),
}

// written reports whether a text is a rounding of a value in kW, kWh or percent.
func written(text string, value float64) bool {
	number, unit, _ := strings.Cut(text, " ")
	x, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return false
	}
	digits := 0
	if _, fraction, ok := strings.Cut(number, "."); ok {
		digits = len(fraction)
	}
	scale := map[string]float64{"W": 1e-3, "Wh": 1e-3, "kW": 1, "kWh": 1, "MW": 1e3, "MWh": 1e3, "%": 1}[unit]
	place := math.Pow(10, -float64(digits)) // of the last digit
	return math.Abs(x*scale-value) <= scale*place*0.5001
}

// differences are the figures of a header that are not those of a summary, and those
// that one of them lacks. A narrow header may leave figures out.
func differences(line string, s api.SiteSummary, narrow bool) (out []string) {
	check := func(name string, group int, value *float64) {
		m := header[name].FindStringSubmatch(line)
		switch {
		case m == nil && narrow, m == nil && value == nil:
		case m == nil:
			out = append(out, fmt.Sprintf("%s %v is not shown", name, *value))
		case value == nil:
			out = append(out, fmt.Sprintf("%s %s is unknown", name, m[group]))
		case !written(m[group], *value):
			out = append(out, fmt.Sprintf("%s is %v, shown is %s", name, *value, m[group]))
		}
	}
	if s.HasPower() {
		check("power", 1, &s.TotalPowerKW)
		check("expected", 1, s.ExpectedPowerKW)
		if m := header["units"].FindStringSubmatch(line); m != nil && m[1]+"/"+m[2] != fmt.Sprintf("%d/%d", s.ActiveInverters, s.TotalInverters) {
			out = append(out, fmt.Sprintf("units %s are %d/%d", m[0], s.ActiveInverters, s.TotalInverters))
		}
	} else if !strings.Contains(line, "power unknown") {
		out = append(out, "power is unknown")
	}
	if s.HasEnergy() {
		check("today", 1, &s.TotalKWhToday)
	} else if !strings.Contains(line, "energy unknown today") {
		out = append(out, "the energy of today is unknown")
	}
	check("P50", 1, s.ExpectedKWhToday)
	check("PR", 1, s.FleetPRPct)
	check("availability", 1, s.FleetAvailabilityPct)
	return out
}

// TestHeader holds the figures of the console's header against the summary of the API
// of the same site and moment: in a plant with a forecast and a fault, after more
// data, and on the next day.
func TestHeader(t *testing.T) {
	v := newTally()
	for _, seed := range seeds(t, 1) {
		headerLaws(t, v, seed)
	}
	v.report(t)
}

func headerLaws(t *testing.T, v *tally, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 3))
	const zoneName = "Europe/Berlin"
	zone, err := time.LoadLocation(zoneName)
	if err != nil {
		t.Fatal(err)
	}
	midnight := time.Date(2026, 6, 10+r.IntN(12), 0, 0, 0, 0, zone)
	s := simulate.Clean(seed, midnight.AddDate(0, 0, -70), 1).Sites[0]
	s.SetFaults([]simulate.Fault{{ID: "f", Kind: simulate.StringLoss, Units: []string{s.Units[0].AssetID}, From: midnight.Add(time.Duration(7+r.IntN(3)) * time.Hour), To: midnight.AddDate(0, 0, 2), Severity: 0.5}})
	first := midnight.Add(time.Duration(10*60+15*r.IntN(12)) * time.Minute)
	h := open(t, first, 60)
	defer h.down()
	feed := func(kind string, from, to time.Time, step time.Duration) {
		var b bytes.Buffer
		if err := s.WriteCSV(&b, from, to, step); err != nil {
			t.Fatal(err)
		}
		if _, err := h.upload(kind, api.UploadRequest{SiteID: s.ID, Location: "52.5,13.4", Timezone: zoneName}, b.String()); err != nil {
			t.Fatal(err)
		}
	}
	where := fmt.Sprintf("seed %d (SUNLOOP_TEST_LAWS_SEED=%d repeats it)", seed, seed)
	h.set(midnight)
	feed(api.UploadTrain, midnight.AddDate(0, 0, -66), midnight, time.Hour)
	h.set(first)
	feed(api.UploadNowcast, midnight, first, 15*time.Minute)
	var ahead atomic.Int64
	wide, program := h.show(t, &ahead, 200, 60)
	narrow, second := h.show(t, &ahead, 80, 24)
	moment := func(name string, complete bool) {
		ahead.Add(int64(2 * time.Minute)) // a console may ask again
		program.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{'r'}})
		second.Send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{'r'}})
		for _, c := range []*console{wide, narrow} {
			var sum *api.SiteSummaryResponse
			var bad []string
			line := ""
			for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); {
				if sum, err = h.SiteSummary(t.Context(), api.SiteRef{CustomerID: customer, SiteID: s.ID}); err != nil {
					t.Fatal(err)
				}
				bad, line = []string{"there is no header"}, ""
				for text := range strings.Lines(c.text()) {
					if header["today"].MatchString(text) || strings.Contains(text, "energy unknown today") {
						line = strings.TrimSpace(text)
						bad = differences(line, sum.Summary, c == narrow)
						break
					}
				}
				if len(bad) == 0 {
					break
				}
				select {
				case <-c.drawn:
				case <-time.After(100 * time.Millisecond):
				}
			}
			v.hold("the console's header is the summary", len(bad) == 0, "%s: %s: %v in %q", where, name, bad, line)
			x := sum.Summary
			all := x.HasPower() && x.ExpectedPowerKW != nil && x.ExpectedKWhToday != nil && x.FleetPRPct != nil && x.FleetAvailabilityPct != nil
			v.hold("the summary of a day with data has all figures", all || !complete, "%s: %s: %+v", where, name, x)
		}
	}
	moment("after the first data of the day", true)
	later := first.Add(90 * time.Minute)
	h.set(later)
	feed(api.UploadNowcast, first, later, 5*time.Minute)
	moment("after data of a shorter step", true)
	h.set(later.Add(4 * time.Hour))
	moment("four hours without data", false)
	h.set(midnight.AddDate(0, 0, 1).Add(30 * time.Minute))
	moment("on the next day", false)
}
