package replay

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"app.sunloop/engine/weather"
)

// sheet is a set of files with the same columns, read as one.
type sheet struct {
	files    []string
	time     string // column
	layout   string // of Go; empty is to be found out
	zone     *time.Location
	endLabel bool // stamps are of intervals' ends
	where    map[string]string
}

// source is a column of a sheet, with the conversion of its cells to the wanted
// unit.
type source struct {
	sheet
	column string
	key    string // of the site file, for errors
	convert
	accumulated bool // counted from midnight
}

// weatherSource is a column of weather.
type weatherSource struct {
	source
	quantity weather.Quantity
	measured bool
}

// convert turns a cell into the wanted unit: (cell + add) · times, over the
// seconds of an interval where the cell is what came in it.
type convert struct {
	add, times float64
	perSecond  bool
}

// of applies the conversion to a value of an interval of step.
func (c convert) of(v float64, step time.Duration) float64 {
	v = (v + c.add) * c.times
	if c.perSecond {
		v /= step.Seconds()
	}
	return v
}

// powerUnits make kW. A fraction is of the capacity.
var powerUnits = map[string]convert{
	"MW": {times: 1000}, "kW": {times: 1}, "W": {times: 0.001}, "fraction": {times: 1},
	"kWh": {times: 3600, perSecond: true}, "Wh": {times: 3.6, perSecond: true},
}

// Units of weather by what they measure; the first of each is what the
// quantity is kept in.
var (
	irradiance = map[string]convert{
		"W/m2": {times: 1}, "kW/m2": {times: 1000}, "J/m2": {times: 1, perSecond: true},
		"kJ/m2": {times: 1000, perSecond: true}, "Wh/m2": {times: 3600, perSecond: true}, "kWh/m2": {times: 3.6e6, perSecond: true},
	}
	weatherUnits = map[weather.Quantity]map[string]convert{
		weather.GHI: irradiance, weather.DNI: irradiance, weather.DHI: irradiance, weather.POA: irradiance,
		weather.AirTemperature: {"C": {times: 1}, "K": {add: -273.15, times: 1}, "F": {add: -32, times: 5.0 / 9}},
		weather.WindSpeed:      {"m/s": {times: 1}, "km/h": {times: 1 / 3.6}, "kn": {times: 1852.0 / 3600}, "mph": {times: 0.44704}},
		weather.CloudCover:     {"fraction": {times: 1}, "%": {times: 0.01}, "okta": {times: 0.125}},
		weather.Humidity:       {"%": {times: 1}, "fraction": {times: 100}},
		weather.Pressure:       {"Pa": {times: 0.01}, "hPa": {times: 1}, "kPa": {times: 10}},
		weather.Precipitation:  {"mm": {times: 1}, "m": {times: 1000}},
		weather.Other:          irradiance, // or in whatever unit
	}
)

// quantities are the names of all of them, ascending.
func quantities() []string {
	var names []string
	for q := range weatherUnits {
		names = append(names, string(q))
	}
	slices.Sort(names)
	return names
}

func (d DataTable) source(capacityKW float64) (source, error) {
	s := source{column: d.Power, key: "data.power"}
	var err error
	if s.sheet, err = sheetOf("data", d.Files, d.Time, d.TimeFormat, d.TimeZone, d.Label, d.Where); err != nil {
		return s, err
	}
	if d.Power == "" {
		return s, missing("data.power")
	}
	var known bool
	if s.convert, known = powerUnits[d.Unit]; !known {
		return s, oneOf("data.unit", d.Unit, slices.Sorted(maps.Keys(powerUnits)))
	}
	if d.Unit == "fraction" {
		s.times = capacityKW
	}
	return s, nil
}

