package detect

import (
	"math"

	"app.sunloop/internal/display"
)

// sensor finds an irradiance sensor that does not follow the plant's power.
// While the sensor is suspect, its readings are excluded. The stage examines a
// day before there is an expectation.
type sensor struct {
	gains  ring // daily power of the site on its light, of the last months
	record *record
	low    []lowSensorDay // days in a row on which the sensor missed light
	fair   int
	since  int64
}

// lowSensorDay is a day on which the sensor missed light.
type lowSensorDay struct {
	start   int64
	missing float64 // share of the light
}

// Figures of the rule.
const (
	sensorDark   = 10   // W/m² that say night
	sensorPower  = 0.05 // share of the rating that shows daylight
	sensorHours  = 2
	sensorDay    = 0.15 // of a clear sky's 1 kW/m², least that is day
	sensorStep   = 0.13 // missing share that is strange
	sensorDays   = 3
	gainDays     = 60
	gainsBefore  = 15
	sensorReturn = 0.07
)

func newSensor(*session) *sensor { return &sensor{} }

func (o *sensor) look(v *view, s *session) {
	s.oddLight = false
	if !v.partial {
		o.day(v, s)
	}
	if o.record != nil {
		for i := range v.cells {
			v.light[i] = math.NaN()
		}
	}
}

// day evaluates a whole day.
func (o *sensor) day(v *view, s *session) {
	dark, first := o.blind(v, s)
	gain, ok := siteGain(v, s)
	ok = ok && s.modules.source() == sensorLight // a sensor with another orientation has another season than the modules
	missing := 0.0
	if best := o.gains.quantile(0.85, gainsBefore, math.NaN()); ok && !math.IsNaN(best) {
		missing = 1 - best/gain
	}
	end := v.end()
	s.oddLight = missing > sensorStep && len(s.in.Units) >= 3
	switch {
	case o.record != nil:
		if ok && dark == 0 && missing < sensorReturn {
			if o.fair++; o.fair == 1 {
				o.since = v.first
			}
			if o.fair >= 2 {
				o.record.end = max(o.since, o.record.lastSeen)
				o.record, o.fair, o.low = nil, 0, o.low[:0]
				return
			}
		} else if ok || dark > 0 {
			o.fair = 0
			o.record.lastSeen = end
		}
	case dark >= sensorHours:
		o.announce(s, first, end, 1, "sensor_dark", dark)
	case s.oddLight: // of one or two units a season or a clean-up looks the same
		o.low = append(o.low, lowSensorDay{v.first, missing})
		if len(o.low) >= sensorDays {
			o.announce(s, o.low[0].start, end, missing, "light_low", float64(len(o.low)))
		}
	case ok:
		o.low = o.low[:0]
		o.gains.remember(gain, gainDays)
	}
}

// blind counts the hours in which the sensor reads night while the plant
// produces.
func (o *sensor) blind(v *view, s *session) (hours float64, first int64) {
	shares := make([]float64, 0, len(v.units))
	for i := range v.cells {
		if !(v.light[i] < sensorDark) || v.clear[i] < sensorDay { // false of NaN: without a place day is not known
			continue
		}
		shares = shares[:0]
		for k := range v.units {
			if r := s.rating(k); r > 0 && !math.IsNaN(v.units[k].power[i]) {
				shares = append(shares, v.units[k].power[i]/r)
			}
		}
		if median(shares) > sensorPower {
			if hours == 0 {
				first = v.first + int64(i)*v.step
			}
			hours += v.hours()
		}
	}
	return hours, first
}

// siteGain is the median over units and good light of power on light.
func siteGain(v *view, s *session) (float64, bool) {
	var all []float64
	for k := range v.units {
		rating := s.rating(k)
		var gains []float64
		for i := range v.cells {
			if p, g := v.units[k].power[i], v.light[i]; g > 100 && p > 0.15*rating && p < 0.9*rating {
				gains = append(gains, p/rating/lightYield(g, v.tempC[i]))
			}
		}
		if float64(len(gains))*v.hours() >= 1.5 {
			all = append(all, median(gains))
		}
	}
	if len(all) == 0 || len(all) < (len(v.units)+1)/2 {
		return 0, false
	}
	return median(all), true
}

func (o *sensor) announce(s *session, start, now int64, missing float64, kind string, value float64) {
	r := &record{family: IrradianceSensor, start: start, detected: now, lastSeen: now, seen: newFacts()}
	for k := range s.in.Units {
		r.units = append(r.units, k)
	}
	first := shows(kind, 2, value, sensorHours, "h", "The sensor measured no irradiance for %s while the plant produced.", display.Hours(value))
	if kind == "light_low" {
		first = shows(kind, 1.5, value, sensorDays, "days", "For %.0f days in a row the plant made more power on its light than it ever had.", value)
	}
	r.observed = []Evidence{first,
		shows("light_missing", 1.5, 100*missing, 100*sensorStep, "%", "By the plant's power %s of the light is missing from the reading.", display.Percent(missing)),
		shows("all_units", 0.5, float64(len(r.units)), float64(len(r.units)), "units", "All units show the same."),
	}
	o.record = s.open(r)
}
