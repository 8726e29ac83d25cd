package format

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	formatPrometheusJSON = "response of the Prometheus API"
	formatGrafana        = "export of Grafana (JSON)"
	formatChart          = "series of a chart (JSON)"
	formatHomeAssistant  = "export of Home Assistant"
	formatInfluxJSON     = "response of the InfluxDB API"
	formatFronius        = "archive of the Fronius Solar API"
)

// keep adds a table with text to the finished ones, unless err is set, and returns err.
func (r *jsonReader) keep(t Table, err error) error {
	if err == nil && len(t.Text) > 0 {
		r.done = append(r.done, t)
	}
	return err
}

// fronius reads the response of GetArchiveData of the Solar API: for each device, channels with values by seconds since the start.
func (r *jsonReader) fronius(v rawJSON, _ []string, _ []label) (bool, error) {
	devices := v.field("Body", "Data")
	if devices.kind() != '{' || v.field("Head") == nil {
		return false, nil
	}
	l := newLong(r.budget, "", formatFronius)
	var err error
	archive, instant := false, false
	devices.fields(func(device string, value rawJSON) bool {
		instant = instant || value.field("Values") != nil || value.field("Value") != nil
		channels := value.field("Data")
		start, bad := time.Parse(time.RFC3339, value.field("Start").text())
		if channels.kind() != '{' || bad != nil {
			return true
		}
		channels.fields(func(channel string, c rawJSON) bool {
			unit := c.field("Unit").text()
			c.field("Values").fields(func(offset string, reading rawJSON) bool {
				seconds, bad := strconv.ParseInt(offset, 10, 64)
				if bad != nil || reading.kind() == 'n' || seconds < 0 || seconds > 400*86400 {
					return true
				}
				archive = true
				err = l.add(device, strings.ReplaceAll(channel, "_", " "), unit, start.Add(time.Duration(seconds)*time.Second).Format(time.RFC3339), finite(reading.text()))
				return err == nil
			})
			return err == nil
		})
		return err == nil
	})
	switch {
	case err != nil:
		return true, err
	case archive:
		return true, r.keep(l.done())
	case instant:
		return true, fail(Unsupported, "the file is a current reading of the Fronius Solar API, not a series of values; request GetArchiveData.cgi with the channel EnergyReal_WAC_Sum_Produced, and import that")
	}
	return false, nil
}

// prometheus reads the result of a query of Prometheus: one series for each set of labels.
func (r *jsonReader) prometheus(v rawJSON, _ []string, _ []label) (bool, error) {
	result := v.field("data", "result")
	if kind := v.field("data", "resultType").text(); result.kind() != '[' || kind != "matrix" && kind != "vector" {
		return false, nil
	}
	n := newNamer()
	series := func(e rawJSON) (metric string, labels []label) {
		e.field("metric").fields(func(key string, value rawJSON) bool {
			if key == "__name__" {
				metric = value.text()
			} else {
				labels = append(labels, label{key, value.text()})
			}
			return true
		})
		return metric, labels
	}
	var err error
	result.elements(func(e rawJSON) bool {
		metric, labels := series(e)
		err = n.observe(metric, labels)
		return err == nil
	})
	if err != nil {
		return true, err
	}
	l := newLong(r.budget, "", formatPrometheusJSON)
	result.elements(func(e rawJSON) bool {
		metric, labels := series(e)
		device, quantity := n.name(labels)
		parameter := strings.TrimSpace(metric + " " + quantity)
		add := func(pair rawJSON) bool {
			at, end := pair.next(1)
			value, _ := pair.next(end)
			seconds, bad := strconv.ParseFloat(at.text(), 64)
			if bad != nil || value == nil {
				return true
			}
			err = l.add(device, parameter, unitLabel(labels), unixInstant(seconds), finite(value.text()))
			return err == nil
		}
		if one := e.field("value"); one != nil {
			return add(one)
		}
		e.field("values").elements(add)
		return err == nil
	})
	if err != nil {
		return true, err
	}
	return true, r.keep(l.done())
}

// finite returns a number as a cell, "" for NaN, infinities and texts.
func finite(text string) string {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return ""
	}
	return number(v)
}

// grafanaUnits are the units of Grafana's fields as they are written.
var grafanaUnits = map[string]string{"watt": "W", "kwatt": "kW", "megwatt": "MW", "watth": "Wh", "kwatth": "kWh", "celsius": "°C", "volt": "V", "amp": "A", "percent": "%", "hertz": "Hz"}

