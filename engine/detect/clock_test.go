package detect

import (
	"testing"
	"time"
)

// A clock jumps; season and horizon move the ends of the days bit by bit. A shift towards which the
// days before had moved already is none of the clock.
func TestClockJumps(t *testing.T) {
	for _, c := range []struct {
		name  string
		of    func(day int) float64
		drift bool
	}{
		{"a jump", func(day int) float64 { return map[bool]float64{true: 16}[day >= 20] }, false},
		{"a drift", func(day int) float64 { return min(0.75*float64(day), 16) }, true},
	} {
		clock := clocks{}
		for d := range 30 {
			clock.history = append(clock.history, middle{start: int64(d) * 86400, minutes: c.of(d), stray: 3})
		}
		clock.last = clock.history[30-clockWindow:]
		if got := clock.drifted(15); got != c.drift {
			t.Errorf("%s: drifted %v", c.name, got)
		}
	}
	// After weeks without data, a quarter of an hour may be the season.
	for _, minutes := range []float64{15, 30} {
		clock := clocks{}
		for d := range clockWindow {
			clock.last = append(clock.last, middle{start: int64(d) * 86400, minutes: minutes, stray: 3})
		}
		clock.history = clock.last
		if got, want := clock.drifted(minutes), minutes == 15; got != want {
			t.Errorf("%v minutes after weeks without data: drifted %v", minutes, got)
		}
	}
}

// A shift that begins with a change of the zone's clock is the one that the change makes, if the days
// say so within a quarter of an hour.
func TestClockOfTheZone(t *testing.T) {
	denver, err := time.LoadLocation("America/Denver")
	if err != nil {
		t.Fatal(err)
	}
	s := &session{in: Input{Site: Site{Zone: denver}}}
	for _, c := range []struct {
		day         string
		shift       float64
		found, want float64
	}{
		{"2012-11-04", 0, -45, -60},
		{"2012-11-05", 0, 45, 60},
		{"2012-11-04", 0, -30, -30}, // too far from it
		{"2012-10-01", 0, -45, -45}, // no change
		{"2013-03-10", -60, -15, 0},
		{"2013-03-10", -45, 15, 0},
	} {
		from, err := time.ParseInLocation(time.DateOnly, c.day, denver)
		if err != nil {
			t.Fatal(err)
		}
		clock := clocks{shift: c.shift}
		for d := -6; d < 6; d++ {
			minutes := c.shift
			if d >= 0 {
				minutes = c.found
			}
			clock.last = append(clock.last, middle{start: from.AddDate(0, 0, d).Unix(), minutes: minutes, stray: 3})
		}
		if got, zoned := clock.byZone(s, c.found); got != c.want || zoned != (c.want != c.found) {
			t.Errorf("from %s, %v minutes found: %v, by the zone %v, want %v", c.day, c.found, got, zoned, c.want)
		}
	}
}
