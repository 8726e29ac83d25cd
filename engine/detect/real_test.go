package detect_test

import (
	"context"
	"encoding/csv"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"testing"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/realdata"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// table reads a compressed file of times and numbers: the times as Unix
// seconds, and each wanted column; an empty cell is NaN.
func table(t *testing.T, name, layout string, zone *time.Location, columns ...string) ([]int64, [][]float64) {
	t.Helper()
	rows := csv.NewReader(realdata.Open(t, name))
	rows.FieldsPerRecord = -1
	header, err := rows.Read()
	if err != nil {
		t.Fatal(err)
	}
	at := map[string]int{}
	for i, h := range header {
		at[h] = i
	}
	var times []int64
	values := make([][]float64, len(columns))
	for {
		row, err := rows.Read()
		if errors.Is(err, io.EOF) {
			return times, values
		}
		if err != nil {
			t.Fatal(err)
		}
		stamp, err := time.ParseInLocation(layout, row[0], zone)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(times); n > 0 && stamp.Unix() <= times[n-1] {
			continue // the hour that autumn repeats
		}
		times = append(times, stamp.Unix())
		for k, c := range columns {
			v, err := strconv.ParseFloat(row[at[c]], 64)
			if err != nil {
				v = math.NaN()
			}
			switch row[at[c]] {
			case "True":
				v = 1
			case "False":
				v = 0
			}
			values[k] = append(values[k], v)
		}
	}
}

func summarise(t *testing.T, r detect.Report) map[detect.Family]int {
	count := map[detect.Family]int{}
	for _, e := range r.Events {
		count[e.Family]++
		t.Logf("%s %v from %v to %v, %.1f kWh", e.Family, e.Units, e.Start, e.End, e.LostKWh)
	}
	for _, n := range r.NotEvaluated {
		t.Log(n)
	}
	return count
}

// inMadrid returns thirteen small inverters in Madrid over a year: power is empty by night.
func inMadrid(t *testing.T, file, light string) detect.Input {
	t.Helper()
	madrid, err := time.LoadLocation("Europe/Madrid")
	if err != nil {
		t.Skip("no time zones here")
	}
	columns := []string{light, "T_U0", "P1", "P2", "P3", "P4", "P5", "P6", "P7", "P8", "P9", "P10", "P11", "P12", "P13"}
	capacity := []float64{1115, 1150, 1216, 1110, 1080, 1113, 1070, 1216, 700, 1140, 1214, 2950, 3358}
	times, values := table(t, file, "2006-01-02 15:04", madrid, columns...)
	loc := solar.Location{LatitudeDeg: 40.45, LongitudeDeg: -3.73, AltitudeM: 660}
	in := detect.Input{Site: detect.Site{ID: "madrid", Location: &loc, Zone: madrid}, Now: time.Unix(times[len(times)-1], 0)}
	for k, w := range capacity {
		f := series.Frame{Times: times}
		power := make([]float64, len(times))
		for i, v := range values[k+2] {
			power[i] = v / 1000
		}
		f.Set(series.PowerKW, power)
		f.Set(series.IrradianceWM2, values[0])
		f.Set(series.TemperatureC, values[1])
		in.Units = append(in.Units, detect.Unit{AssetID: columns[k+2], CapacityKW: w / 1000, Frame: f})
	}
	return in
}

// The rows of the plant in Madrid shade each other in a low sun, which changes the median of
// the units from week to week: that is no loss of the others. Losses that are put into three of them are, and the dust that lay on P1 from the end of July until
// the rain of 13 September, in two parts.
// The shade comes to several units in the same directions, and is one event.
func TestMadridByPeers(t *testing.T) {
	in := inMadrid(t, "data/upm-madrid/upm_5min_2016.csv.gz", "G_M1")
	zone := in.Site.Zone
	in.From, in.Now = time.Date(2016, 6, 1, 0, 0, 0, 0, zone), time.Date(2016, 11, 20, 0, 0, 0, 0, zone)
	on := func(month time.Month, day int) time.Time { return time.Date(2016, month, day, 0, 0, 0, 0, zone) }
	type loss struct {
		from  time.Time
		share float64
	}
	losses := map[string]loss{"P12": {on(8, 25), 0.125}, "P8": {on(9, 20), 0.05}, "P5": {on(10, 1), 0.08}}
	for _, u := range in.Units {
		l, ok := losses[u.AssetID]
		if !ok {
			continue
		}
		power := u.Frame.Values(series.PowerKW)
		for i := range power {
			if u.Frame.Times[i] >= l.from.Unix() {
				power[i] *= 1 - l.share
			}
		}
	}
	r, err := detect.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	summarise(t, r)
	dusty, shaded := false, map[string]int{}
	for _, e := range r.Events {
		if (e.Family == detect.StringOutage || e.Family == detect.Soiling) && slices.Contains(e.Units, "P1") && e.Start.After(on(7, 12)) && e.Start.Before(on(8, 1)) {
			dusty = dusty || e.End != nil && e.End.After(on(9, 5)) && e.End.Before(on(9, 25)) && math.Abs(e.LossFraction-0.1) < 0.04
		}
		switch e.Family {
		case detect.StringOutage:
			if l, ok := losses[e.Units[0]]; ok && len(e.Units) == 1 && e.Start.Sub(l.from).Abs() < 96*time.Hour && math.Abs(e.LossFraction-l.share) < 0.03 {
				delete(losses, e.Units[0])
			} else if e.Start.After(on(9, 1)) {
				t.Errorf("%v are said to have lost %.1f %% since %v", e.Units, 100*e.LossFraction, e.Start)
			}
		case detect.PartialShading:
			if e.Start.After(on(10, 1)) {
				for _, id := range e.Units {
					shaded[id]++
				}
				if len(e.Units) < 3 {
					t.Errorf("shade of %v alone", e.Units)
				}
			}
		}
	}
	if !dusty {
		t.Error("the dust on P1 is not found")
	}
	for id, l := range losses {
		t.Errorf("the loss of %s from %v is not found", id, l.from)
	}
	for _, id := range []string{"P1", "P6", "P13"} {
		if shaded[id] != 1 {
			t.Errorf("the shade of %s is in %d events", id, shaded[id])
		}
	}
}

// In 2014 one of the inverters in Madrid was out for weeks, and their logger was down twice.
func TestMadrid(t *testing.T) {
	in := inMadrid(t, "data/upm-madrid/upm_5min_2014.csv.gz", "G_M2")
	r, err := detect.Run(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	count := summarise(t, r)

	// P9 was out from 27 October for six weeks; on 23 April and 19 July the
	// logger of twelve units was down; the rest are mornings on which some of
	// these old units did not start.
	long := slices.ContainsFunc(r.Events, func(e detect.Event) bool {
		return e.Family == detect.InverterOutage && e.Units[0] == "P9" && e.End != nil && e.End.Sub(e.Start) > 40*24*time.Hour
	})
	silent := 0
	for _, e := range r.Events {
		if e.Family == detect.CommunicationGap && len(e.Units) >= 12 {
			silent++
		}
	}
	if !long || silent < 2 {
		t.Errorf("six weeks of P9 found: %v; gaps of the logger found: %d", long, silent)
	}
	if count[detect.SiteOutage] > 0 || count[detect.TimeShift] > 0 || count[detect.InverterOutage] > 60 || count[detect.CommunicationGap] > 15 {
		t.Errorf("too many events: %v", count)
	}
}

// Single plants with and without irradiance, with and without coordinates: what
// is known to have happened is found, and few other events are announced.
func TestSinglePlants(t *testing.T) {
	hebei := func(lat, lon float64) *solar.Location { return &solar.Location{LatitudeDeg: lat, LongitudeDeg: lon} }
	for _, c := range []struct {
		name, file, layout, power, light string
		scale, capacity                  float64
		quantity                         series.Quantity
		zone                             *time.Location
		loc                              *solar.Location
		outage                           string // begin of one that must be found
		outages, gaps                    int    // at most
		shift                            string // begin of the first clock shift; empty for none
	}{
		{"Hebei 01", "data/pvod/station01.csv.gz", "2006-01-02 15:04:05", "power", "lmd_totalirrad", 1000, 20000, series.PowerKW, time.UTC, hebei(38.18, 117.46), "2018-10-23T06:30:00Z", 6, 4, ""},
		{"Hebei 01 without light", "data/pvod/station01.csv.gz", "2006-01-02 15:04:05", "power", "", 1000, 20000, series.PowerKW, time.UTC, hebei(38.18, 117.46), "2018-10-23T06:30:00Z", 6, 4, ""},
		{"Hebei 01 without place", "data/pvod/station01.csv.gz", "2006-01-02 15:04:05", "power", "", 1000, 20000, series.PowerKW, time.UTC, nil, "2018-10-23T06:30:00Z", 6, 4, ""},
		{"Hebei 00", "data/pvod/station00.csv.gz", "2006-01-02 15:04:05", "power", "lmd_totalirrad", 1000, 6600, series.PowerKW, time.UTC, hebei(38.05, 114.95), "2019-04-15T23:15:00Z", 12, 4, ""},
		{"Golden", "data/pvdaq-50/ac_power_15min_2011-2012.csv.gz", "2006-01-02T15:04Z", "ac_power_2", "", 0.001, 3.37, series.PowerKW, time.UTC, &solar.Location{LatitudeDeg: 39.74, LongitudeDeg: -105.18, AltitudeM: 1800}, "", 12, 25, "2011-11-06T00:00:00Z"},
		{"a roof in Sydney", "data/household-30min/ausgrid_customer12_2011-2012.csv.gz", "2006-01-02 15:04:05", "GG", "", 1, 1.5, series.EnergyKWh, time.FixedZone("", 36000), &solar.Location{LatitudeDeg: -33.9, LongitudeDeg: 151.2}, "", 0, 0, "2011-10-02T14:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			columns := []string{c.power}
			if c.light != "" {
				columns = append(columns, c.light)
			}
			times, values := table(t, c.file, c.layout, c.zone, columns...)
			f := series.Frame{Times: times}
			for i := range values[0] {
				values[0][i] *= c.scale
			}
			f.Set(c.quantity, values[0])
			if c.light != "" {
				f.Set(series.IrradianceWM2, values[1])
			}
			r, err := detect.Run(context.Background(), detect.Input{
				Site: detect.Site{ID: c.name, Location: c.loc, Zone: c.zone}, Now: time.Unix(times[len(times)-1], 0),
				Units: []detect.Unit{{AssetID: c.power, CapacityKW: c.capacity, Frame: f}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if count := summarise(t, r); count[detect.InverterOutage] > c.outages || count[detect.CommunicationGap] > c.gaps {
				t.Errorf("too many events: %v", count)
			}
			shift := ""
			for _, e := range r.Events {
				if e.Family == detect.TimeShift && shift == "" {
					shift = e.Start.Format(time.RFC3339)
				}
			}
			if shift != c.shift { // summer time, in two files that count in local time
				t.Errorf("the clock shifts first at %q, want %q", shift, c.shift)
			}
			if c.outage != "" && !slices.ContainsFunc(r.Events, func(e detect.Event) bool {
				return e.Family == detect.InverterOutage && e.Start.Format(time.RFC3339) == c.outage
			}) {
				t.Errorf("the outage of %s is not found", c.outage)
			}
		})
	}
}