// grafana reads a data frame of Grafana: fields with names, labels and units, and a list of values for each.
func (r *jsonReader) grafana(v rawJSON, _ []string, _ []label) (bool, error) {
	fields, values := v.field("schema", "fields"), v.field("data", "values")
	if fields.kind() != '[' || values.kind() != '[' {
		return false, nil
	}
	type field struct {
		name, kind, unit string
		labels           []label
		values           rawJSON
	}
	var all []field
	n := newNamer()
	var err error
	fields.elements(func(e rawJSON) bool {
		f := field{name: e.field("name").text(), kind: e.field("type").text(), unit: e.field("config", "unit").text()}
		if d := e.field("config", "displayNameFromDS").text(); d != "" {
			f.name = d
		}
		if u, ok := grafanaUnits[f.unit]; ok {
			f.unit = u
		}
		e.field("labels").fields(func(key string, value rawJSON) bool {
			f.labels = append(f.labels, label{key, value.text()})
			return true
		})
		err = n.observe("", f.labels)
		all = append(all, f)
		return err == nil && len(all) < maxSheetColumns
	})
	if err != nil {
		return true, err
	}
	i := 0
	values.elements(func(e rawJSON) bool {
		if i < len(all) {
			all[i].values = e
		}
		i++
		return i < len(all)
	})
	at := slices.IndexFunc(all, func(f field) bool { return f.kind == "time" })
	if at < 0 {
		return false, nil
	}
	frame := v.field("schema", "name").text()
	l := newLong(r.budget, frame, formatGrafana)
	for k, f := range all {
		if k == at || f.kind != "number" {
			continue
		}
		device, quantity := n.name(f.labels)
		parameter := f.name
		if slices.Contains(plainKeys, strings.ToLower(parameter)) {
			parameter = frame
		}
		parameter = strings.TrimSpace(parameter + " " + quantity)
		times, from := all[at].values, 1
		f.values.elements(func(e rawJSON) bool {
			t, end := times.next(from)
			from = end
			ms, bad := strconv.ParseFloat(t.text(), 64)
			if bad != nil {
				return t != nil
			}
			err = l.add(device, parameter, f.unit, unixInstant(ms/1000), e.text())
			return err == nil
		})
		if err != nil {
			return true, err
		}
	}
	return true, r.keep(l.done())
}

// datapoints reads the older format of Grafana and Graphite: [{"target": …, "datapoints": [[value, milliseconds], …]}].
func (r *jsonReader) datapoints(v rawJSON) error {
	e := newEntities()
	var err error
	v.elements(func(s rawJSON) bool { err = e.observe(s.field("target").text()); return err == nil })
	if err != nil {
		return err
	}
	l := newLong(r.budget, "", formatGrafana)
	v.elements(func(s rawJSON) bool {
		device, parameter := e.name(s.field("target").text())
		s.field("datapoints").elements(func(pair rawJSON) bool {
			value, end := pair.next(1)
			at, _ := pair.next(end)
			seconds, bad := strconv.ParseFloat(at.text(), 64)
			if bad != nil {
				return true
			}
			if seconds > 1e11 { // Grafana has milliseconds, Graphite seconds
				seconds /= 1000
			}
			err = l.add(device, parameter, "", unixInstant(seconds), value.text())
			return err == nil
		})
		return err == nil
	})
	if err != nil {
		return err
	}
	return r.keep(l.done())
}

