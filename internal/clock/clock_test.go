package clock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestSleep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := Sleep(t.Context(), time.Hour); err != nil {
			t.Errorf("sleep: %v", err)
		}
		if took := time.Since(start); took != time.Hour {
			t.Errorf("slept %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("sleep beyond the deadline: %v", err)
		}
		if took := time.Since(start); took != time.Hour+time.Minute {
			t.Errorf("the deadline ended the sleep after %v", took)
		}
		for _, d := range []time.Duration{0, -time.Second} {
			if err := Sleep(ctx, d); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("sleep %v after the deadline: %v", d, err)
			}
		}
	})
}

// TestWait asserts that each of the three ends a wait.
func TestWait(t *testing.T) {
	woken := make(chan struct{}, 1)
	woken <- struct{}{}
	Wait(t.Context(), time.Hour, woken)
	Wait(t.Context(), time.Nanosecond, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	Wait(ctx, time.Hour, nil)
	if len(woken) != 0 {
		t.Error("what ended the wait is still there")
	}
}
