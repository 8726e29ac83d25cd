package simulate

import (
	"fmt"
	"math/rand/v2"
	"time"

	"app.sunloop/engine/solar"
)

// Clean is a fleet without faults for false-alarm counts: three sites (Berlin,
// Phoenix, Chennai) of n inverters each, 10 to 100 kW.
func Clean(seed uint64, start time.Time, n int) *Fleet {
	fleet := &Fleet{Seed: seed, Start: start}
	for i, s := range []*Site{
		{ID: "Berlin", Location: solar.Location{LatitudeDeg: 52.5, LongitudeDeg: 13.4, AltitudeM: 40}, Zone: zone("Europe/Berlin", 60), Climate: havelland().Climate, Currency: "EUR", TariffPerKWh: 0.09},
		{ID: "Phoenix", Location: solar.Location{LatitudeDeg: 33.4, LongitudeDeg: -112.1, AltitudeM: 340}, Zone: zone("America/Phoenix", -420), Climate: gilaBend().Climate, Currency: "USD", TariffPerKWh: 0.06},
		{ID: "Chennai", Location: solar.Location{LatitudeDeg: 13.1, LongitudeDeg: 80.2, AltitudeM: 10}, Zone: zone("Asia/Kolkata", 330), Currency: "INR", TariffPerKWh: 4.2,
			Climate: Climate{MeanC: 28.5, SeasonC: 3.5, DayC: 4, WarmestDay: 145, WettestDay: 310, Dry: Mix{45, 32, 15, 6, 2}, Wet: Mix{8, 20, 30, 22, 20}}},
	} {
		plane := []solar.Plane{{TiltDeg: 30, AzimuthDeg: 180}, {TiltDeg: 25, AzimuthDeg: 180}, {TiltDeg: 5, AzimuthDeg: 180}}[i]
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		sizes := make([]float64, n)
		for k := range sizes {
			sizes[k] = float64(10 + 5*r.IntN(19))
		}
		s.Name = s.ID
		s.Units = units(s.ID+"-", 4000000000000000+int64(seed)*1000, "Make Model", 12, sizes, []solar.Plane{plane})
		fleet.Sites = append(fleet.Sites, NewSite(seed, start, s))
	}
	return fleet
}

// Labelled is [Clean] with faults of the given kinds injected over the days
// from start, no two of them on a unit within two days of each other: the
// fleets that detection is scored on. A unit has about one short fault in 25
// days, or one of those that last weeks in 200, and never more than a third of
// a site's units have one of the latter at a time. They begin after 30 days.
func Labelled(seed uint64, start time.Time, n, days int, kinds ...Kind) *Fleet {
	fleet := Clean(seed, start, n)
	for i, s := range fleet.Sites {
		r := rand.New(rand.NewPCG(seed+1, uint64(i)))
		var faults []Fault
		quiet := make([]int, n) // first day each unit may have its next fault
		for k := range quiet {
			quiet[k] = 8
		}
		for d := 8; d < days; d++ {
			kind, unit, rate := kinds[r.IntN(len(kinds))], r.IntN(n), 25.0
			if slow(kind) {
				rate = 200
				if d < 30 {
					continue
				}
			}
			if r.Float64() > float64(n)/rate {
				continue
			}
			f, last := inject(r, s, kind, day0(s, start, d))
			var hit []int
			if kind == SiteOutage || kind == Curtailment || kind == CommunicationGap && r.IntN(5) == 0 {
				for k := range quiet {
					hit = append(hit, k)
				}
			} else {
				hit = []int{unit}
			}
			free := true
			for _, k := range hit {
				free = free && quiet[k] <= d
			}
			open := 0
			for _, q := range quiet {
				if q > d {
					open++
				}
			}
			if !free || slow(kind) && 3*(open+1) > n {
				continue
			}
			f.ID = fmt.Sprintf("%s-%d", s.ID, len(faults)+1)
			for _, k := range hit {
				f.Units = append(f.Units, s.Units[k].AssetID)
				quiet[k] = d + int(last.Hours()/24) + 4
			}
			faults = append(faults, f)
		}
		s.SetFaults(faults)
	}
	return fleet
}
