package feed

import (
	"sync"
	"time"
)

// The limits of how far a [Clock] is ahead of the data: the longer one counts.
const (
	maxLead     = 20 * time.Minute // of the plants' time
	maxLeadWall = 20 * time.Second // of the wall's time, at the clock's speed
)

// slowShare is the share of its speed at which a clock runs that is further ahead.
const slowShare = 1.0 / 20

// Clock is the clock of simulated plants, which runs at a multiple of the wall clock. It
// waits for the data: when it is more than 20 minutes (or 20 seconds of the wall) ahead of
// what [Clock.Imported] reported last, it runs at a twentieth of its speed, but not slower
// than the wall clock unless its speed is. A busy machine thus does not make plants look as
// if they had stopped reporting. The clock never stops and never goes back. Its methods are
// safe for concurrent use.
type Clock struct {
	start   time.Time
	speed   float64
	wallNow func() time.Time

	mu   sync.Mutex
	at   time.Time // the plants' time at wall
	wall time.Time
	data time.Time // up to which the data are imported
}

// NewClock returns a clock that shows start now and runs speed times as fast as wallNow. All
// data before start count as imported.
func NewClock(start time.Time, speed float64, wallNow func() time.Time) *Clock {
	return &Clock{start: start, speed: speed, wallNow: wallNow, at: start, wall: wallNow(), data: start}
}

// Start returns the time that the clock showed first.
func (c *Clock) Start() time.Time { return c.start }

// Now returns the plants' time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.advance()
}

// Imported reports that all data before until are imported. An earlier time than that of a
// former call changes nothing.
func (c *Clock) Imported(until time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.advance() // until now, with the data that were there
	if until.After(c.data) {
		c.data = until
	}
}

// advance moves the clock to the present and returns its time.
func (c *Clock) advance() time.Time {
	now := c.wallNow()
	passed := now.Sub(c.wall)
	if passed <= 0 {
		return c.at
	}
	c.wall = now
	if room := c.data.Add(max(maxLead, scale(maxLeadWall, c.speed))).Sub(c.at); room > 0 {
		if whole := scale(passed, c.speed); whole <= room {
			c.at = c.at.Add(whole)
			return c.at
		}
		c.at = c.at.Add(room)
		passed -= scale(room, 1/c.speed)
	}
	c.at = c.at.Add(scale(max(passed, 0), min(c.speed, max(1, c.speed*slowShare))))
	return c.at
}

func scale(d time.Duration, by float64) time.Duration { return time.Duration(float64(d) * by) }
