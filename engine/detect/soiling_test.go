package detect

import (
	"math"
	"testing"

	"app.sunloop/engine/loss"
)

// declining are the figures of 45 days: 30 at one, with a day of a faulty sensor among
// them, and then 0.3 % less on each.
func declining() (points []point) {
	for d := range 45 {
		y := 1 + 0.001*math.Sin(float64(7*d))
		if d >= 30 {
			y -= 0.003 * float64(d-29)
		}
		if d == 12 {
			y = 1.23
		}
		points = append(points, point{float64(d), int64(d) * 86400, y})
	}
	return points
}

// A single day of false readings moves neither the beginning of a decline nor the level
// before it. With less than the best explanation required, the beginning is later, and the
// level the same.
func TestBeginningOfADecline(t *testing.T) {
	best, level := changePoint(declining(), 1)
	if best < 27 || best > 31 || math.Abs(level-1) > 0.002 {
		t.Errorf("it begins on day %d from %.4f, want 29 from 1", best, level)
	}
	late, level := changePoint(declining(), 0.5)
	if late <= best || late > 40 || math.Abs(level-1) > 0.003 {
		t.Errorf("half of the explanation: day %d from %.4f, want one after %d", late, level, best)
	}
}

// What dirt costs follows the figures: it grows on a line between days that have one, also
// if rain washed it off in between, and stays as it was after the last.
func TestEnergyOfDirt(t *testing.T) {
	day := func(d int, yield float64) point { return point{float64(d), int64(d) * 86400, yield} }
	cost := func(course []point, days int) float64 {
		s := &session{}
		for d := range days {
			var l loss.Ledger
			l.Add(int64(d)*86400+43200, int64(d)*86400+46800, 90)
			s.produced = append(s.produced, producedDay{int64(d) * 86400, l})
		}
		o := &soiling{record: &record{}, clean: 1, course: course}
		o.book(s, int64(days)*86400)
		return o.record.losses.Total()
	}
	share := func(x float64) float64 { return 90 * x / (1 - x) }
	want := 0.0
	for d := range 10 {
		want += share(0.01 * float64(d))
	}
	line := []point{day(0, 1), day(5, 0.95), day(10, 0.9), day(15, 0.85)}
	if got := cost(line, 10); math.Abs(got-want) > 0.01 {
		t.Errorf("ten days of 1 %% a day cost %.2f kWh, want %.2f", got, want)
	}
	last := []point{day(0, 1), day(1, 0.9), day(2, 0.9)}
	want = 19 * share(0.1)
	if got := cost(last, 20); math.Abs(got-want) > 0.01 {
		t.Errorf("after the last figure: %.2f kWh, want %.2f", got, want)
	}
	washed := []point{day(0, 1), day(1, 0.9), day(2, 0.9), day(12, 1), day(12, 1)}
	want = 2 * share(0.1)
	for d := 3; d < 12; d++ {
		want += share(0.1 * float64(12-d) / 10)
	}
	if got := cost(washed, 20); math.Abs(got-want) > 0.01 {
		t.Errorf("washed between day 2 and 12: %.2f kWh, want %.2f", got, want)
	}
}

// A loss that has grown for weeks and then no more has stayed.
func TestDirtThatStays(t *testing.T) {
	o := &soiling{}
	for d := range 75 {
		o.course = append(o.course, point{float64(d), int64(d) * 86400, 1 - 0.003*float64(min(d, 40)) + 0.002*math.Sin(float64(5*d))})
		if got, want := o.stays(), d >= 68; got != want && (d < 60 || d > 72) {
			t.Errorf("day %d: it stays: %v", d, got)
		}
	}
}
