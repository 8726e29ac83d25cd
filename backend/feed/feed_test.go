package feed

import (
	"testing"
	"time"

	"app.sunloop/engine/simulate"
)

// TestTelemetryFromTheFirstDay checks the demo against the requests in the
// examples for clients, whenever it runs.
func TestTelemetryFromTheFirstDay(t *testing.T) {
	for _, begin := range []time.Time{
		time.Date(2025, 10, 2, 8, 0, 0, 0, time.UTC), time.Date(2026, 9, 30, 8, 0, 0, 0, time.UTC),
		time.Date(2026, 10, 2, 8, 0, 0, 0, time.UTC), time.Date(2031, 1, 1, 8, 0, 0, 0, time.UTC),
	} {
		start := Start(begin)
		if start.After(FirstDay) || begin.Sub(start) < History {
			t.Errorf("a demo of %v begins %v", begin, start)
		}
	}
	if at := FirstDay.Format(time.RFC3339); at != "2025-10-01T06:00:00Z" {
		t.Errorf("the first day is %s", at)
	}
}

// TestEveryCustomerHasASite holds the demo's fleet to the ids of the examples.
func TestEveryCustomerHasASite(t *testing.T) {
	begin := time.Date(2026, 4, 15, 8, 0, 0, 0, time.UTC)
	fleet := simulate.Demo(1, Start(begin), begin)
	owned := map[string]int{}
	for _, s := range fleet.Sites {
		owned[customerOf(s)]++
	}
	for _, s := range fleet.Sites {
		for _, c := range s.CustomerIDs {
			if owned[c] == 0 {
				t.Errorf("customer %s has no site", c)
			}
		}
	}
	first := fleet.Sites[0]
	if first.ID != "Sibaya" || first.TerminalID != "TERM-1000000054495190" || first.Units[0].AssetID != "INV-1000000054495190" || customerOf(first) != "customer123" || first.Zone.String() != "Africa/Johannesburg" {
		t.Errorf("the first site is %s of %s with %s and %s in %v", first.ID, customerOf(first), first.TerminalID, first.Units[0].AssetID, first.Zone)
	}
}
