package pipeline

import (
	"testing"
	"time"
)

func TestPlannerRests(t *testing.T) {
	for _, c := range []struct{ tick, took, want time.Duration }{
		{time.Second, 10 * time.Millisecond, time.Second},
		{time.Second, 2 * time.Second, 18 * time.Second},
		{time.Second, time.Minute, mostRest},
		{time.Second, 48 * time.Hour, mostRest}, // a clock that was put forward
		{time.Second, -48 * time.Hour, time.Second},
		{time.Minute, time.Hour, time.Minute},
	} {
		if got := rest(c.tick, c.took); got != c.want {
			t.Errorf("after %v with a tick of %v it rests %v, want %v", c.took, c.tick, got, c.want)
		}
	}
}
