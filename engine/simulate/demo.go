package simulate

import (
	"fmt"
	"math"
	"time"

	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// Demo returns the fleet of the demonstration: three sites in different
// climates with 24 inverters, telemetry from start, and a year of faults placed
// relative to now. At now an inverter has been down for more than a day, another lost
// strings three weeks ago, one site is soiled, one unit has not reported for hours or was silent
// within the last day, and a site has been curtailed on recent days; older
// faults are over. New faults occur for 60 days after now. To continue a fleet
// later, call Demo with the same seed, start and now.
func Demo(seed uint64, start, now time.Time) *Fleet {
	fleet := &Fleet{Seed: seed, Start: start}
	for _, s := range []*Site{sibaya(), havelland(), gilaBend()} {
		fleet.Sites = append(fleet.Sites, NewSite(seed, start, s))
	}
	p := plan{fleet: fleet, now: now, faults: map[string][]Fault{}}
	p.present()
	p.past()
	p.future()
	for _, s := range fleet.Sites {
		s.SetFaults(p.faults[s.ID])
	}
	return fleet
}

func sibaya() *Site {
	return &Site{
		ID: "Sibaya", Name: "Sibaya", CustomerIDs: []string{"customer123", "demo-customer"},
		TerminalID: "TERM-1000000054495190", Country: "ZA",
		Location: solar.Location{LatitudeDeg: -29.652, LongitudeDeg: 31.062, AltitudeM: 60}, Zone: zone("Africa/Johannesburg", 120),
		Currency: "ZAR", TariffPerKWh: 1.85,
		Climate: Climate{MeanC: 21, SeasonC: 4, DayC: 4, WarmestDay: 35, WettestDay: 5,
			Dry: Mix{55, 25, 12, 6, 2}, Wet: Mix{18, 28, 26, 14, 14}},
		Units: units("INV-", 1000000054495190, "Sungrow SG", 12, []float64{100, 50, 50, 60, 110, 25, 50, 100},
			[]solar.Plane{{TiltDeg: 22, AzimuthDeg: 0}}),
	}
}

func havelland() *Site {
	return &Site{
		ID: "Havelland", Name: "Havelland", CustomerIDs: []string{"demo-customer"},
		TerminalID: "TERM-2000000031407700", Country: "DE",
		Location: solar.Location{LatitudeDeg: 52.545, LongitudeDeg: 12.65, AltitudeM: 35}, Zone: zone("Europe/Berlin", 60),
		Currency: "EUR", TariffPerKWh: 0.087,
		Climate: Climate{MeanC: 9.8, SeasonC: 9.5, DayC: 5, WarmestDay: 200, WettestDay: 345,
			Dry: Mix{22, 28, 24, 14, 12}, Wet: Mix{6, 10, 22, 38, 24}},
		Units: units("INV-", 2000000031407700, "SMA STP", 10, []float64{50, 50, 25, 60, 60, 100, 10, 75},
			// A roof: the last three face east and west.
			[]solar.Plane{{TiltDeg: 30, AzimuthDeg: 180}, {TiltDeg: 30, AzimuthDeg: 180}, {TiltDeg: 30, AzimuthDeg: 180}, {TiltDeg: 30, AzimuthDeg: 180},
				{TiltDeg: 30, AzimuthDeg: 180}, {TiltDeg: 12, AzimuthDeg: 95}, {TiltDeg: 12, AzimuthDeg: 95}, {TiltDeg: 12, AzimuthDeg: 275}}),
	}
}

func gilaBend() *Site {
	return &Site{
		ID: "Gila-Bend", Name: "Gila Bend", CustomerIDs: []string{"demo-customer"},
		TerminalID: "TERM-3000000087210040", Country: "US",
		Location: solar.Location{LatitudeDeg: 32.96, LongitudeDeg: -112.71, AltitudeM: 225}, Zone: zone("America/Phoenix", -420),
		Currency: "USD", TariffPerKWh: 0.064,
		Climate: Climate{MeanC: 23, SeasonC: 11, DayC: 8, WarmestDay: 205, WettestDay: 20,
			Dry: Mix{72, 20, 6, 1.5, 0.5}, Wet: Mix{48, 24, 14, 8, 6}},
		Units: units("INV-", 3000000087210040, "Fronius Tauro", 16, []float64{100, 100, 100, 50, 50, 110, 110, 60},
			[]solar.Plane{{TiltDeg: 25, AzimuthDeg: 180}}),
	}
}

// units are inverters with consecutive asset ids.
func units(prefix string, first int64, model string, strings int, sizesKW []float64, planes []solar.Plane) []Unit {
	out := make([]Unit, len(sizesKW))
	for i, kw := range sizesKW {
		serial := fmt.Sprint(first + int64(i))
		oem, name := model, ""
		for k, c := range model {
			if c == ' ' {
				oem, name = model[:k], model[k+1:]
				break
			}
		}
		night := 0.0
		if i%3 == 1 {
			night = -0.008
		}
		out[i] = Unit{
			AssetID: prefix + serial, Name: fmt.Sprintf("Inverter %d", i+1), Type: "inverter",
			CapacityKW: kw, DCRatio: 1.25, Plane: planes[i%len(planes)], NightKW: night,
			Strings: max(4, int(math.Round(float64(strings)*kw/75))),
			Components: []Component{
				{"inverter", oem, fmt.Sprintf("%s %g", name, kw), serial},
				{"modules", "JA Solar", "JAM72S30-545/MR", "M" + serial[6:]},
				{"logger", oem, "Data logger", "L" + serial[:10]},
			},
		}
	}
	return out
}

// zone loads a time zone; where the system has no zone data, the zone's
// standard offset serves (none of the demo's dates are then wrong by more than
// the hour of summer time).
func zone(name string, standardMinutes int) *time.Location {
	loc, err := time.LoadLocation(name)
	if err != nil {
		return time.FixedZone(name, standardMinutes*60)
	}
	return loc
}

// plan collects the faults of a demo.
type plan struct {
	fleet  *Fleet
	now    time.Time
	faults map[string][]Fault
}

func (p *plan) add(s *Site, f Fault, units ...int) {
	for _, u := range units {
		f.Units = append(f.Units, s.Units[u].AssetID)
	}
	f.ID = fmt.Sprintf("%s-%s-%d", s.ID, f.Kind, len(p.faults[s.ID])+1)
	p.faults[s.ID] = append(p.faults[s.ID], f)
}

// clock is the latest instant at or before t that shows hour:00 on the site.
func clock(s *Site, t time.Time, hour int) time.Time {
	y, m, d := t.In(s.Zone).Date()
	at := time.Date(y, m, d, hour, 0, 0, 0, s.Zone)
	for at.After(t) {
		d--
		at = time.Date(y, m, d, hour, 0, 0, 0, s.Zone)
	}
	return at
}

// sunny returns the last n days before t on which the sky was clear or fair, as
// their instants of hour:00; none earlier than 40 days before t.
func sunny(s *Site, t time.Time, hour, n int) []time.Time {
	var out []time.Time
	for back := range 40 {
		at := clock(s, t.AddDate(0, 0, -back), hour)
		if len(out) < n && s.Sunny(at) {
			out = append(out, at)
		}
	}
	return out
}

// present places the faults that are active at now.
func (p *plan) present() {
	sib, hav, gil := p.fleet.Sites[0], p.fleet.Sites[1], p.fleet.Sites[2]

	// The outage is at the first site, at which the demo begins, or at the one with the
	// highest sun while the first has little. It began more than a day ago, so that its
	// alarm is critical, and lasts until it is repaired.
	site, best := sib, elevation(sib, p.now)
	if best < 15 {
		for _, s := range p.fleet.Sites {
			if e := elevation(s, p.now); e > best {
				site, best = s, e
			}
		}
	}
	from := p.now.Add(-26 * time.Hour)
	if elevation(site, from) < 10 {
		from = clock(site, p.now.Add(-25*time.Hour), 12)
	}
	p.add(site, Fault{Kind: UnitOutage, From: from, Cause: "power stage failed, unit locked out"}, 2)

	p.add(sib, Fault{Kind: StringLoss, From: clock(sib, p.now.AddDate(0, 0, -21), 10), Severity: 2.0 / float64(sib.Units[4].Strings), Code: 1 << 12, Cause: "string fuses blown"}, 4)
	p.add(gil, Fault{Kind: Soiling, From: clock(gil, p.now.AddDate(0, 0, -50), 6), Severity: 0.003, Cause: "dust, no rain"})

	gap := clock(hav, p.now.Add(-2*time.Hour), 10)
	p.add(hav, Fault{Kind: CommunicationGap, From: gap, To: gap.Add(5 * time.Hour), Cause: "RS485 line to the logger interrupted"}, 3)

	for _, at := range sunny(sib, p.now.Add(-6*time.Hour), 10, 3) {
		p.add(sib, Fault{Kind: Curtailment, From: at, To: at.Add(5 * time.Hour), Severity: 0.5, Cause: "export limit of the grid operator"})
	}
}

// past places the faults that were repaired.
func (p *plan) past() {
	sib, hav, gil := p.fleet.Sites[0], p.fleet.Sites[1], p.fleet.Sites[2]
	ago := func(s *Site, days, hour int) time.Time { return clock(s, p.now.AddDate(0, 0, -days), hour) }
	for _, f := range []struct {
		site  *Site
		days  int // before now
		hour  int
		last  time.Duration
		fault Fault
		units []int
	}{
		{sib, 230, 9, 96 * time.Hour, Fault{Kind: UnitOutage, Code: 1 << 14, Cause: "control board replaced under warranty"}, []int{6}},
		{sib, 133, 8, 30 * time.Hour, Fault{Kind: CommunicationGap, Cause: "logger lost its modem"}, nil},
		{sib, 62, 11, 5 * time.Hour, Fault{Kind: UnitOutage, Code: 1 << 2, Cause: "AC breaker tripped, reset on site"}, []int{0}},
		{hav, 200, 13, 3 * time.Hour, Fault{Kind: SiteOutage, Code: 1 << 4, Cause: "utility switched the feeder"}, nil},
		{hav, 95, 0, 60 * 24 * time.Hour, Fault{Kind: PartialShade, Severity: 0.4, AzimuthDeg: 215, WidthDeg: 30, Cause: "scaffolding next to the roof"}, []int{1}},
		{hav, 47, 12, 28 * time.Hour, Fault{Kind: CommunicationGap, Gap: RowsEmpty, Cause: "inverter firmware update left the bus address unset"}, []int{5}},
		{hav, 30, 10, 3 * time.Hour, Fault{Kind: StuckSensor, Cause: "logger repeated its last reading"}, []int{0}},
		{gil, 300, 0, 24 * 24 * time.Hour, Fault{Kind: StringLoss, Severity: 0.12, Code: 1 << 12, Cause: "rodent damage to cables"}, []int{1}},
		{gil, 120, 0, 18 * 24 * time.Hour, Fault{Kind: Derating, Severity: 22, Code: 1 << 7, Cause: "cabinet fan stopped"}, []int{5}},
		{gil, 41, 10, 6 * time.Hour, Fault{Kind: SiteOutage, Code: 1 << 4, Cause: "main breaker opened on a relay test"}, nil},
		{gil, 12, 13, 4 * time.Hour, Fault{Kind: UnitOutage, Code: 1 << 10, Cause: "grid over-voltage trip, restarted itself"}, []int{7}},
	} {
		f.fault.From = ago(f.site, f.days, f.hour)
		f.fault.To = f.fault.From.Add(f.last)
		p.add(f.site, f.fault, f.units...)
	}
}

// future plans what the live stream will bring: the first trouble within some
// hours, then one fault every day or so, each in the site's daylight.
func (p *plan) future() {
	t := p.now.Add(90 * time.Minute)
	for n := 0; t.Before(p.now.AddDate(0, 0, 60)); n++ {
		s := p.fleet.Sites[n%len(p.fleet.Sites)]
		for _, other := range p.fleet.Sites { // where the sun is high enough to matter
			if elevation(other, t) > elevation(s, t) && elevation(s, t) < 25 {
				s = other
			}
		}
		u := s.random(n, "future")
		unit := u.IntN(len(s.Units))
		last := time.Duration(2+u.IntN(6)) * time.Hour
		switch u.IntN(10) {
		case 0:
			p.add(s, Fault{Kind: SiteOutage, From: t, To: t.Add(2 * time.Hour), Code: 1 << 4, Cause: "grid fault"})
		case 1, 2, 3:
			p.add(s, Fault{Kind: CommunicationGap, From: t, To: t.Add(last), Cause: "logger unreachable"}, unit)
		case 4:
			p.add(s, Fault{Kind: StringLoss, From: t, Severity: 0.1, Code: 1 << 12, Cause: "string fuse blown"}, unit)
		default:
			p.add(s, Fault{Kind: UnitOutage, From: t, To: t.Add(last), Code: 1 << 2, Cause: "AC breaker tripped"}, unit)
		}
		t = t.Add(time.Duration(8+u.IntN(30)) * time.Hour)
	}
}

// elevation is the sun's height over the site's horizon in degrees.
func elevation(s *Site, t time.Time) float64 {
	return 90 - solar.At(t, s.Location).ApparentZenithDeg
}

// day0 keeps the days of a labelled fleet on the site's own midnights.
func day0(s *Site, start time.Time, days int) time.Time {
	return series.Midnight(start, s.Zone).AddDate(0, 0, days)
}
