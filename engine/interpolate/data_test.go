package interpolate

import (
	"encoding/csv"
	"errors"
	"io"
	"math"
	"slices"
	"testing"
	"time"

	"app.sunloop/engine/forecast"
	"app.sunloop/engine/realdata"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// column calls each with the time and value of a CSV's rows.
func column(t testing.TB, name, timeColumn, valueColumn string, each func(at string, value float64)) {
	t.Helper()
	rows(t, name, func(head []string) func(row []string) {
		at, value := slices.Index(head, timeColumn), slices.Index(head, valueColumn)
		if at < 0 || value < 0 {
			t.Fatalf("%s has no columns %s and %s: %v", name, timeColumn, valueColumn, head)
		}
		return func(row []string) { each(row[at], realdata.Number(row[value])) }
	})
}

// rows shows a CSV's header, and each of its rows to what that gave.
func rows(t testing.TB, name string, reader func(head []string) func(row []string)) {
	t.Helper()
	r := csv.NewReader(realdata.Open(t, name))
	r.ReuseRecord = true
	head, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	each := reader(head)
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		each(row)
	}
}

// madrid is the inverter P13 of a test field, three years by the given step.
// Its logger reports nothing at night.
func madrid(t testing.TB, step time.Duration) (forecast.Site, series.Series) {
	z, err := time.LoadLocation("Europe/Madrid")
	if err != nil {
		t.Fatal(err)
	}
	site := forecast.Site{ID: "upm13", Location: solar.Location{LatitudeDeg: 40.45, LongitudeDeg: -3.73, AltitudeM: 650}, Zone: z, CapacityKW: 3.36}
	power := madridColumn(t, z, "P13", step)
	for i := range power.Values {
		power.Values[i] /= 1000
	}
	return site, power
}

// madridColumn is a column of the field's three years.
func madridColumn(t testing.TB, z *time.Location, name string, step time.Duration) series.Series {
	var times []int64
	var values []float64
	for _, y := range []string{"2014", "2015", "2016"} {
		column(t, "data/upm-madrid/upm_5min_"+y+".csv.gz", "local_time", name, func(at string, v float64) {
			when, err := time.ParseInLocation("2006-01-02 15:04", at, z)
			if err != nil {
				t.Fatal(err)
			}
			if k := when.Unix(); len(times) == 0 || k > times[len(times)-1] {
				times, values = append(times, k), append(values, v)
			}
		})
	}
	return series.Resample(times, values, step, 5*time.Minute)
}

// besideMadrid is the power of the field's twelve other inverters, of those
// that reported, as a share of their capacity.
func besideMadrid(t testing.TB, step time.Duration) series.Series {
	z, err := time.LoadLocation("Europe/Madrid")
	if err != nil {
		t.Fatal(err)
	}
	capacity := []float64{1115, 1150, 1216, 1110, 1080, 1113, 1070, 1216, 700, 1140, 1214, 2950}
	var times []int64
	var share []float64
	for _, y := range []string{"2014", "2015", "2016"} {
		rows(t, "data/upm-madrid/upm_5min_"+y+".csv.gz", func(head []string) func(row []string) {
			at, first := slices.Index(head, "local_time"), slices.Index(head, "P1")
			return func(row []string) {
				when, err := time.ParseInLocation("2006-01-02 15:04", row[at], z)
				if err != nil {
					t.Fatal(err)
				}
				var sum, of float64
				for k, c := range capacity {
					if v := realdata.Number(row[first+k]); v == v {
						sum, of = sum+v, of+c
					}
				}
				if k := when.Unix(); len(times) == 0 || k > times[len(times)-1] {
					times, share = append(times, k), append(share, sum/of)
				}
			}
		})
	}
	return series.Resample(times, share, step, 5*time.Minute)
}

// golden is PVDAQ system 50 with the weather a satellite saw.
func golden(t testing.TB, step time.Duration) (forecast.Site, series.Series, Weather) {
	site := forecast.Site{ID: "pvdaq50", Location: solar.Location{LatitudeDeg: 39.7406, LongitudeDeg: -105.1775, AltitudeM: 1830}, CapacityKW: 3.37}
	read := func(name, timeColumn, valueColumn string, own, step time.Duration, scale float64) series.Series {
		var times []int64
		var values []float64
		column(t, name, timeColumn, valueColumn, func(at string, v float64) {
			when, err := time.Parse("2006-01-02T15:04Z", at)
			if err != nil {
				t.Fatal(err)
			}
			times, values = append(times, when.Unix()), append(values, v*scale)
		})
		return series.Resample(times, values, step, own)
	}
	power := read("data/pvdaq-50/ac_power_15min_2011-2012.csv.gz", "measured_on", "ac_power_2", 15*time.Minute, step, 1e-3)
	const weather = "data/pvdaq-50/psm3_30min_2011-2012.csv.gz"
	const own = 30 * time.Minute
	wx := Weather{GHI: read(weather, "time", "ghi", own, own, 1), TemperatureC: read(weather, "time", "temp_air", own, own, 1)}
	// The satellite's values are of their moment: the middle of an interval.
	wx.GHI.Start, wx.TemperatureC.Start = wx.GHI.Start.Add(-own/2), wx.TemperatureC.Start.Add(-own/2)
	return site, power, wx
}

func mustBeFinite(t testing.TB, name string, v float64) {
	t.Helper()
	if math.IsNaN(v) || math.IsInf(v, 0) {
		t.Errorf("%s is %g", name, v)
	}
}
