package simulate

import (
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// Fleet is a set of simulated sites.
type Fleet struct {
	Seed  uint64
	Start time.Time // counters begin here; nothing is reported before
	Sites []*Site
}

// Site is one simulated plant. [NewSite] prepares it; from then on its exported
// fields are only read. Its methods are safe for concurrent use.
type Site struct {
	ID, Name     string
	CustomerIDs  []string
	TerminalID   string // the data logger
	Country      string
	Location     solar.Location
	Zone         *time.Location
	Currency     string
	TariffPerKWh float64 // in Currency
	Climate      Climate
	Units        []Unit
	Faults       []Fault // what happens to it: the truth, in order of From
	Portal       Portal  // what its portal reports
	Start        time.Time

	seed  uint64
	yield func(assetID string, index int, mass float64) float64 // see [Measuring.yields]; nil for all of the power

	mu      sync.Mutex
	days    map[int]*day
	recent  []int           // days in the cache, oldest first
	totals  [][]float64     // lifetime counter of each unit at the start of day firstDay+i
	ledger  map[int][]entry // what each fault did on each day generated so far
	clipped map[int][]int   // cells in which each unit stood at its rating on each of them
}

// Portal is what the telemetry of a site holds.
type Portal int

// The three portals.
const (
	UsualPortal Portal = iota // power, counter, irradiance, ambient temperature, states and event codes
	RichPortal                // also cabinet and module temperature, AC voltage, voltage and current of two DC inputs
	BarePortal                // power alone
)

// Unit is one inverter with its part of the array.
type Unit struct {
	AssetID    string
	Name       string
	Type       string  // "inverter"
	CapacityKW float64 // AC rating
	DCRatio    float64 // array STC power over AC rating
	Plane      solar.Plane
	Tracker    bool // modules on a horizontal axis from north to south that follow the sun; Plane is then unused
	Strings    int
	NightKW    float64 // reading by night: zero or a few watts of own use
	Components []Component
}

// Component is a part of a unit that can be bought, broken and replaced.
type Component struct{ Kind, OEM, Model, Serial string }

// Climate is what the weather of a site does over the year.
type Climate struct {
	MeanC, SeasonC, DayC float64 // mean temperature, half range over the year and over a clear day, °C
	WarmestDay           float64 // day of the year
	Dry, Wet             Mix     // sky of the driest and the wettest time of the year
	WettestDay           float64 // day of the year
}

// Mix is the share of days of each kind of sky: clear, fair, broken, overcast,
// rain. It need not sum to one.
type Mix [5]float64

// CapacityKW is the sum of the units' AC ratings.
func (s *Site) CapacityKW() float64 {
	var sum float64
	for _, u := range s.Units {
		sum += u.CapacityKW
	}
	return sum
}

// NewSite prepares a site that the caller has described for telemetry from the
// site's day of start on, and returns it. Its Faults are put on the five-minute
// grid of the simulation and in order of time; a fault that names no unit
// concerns them all.
func NewSite(seed uint64, start time.Time, s *Site) *Site {
	s.Start = series.Midnight(start, s.Zone)
	s.seed = mix(seed, hashString(s.ID))
	s.SetFaults(s.Faults)
	return s
}

// SetFaults replaces what happens to the site. Telemetry asked for later is
// that of the new truth.
func (s *Site) SetFaults(faults []Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := make([]Fault, 0, len(faults))
	for i, f := range faults {
		f.SiteID = s.ID
		f.From = f.From.Truncate(cell)
		if !f.To.IsZero() {
			f.To = f.To.Truncate(cell)
		}
		if len(f.Units) == 0 {
			for _, u := range s.Units {
				f.Units = append(f.Units, u.AssetID)
			}
		}
		if f.ID == "" {
			f.ID = fmt.Sprintf("%s-%d", s.ID, i+1)
		}
		kept = append(kept, f)
	}
	sortFaults(kept)
	s.Faults = kept
	s.days, s.recent, s.totals, s.ledger = map[int]*day{}, nil, nil, map[int][]entry{}
	s.clipped = map[int][]int{}
}

// Repair ends the faults of a family that a unit has at a time: telemetry from then on
// is that of the new truth. It reports whether there was one.
func (s *Site) Repair(assetID, family string, at time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at = at.Truncate(cell)
	kept, found := slices.Clone(s.Faults), false
	for i, f := range kept {
		if f.Kind.Family() == family && f.Concerns(assetID) && f.Open(at) && f.From.Before(at) {
			kept[i].To, found = at, true
		}
	}
	if !found {
		return false
	}
	s.Faults = kept
	// Days before the repair stay as they are.
	from := s.dayIndex(at)
	maps.DeleteFunc(s.days, func(index int, _ *day) bool { return index >= from })
	maps.DeleteFunc(s.ledger, func(index int, _ []entry) bool { return index >= from })
	maps.DeleteFunc(s.clipped, func(index int, _ []int) bool { return index >= from })
	s.recent = slices.DeleteFunc(s.recent, func(index int) bool { return index >= from })
	if n := from - s.dayIndex(s.Start) + 1; n < len(s.totals) {
		s.totals = s.totals[:max(n, 1)]
	}
	return true
}

// Truth is every fault of the fleet that begins before until, in order of time.
func (f *Fleet) Truth(until time.Time) []Fault {
	var out []Fault
	for _, s := range f.Sites {
		for _, fault := range s.Faults {
			if fault.From.Before(until) {
				out = append(out, fault)
			}
		}
	}
	sortFaults(out)
	return out
}

// Site is the site with the id, or nil.
func (f *Fleet) Site(id string) *Site {
	for _, s := range f.Sites {
		if s.ID == id {
			return s
		}
	}
	return nil
}