func (w WeatherTable) source(column string, d DataTable) (weatherSource, error) {
	key := "weather." + column
	s := weatherSource{source: source{column: column, key: key, accumulated: w.Accumulated == "day"}, quantity: weather.Quantity(w.Quantity), measured: w.Kind == "measured"}
	files, where := w.Files, map[string]string(nil)
	if files == nil {
		files, where = d.Files, d.Where
	}
	var err error
	s.sheet, err = sheetOf(key, files, cmp.Or(w.Time, d.Time), cmp.Or(w.TimeFormat, d.TimeFormat), cmp.Or(w.TimeZone, d.TimeZone), cmp.Or(w.Label, d.Label), where)
	units, known := weatherUnits[s.quantity]
	switch {
	case err != nil:
		return s, err
	case !known:
		return s, oneOf(key+".quantity", w.Quantity, quantities())
	case w.Kind == "":
		return s, missing(key + ".kind")
	}
	if err := cmp.Or(oneOf(key+".kind", w.Kind, []string{"forecast", "measured"}), oneOf(key+".accumulated", w.Accumulated, []string{"", "day"})); err != nil {
		return s, err
	}
	s.convert, known = units[w.Unit]
	switch {
	case known:
	case s.quantity == weather.Other:
		s.convert = convert{times: 1}
	case w.Unit == "":
		return s, missing(key + ".unit")
	default:
		return s, oneOf(key+".unit", w.Unit, slices.Sorted(maps.Keys(units)))
	}
	return s, nil
}

func sheetOf(key string, files []string, timeColumn, format, zone, label string, where map[string]string) (sheet, error) {
	s := sheet{files: files, time: timeColumn, endLabel: label == "end", where: where}
	var err error
	if s.zone, err = zoneOf(key+".time_zone", zone); err != nil {
		return s, err
	}
	switch {
	case len(files) == 0:
		return s, missing(key + ".files")
	case timeColumn == "":
		return s, missing(key + ".time")
	}
	if err := oneOf(key+".label", label, []string{"start", "end"}); err != nil {
		return s, err
	}
	if format != "" {
		if s.layout, err = layoutOf(format); err != nil {
			return s, fmt.Errorf("%s.time_format is %q: %w", key, format, err)
		}
	}
	return s, nil
}

// same reports whether two sheets can be read in one pass.
func (s sheet) same(o sheet) bool {
	return slices.Equal(s.files, o.files) && s.time == o.time && s.layout == o.layout && s.zone.String() == o.zone.String() &&
		s.endLabel == o.endLabel && maps.Equal(s.where, o.where)
}

// The words of a time format and what Go calls them.
var formatWords = strings.NewReplacer("YYYY", "2006", "MM", "01", "DD", "02", "HH", "15", "mm", "04", "ss", "05", "Z", "Z07:00")

func layoutOf(format string) (string, error) {
	layout := formatWords.Replace(format)
	for _, part := range []struct{ word, means string }{{"2006", "YYYY"}, {"01", "MM"}, {"02", "DD"}, {"15", "HH"}} {
		if !strings.Contains(layout, part.word) {
			return "", fmt.Errorf("it has no %s; it is made of YYYY MM DD HH mm ss and Z for an offset", part.means)
		}
	}
	return layout, nil
}

// layouts are tried in this order on stamps of an unknown format. A date with
// strokes is the day's first unless a row proves otherwise.
var layouts = func() []string {
	var all []string
	for _, date := range []string{"2006-01-02", "2006/01/02", "20060102", "02.01.2006", "02/01/2006", "01/02/2006", "02-01-2006"} {
		for _, between := range []string{" ", "T"} {
			for _, clock := range []string{"15:04:05", "15:04"} {
				all = append(all, date+between+clock, date+between+clock+"Z07:00", date+between+clock+" Z07:00")
			}
		}
	}
	return append(all, "200601021504", "20060102T1504")
}()

// layoutFor is the first layout that reads all stamps; at is the first stamp
// that the last remaining ones cannot read.
func layoutFor(stamps []string) (layout string, at int, err error) {
	left := slices.Clone(layouts)
	for i, s := range stamps {
		kept := left[:0:0]
		for _, l := range left {
			if _, err := time.Parse(l, s); err == nil {
				kept = append(kept, l)
			}
		}
		if len(kept) == 0 {
			return "", i, errors.New("it is no time that is understood; time_format can say how to read it, as in \"DD.MM.YYYY HH:mm\"")
		}
		if left = kept; len(left) == 1 {
			break
		}
	}
	if len(left) == 0 {
		return "", 0, errors.New("there is no row")
	}
	return left[0], 0, nil
}
