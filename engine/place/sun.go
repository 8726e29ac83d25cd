package place

import (
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/engine/series"
)

// Beyond these a town's name and the sun in the data speak of two places: the
// sun is right within a few degrees, in latitude less than in longitude.
const (
	maxOffLatitude  = 20
	maxOffLongitude = 12
)

// Of determines a plant's location from the text that describes it ([Find]),
// unless the sun's position in its power ([FromSun]) contradicts it, and from
// the power if nothing else is known. If they differ, the power is right for a
// forecast, because it uses the clock of the power's time stamps. If neither
// gives a location, ok is false and Description states it.
func Of(text string, power series.Series) (found Found, ok bool) {
	latitude, longitude, shone := FromSun(power)
	found, named := Find(text)
	off := math.Abs(math.Remainder(longitude-found.LongitudeDeg, 360)) > maxOffLongitude || math.Abs(latitude-found.LatitudeDeg) > maxOffLatitude
	switch {
	case named && shone && !off && found.Rough: // the sun knows better than a whole country
		found.LatitudeDeg, found.LongitudeDeg = latitude, longitude
		found.Description = fmt.Sprintf("%s is given, in which the sun in the data says about %.0f° latitude and %.0f° longitude", text, latitude, longitude)
		return found, true
	case named && !(shone && off):
		return found, true
	}
	words := "none is given that is known; the sun in the data says"
	if named {
		words = fmt.Sprintf("%s is given, but its times may be of another zone than they are taken for: the sun in the data says", found.Place)
	}
	if !shone {
		return Found{Description: "none is given that is known, and the data do not show one"}, false
	}
	town, _ := Nearest(latitude, longitude)
	return Found{Place: Place{Country: town.Country, LatitudeDeg: latitude, LongitudeDeg: longitude, Zone: town.Zone},
		Description: fmt.Sprintf("%s about %.0f° latitude and %.0f° longitude", words, latitude, longitude)}, true
}

// FromSun estimates a site's location from its power only: the longitude from
// the centre of the day's energy (true solar noon, except for a plane that
// faces east or west), the latitude from the length of the days through the
// year. Half a year of data gives it within a few degrees, enough for the
// clear-sky envelope. ok is false with under 60 usable days.
func FromSun(power series.Series) (latDeg, lonDeg float64, ok bool) {
	days := sunDays(power)
	if len(days) < 60 {
		return 0, 0, false
	}
	lons := make([]float64, len(days))
	for i, d := range days {
		lons[i] = d.longitude()
	}
	// Least absolute difference over whole degrees of latitude. The length of
	// a day as power shows it, in whole intervals and with a horizon around
	// it, differs by about the same all year: that much is taken out.
	least := math.Inf(1)
	for lat := -65.0; lat <= 65; lat++ {
		diffs := make([]float64, len(days))
		for i, d := range days {
			diffs[i] = d.hours - dayHours(lat, d.declination())
		}
		shift, sum := median(diffs), 0.0
		if math.Abs(shift) > 3 {
			continue
		}
		for _, v := range diffs {
			sum += math.Abs(v - shift)
		}
		if sum < least {
			least, latDeg = sum, lat
		}
	}
	return latDeg, median(lons), !math.IsInf(least, 1)
}

// sunDay holds what one day's power shows of the sun's position.
type sunDay struct {
	noon   time.Time // middle of the day's energy
	hours  float64   // from the first to the last power
	number float64   // day of the year
}

// sunDays splits power into the days between its nights, at the UTC hour of the
// lowest power.
func sunDays(power series.Series) []sunDay {
	if power.Step <= 0 {
		return nil
	}
	perDay := int(24 * time.Hour / power.Step)
	var peak float64
	byHour := make([]float64, perDay)
	for i, v := range power.Values {
		if v > 0 {
			peak = max(peak, v)
			byHour[slot(power, i, perDay)] += v
		}
	}
	// The middle of the night is opposite to the middle of the energy.
	var x, y float64
	for k, v := range byHour {
		a := 2 * math.Pi * float64(k) / float64(perDay)
		x, y = x+v*math.Cos(a), y+v*math.Sin(a)
	}
	noon := math.Mod(math.Atan2(y, x)/(2*math.Pi)+1, 1)
	night := int(math.Mod(noon+0.5, 1) * float64(perDay))
	var out []sunDay
	for i := 0; i < power.Len(); i++ {
		if slot(power, i, perDay) != night || i+perDay > power.Len() {
			continue
		}
		if d, ok := sunDayOf(power, i, i+perDay, peak); ok {
			out = append(out, d)
		}
	}
	return out
}

// slot is the interval's place in the UTC day.
func slot(s series.Series, i, perDay int) int {
	return int(s.Time(i).Unix()/int64(s.Step/time.Second)) % perDay
}

// sunDayOf evaluates one day. A day with gaps or hardly any sun is not usable.
func sunDayOf(power series.Series, from, to int, peak float64) (sunDay, bool) {
	first, last, known := -1, -1, 0
	var energy, moment float64
	for i := from; i < to; i++ {
		v := power.Values[i]
		if math.IsNaN(v) {
			continue
		}
		known++
		if v > 0.0005*peak {
			if first < 0 {
				first = i
			}
			last = i
			energy += v
			moment += v * (float64(i-from) + 0.5)
		}
	}
	hours := power.Step.Hours()
	if known < to-from || first < 0 || energy*hours < peak {
		return sunDay{}, false
	}
	noon := power.Time(from).Add(time.Duration(moment / energy * float64(power.Step)))
	if last-first < 4 {
		return sunDay{}, false
	}
	shone := float64(last-first-1) + lit(power.Values[first], power.Values[first+1]) + lit(power.Values[last], power.Values[last-1])
	return sunDay{noon: noon, hours: shone * hours, number: float64(noon.YearDay())}, true
}

// lit is the part of a day's first (or last) interval in which there was
// power, by how it compares to its neighbour: on an even ramp that begins x
// before the interval's end the two means are as x²/2 to x + 1/2.
func lit(edge, neighbour float64) float64 {
	if !(neighbour > 0) {
		return 0.5
	}
	r := edge / neighbour
	return min(r+math.Sqrt(r*r+r), 1)
}

// longitude puts the sun's transit at the day's noon. Equation of time after
// Spencer 1971, in minutes.
func (d sunDay) longitude() float64 {
	b := 2 * math.Pi * (d.number - 1) / 365
	eot := 229.18 * (0.000075 + 0.001868*math.Cos(b) - 0.032077*math.Sin(b) - 0.014615*math.Cos(2*b) - 0.040849*math.Sin(2*b))
	h := float64(d.noon.Unix()%86400) / 3600
	lon := 15 * (12 - h - eot/60)
	return math.Mod(lon+540, 360) - 180
}

// declination of the sun, degrees (Cooper 1969).
func (d sunDay) declination() float64 {
	return 23.45 * math.Sin(2*math.Pi*(284+d.number)/365)
}

// dayHours is the length of the day by the sunset equation.
func dayHours(latDeg, declDeg float64) float64 {
	const rad = math.Pi / 180
	c := -math.Tan(latDeg*rad) * math.Tan(declDeg*rad)
	return 24 / math.Pi * math.Acos(min(max(c, -1), 1))
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	return v[len(v)/2]
}
