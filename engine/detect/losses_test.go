package detect_test

import (
	"math"
	"testing"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
	"app.sunloop/engine/solar"
)

// bell is the energy in kWh that a unit of [plantOf] makes from hour a to hour b of
// a day: 45 kW · sin(π(h−6)/12), by readings of a quarter of an hour.
func bell(a, b float64) float64 {
	sum := 0.0
	for h := a; h < b; h += 0.25 {
		sum += 0.25 * max(0, 45*math.Sin(math.Pi*(h-6)/12))
	}
	return sum
}

// only returns the event of a family, of which there must be one.
func only(t *testing.T, r detect.Report, f detect.Family) (out detect.Event) {
	t.Helper()
	n := 0
	for _, e := range r.Events {
		if e.Family == f {
			out, n = e, n+1
		}
	}
	if n != 1 {
		t.Fatalf("%d events of %s: %+v", n, f, r.Events)
	}
	return out
}

// wantHours holds the losses of an event against what was lost from hour a to
// hour b after the start of the data, hour by hour, within 1 %.
func wantHours(t *testing.T, e detect.Event, a, b int, want func(hour int) float64) {
	t.Helper()
	sum := 0.0
	for h := a; h < b; h++ {
		from := start.Add(time.Duration(h) * time.Hour)
		got, w := e.Losses.Between(from, from.Add(time.Hour)), want(h)
		if math.Abs(got-w) > 0.01*w+1e-9 {
			t.Errorf("%s of %v lost %.3f kWh in hour %d of day %d, want %.3f", e.Family, e.Units, got, h%24, h/24, w)
		}
		sum += w
	}
	if total := e.Losses.Total(); math.Abs(total-sum) > 0.01*sum || math.Abs(total-e.LostKWh) > 1e-9 {
		t.Errorf("%s lost %.2f kWh, by hour %.2f, want %.2f", e.Family, e.LostKWh, total, sum)
	}
}

// From 10 to 13 the bell holds 40.6 + 44.0 + 45.0 kWh. Nothing is lost before,
// after or at night.
func TestLossesOfAnOutageByHour(t *testing.T) {
	in := plantOf(4, 12, 15*time.Minute)
	cut(in, 1, 9*24+10, 9*24+13, 0)
	e := only(t, run(t, in), detect.InverterOutage)
	wantHours(t, e, 0, 12*24, func(h int) float64 {
		if h < 9*24+10 || h >= 9*24+13 {
			return 0
		}
		return bell(float64(h%24), float64(h%24+1))
	})
}

// An outage of two days and a night loses nothing at night, and on each day what
// that day lost: 263.1 from ten on, all 343.6, and 122.2 until eleven.
func TestLossesOfDays(t *testing.T) {
	in := plantOf(4, 12, 15*time.Minute)
	cut(in, 2, 8*24+10, 10*24+11, 0)
	e := only(t, run(t, in), detect.InverterOutage)
	wantHours(t, e, 0, 12*24, func(h int) float64 {
		if h < 8*24+10 || h >= 10*24+11 {
			return 0
		}
		return bell(float64(h%24), float64(h%24+1))
	})
	for day, want := range map[int]float64{8: 263.1, 9: 343.6, 10: 122.2} {
		from := start.AddDate(0, 0, day)
		if got := e.Losses.Between(from, from.AddDate(0, 0, 1)); math.Abs(got-want) > 0.01*want {
			t.Errorf("day %d lost %.1f kWh, want %.1f", day, got, want)
		}
	}
}

// A fifth of a unit's strings is gone for six days: a fifth of the bell in each
// hour, nothing at night.
func TestLossesOfStringsByHour(t *testing.T) {
	in := plantOf(5, 40, 15*time.Minute)
	p := in.Units[1].Frame.Values(series.PowerKW)
	for i, x := range p {
		if h := i / 4; h >= 30*24 && h < 36*24 {
			p[i] = 0.8 * x
		}
	}
	e := only(t, run(t, in), detect.StringOutage)
	wantHours(t, e, 0, 40*24, func(h int) float64 {
		if h < 30*24 || h >= 36*24 {
			return 0
		}
		return 0.2 * bell(float64(h%24), float64(h%24+1))
	})
	if e.End == nil || !e.End.Equal(start.AddDate(0, 0, 36)) {
		t.Errorf("it ended %v", e.End)
	}
}

// All units are held at 25 of 50 kW from nine to fifteen: lost is what the bell
// exceeds the ceiling by, and the event lasts those six hours.
func TestLossesOfCurtailmentByHour(t *testing.T) {
	in := plantOf(4, 30, 15*time.Minute)
	for k := range 4 {
		cut(in, k, 25*24+9, 25*24+15, 25)
	}
	e := only(t, run(t, in), detect.Curtailment)
	wantHours(t, e, 0, 30*24, func(h int) float64 {
		if h < 25*24+9 || h >= 25*24+15 {
			return 0
		}
		return 4 * (bell(float64(h%24), float64(h%24+1)) - 25)
	})
	if from, to := start.Add((25*24+9)*time.Hour), start.Add((25*24+15)*time.Hour); !e.Start.Equal(from) || e.End == nil || !e.End.Equal(to) {
		t.Errorf("it lasted from %v to %v, want %v to %v", e.Start, e.End, from, to)
	}
}

// On a simulated site no event loses more in an hour than was expected of its
// units, none loses at night, and the days of the faults lose what they truly lost.
func TestLossesAreBoundedByExpectation(t *testing.T) {
	const days = 60
	s := simulate.Labelled(6, start, 12, days, simulate.UnitOutage, simulate.SiteOutage, simulate.StringLoss, simulate.Curtailment, simulate.IntermittentTrip).Sites[0]
	end := s.Start.AddDate(0, 0, days)
	in := input(s, s.Frames(s.Start, end, 15*time.Minute), end)
	in.Keep = days * 24 * time.Hour
	r := run(t, in)
	lost := 0.0
	for _, e := range r.Events {
		lost += e.Losses.Total()
		for _, span := range e.Losses.Spans() {
			at := time.Unix(span.From-span.From%3600, 0)
			due := 0.0
			for _, u := range e.Units {
				for _, kw := range r.Expected[u].Slice(at, at.Add(time.Hour)).Values {
					due += max(kw, 0) / 4
				}
			}
			if span.KWh > 1.1*due+0.1 {
				t.Errorf("%s of %v lost %.2f kWh from %s on, of %.2f expected", e.Family, e.Units, span.KWh, at.UTC(), due)
			}
			if p := solar.At(at.Add(30*time.Minute), *in.Site.Location); p.ZenithDeg > 98 {
				t.Errorf("%s of %v lost %.2f kWh at night, %s", e.Family, e.Units, span.KWh, at.UTC())
			}
			if span.From < e.Start.Unix()-3600 || e.End != nil && span.To > e.End.Unix() {
				t.Errorf("%s of %v from %v to %v lost %.2f kWh %v", e.Family, e.Units, e.Start, e.End, span.KWh, at.UTC())
			}
		}
	}
	if lost < 100 {
		t.Errorf("all events lost %.1f kWh: too little to test anything", lost)
	}
}