// chart reads the series of a chart of a web page, [{"name": …, "data": [[milliseconds, value], …]}], as a table
// with a column for each: their names state the quantity, as those of columns do.
func (r *jsonReader) chart(v rawJSON) error {
	type point struct {
		at    float64
		value rawJSON
	}
	names, series, times := []string{"time"}, [][]point{}, map[float64]string{}
	var err error
	v.elements(func(s rawJSON) bool {
		var points []point
		s.field("data").elements(func(pair rawJSON) bool {
			at, end := pair.next(1)
			value, _ := pair.next(end)
			ms, bad := strconv.ParseFloat(at.text(), 64)
			if bad != nil || math.IsNaN(ms) {
				return true
			}
			seconds := ms
			if seconds > 1e11 {
				seconds /= 1000
			}
			points, times[ms] = append(points, point{ms, value}), unixInstant(seconds)
			return true
		})
		slices.SortStableFunc(points, func(a, b point) int { return cmp.Compare(a.at, b.at) })
		names, series = append(names, s.field("name").text()), append(series, points)
		if len(series) > maxSheetColumns {
			err = fail(Unsupported, "the chart has more than %d series", maxSheetColumns)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	w := newWriter(r.budget, "", formatChart)
	if err := w.row(names...); err != nil {
		return err
	}
	next := make([]int, len(series))
	for _, ms := range slices.Sorted(maps.Keys(times)) {
		for again := true; again; { // a further row for a time that a series has twice
			again = false
			w.cell(times[ms])
			for i, points := range series {
				if next[i] == len(points) || points[next[i]].at != ms {
					w.cell("")
					continue
				}
				w.cell(w.jsonCell(points[next[i]].value))
				next[i]++
				again = again || next[i] < len(points) && points[next[i]].at == ms
			}
			if err := w.end(); err != nil {
				return err
			}
		}
	}
	return r.keep(w.done())
}

// states reads the history of Home Assistant: a list for each entity, of which only the first record may name it.
func (r *jsonReader) states(lists []rawJSON) error {
	e := newEntities()
	var err error
	each := func(f func(id, unit string, record rawJSON) bool) {
		for _, list := range lists {
			id, unit := "", ""
			list.elements(func(record rawJSON) bool {
				if own := record.field("entity_id"); own != nil {
					if s := own.text(); s != id {
						id, unit = s, ""
					}
				}
				if u := record.field("attributes", "unit_of_measurement"); u != nil {
					unit = u.text()
				}
				return f(id, unit, record)
			})
		}
	}
	each(func(id, _ string, _ rawJSON) bool { err = e.observe(id); return err == nil })
	if err != nil {
		return err
	}
	l := newLong(r.budget, "", formatHomeAssistant)
	each(func(id, unit string, record rawJSON) bool {
		at := record.field("last_changed")
		if at == nil {
			at = record.field("last_updated")
		}
		device, parameter := e.name(id)
		err = l.add(device, parameter, unit, at.text(), finite(record.field("state").text()))
		return err == nil
	})
	if err != nil {
		return err
	}
	return r.keep(l.done())
}

// entityLists reads what the WebSocket API of Home Assistant returns: records by entity, of the history
// ({"s": state, "lu": time, "a": attributes}) or of the statistics ({"start", "end", "mean", "sum", "state", "change"}).
func (r *jsonReader) entityLists(v rawJSON, _ []string, _ []label) (bool, error) {
	key, list := firstField(v)
	first := list.first()
	history := first.field("s") != nil && (first.field("lu") != nil || first.field("lc") != nil)
	statistics := first.field("start") != nil && (first.field("mean") != nil || first.field("sum") != nil || first.field("state") != nil || first.field("change") != nil)
	if !strings.ContainsAny(key, ".:") || !history && !statistics {
		return false, nil
	}
	e := newEntities()
	var err error
	v.fields(func(id string, _ rawJSON) bool { err = e.observe(id); return err == nil })
	if err != nil {
		return true, err
	}
	l := newLong(r.budget, "", formatHomeAssistant)
	v.fields(func(id string, list rawJSON) bool {
		device, parameter := e.name(id)
		unit := ""
		list.elements(func(record rawJSON) bool {
			var at, value rawJSON
			own := parameter
			if history {
				if u := record.field("a", "unit_of_measurement"); u != nil {
					unit = u.text()
				}
				if at = record.field("lu"); at == nil {
					at = record.field("lc")
				}
				value = record.field("s")
			} else {
				at = record.field("start")
				for _, name := range []string{"mean", "state", "sum"} {
					if value = record.field(name); value != nil && value.kind() != 'n' {
						break
					}
				}
			}
			err = l.add(device, own, unit, instantOf(at.text()), finite(value.text()))
			return err == nil
		})
		return err == nil
	})
	if err != nil {
		return true, err
	}
	return true, r.keep(l.done())
}

// instantOf returns a time of a number of seconds or milliseconds since 1970, or the text as it is.
func instantOf(text string) string {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return text
	}
	if v > 1e11 {
		v /= 1000
	}
	return unixInstant(v)
}

// influxSeries reads a series of InfluxDB 1: a name, tags, columns and rows.
func (r *jsonReader) influxSeries(v rawJSON, columns []string, rows rawJSON) error {
	name := v.field("name").text()
	var labels []label
	v.field("tags").fields(func(key string, value rawJSON) bool {
		if text := value.text(); text != "" {
			labels = append(labels, label{key, text})
		}
		return true
	})
	// Series come one by one, so that each with tags is its own device.
	device, _ := newNamer().name(labels)
	if device == "" && len(labels) > 0 {
		var values []string
		for _, l := range labels {
			values = append(values, l.value)
		}
		device = strings.Join(values, " ")
	}
	at := slices.Index(columns, "time")
	if at < 0 {
		return nil
	}
	l := newLong(r.budget, name, formatInfluxJSON)
	var err error
	rows.elements(func(row rawJSON) bool {
		var cells []rawJSON
		row.elements(func(e rawJSON) bool { cells = append(cells, e); return len(cells) < len(columns) })
		for i, cell := range cells {
			if i == at || at >= len(cells) || cell.kind() == '"' || !cell.isNumber() {
				continue
			}
			time := cells[at].text()
			if cells[at].kind() != '"' {
				time = instantOfDigits(time)
			}
			if err = l.add(device, influxParameter(name, columns[i]), "", time, cell.text()); err != nil {
				return false
			}
		}
		return true
	})
	if err != nil {
		return err
	}
	return r.keep(l.done())
}

// influxParameter names what a field of a measurement is.
func influxParameter(measurement, field string) string {
	switch strings.ToLower(field) {
	case "value", "mean", "last", "max", "_value":
		return measurement
	}
	if measurement == "" || strings.Contains(strings.ToLower(field), strings.ToLower(measurement)) {
		return field
	}
	return measurement + " " + field
}

// instantOfDigits returns a Unix time; the number of its digits determines the unit, from seconds to nanoseconds.
func instantOfDigits(digits string) string {
	v, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || v <= 0 {
		return ""
	}
	for v >= 1e11 {
		v /= 1000
	}
	return unixInstant(float64(v))
}
