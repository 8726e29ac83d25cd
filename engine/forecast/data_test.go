package forecast

import (
	"encoding/csv"
	"errors"
	"io"
	"math"
	"strconv"
	"testing"
	"time"

	"app.sunloop/engine/realdata"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
	"app.sunloop/engine/weather"
)

// readColumn calls each with the time and value of a gzipped CSV's rows.
func readColumn(t testing.TB, name, timeColumn, column string, each func(at string, value float64)) {
	r := csv.NewReader(realdata.Open(t, name))
	r.ReuseRecord = true
	head, err := r.Read()
	if err != nil {
		t.Fatal(err)
	}
	at, value := -1, -1
	for i, h := range head {
		switch h {
		case timeColumn:
			at = i
		case column:
			value = i
		}
	}
	if at < 0 || value < 0 {
		t.Fatalf("%s has no columns %s and %s: %v", name, timeColumn, column, head)
	}
	for {
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		v, err := strconv.ParseFloat(row[value], 64)
		if err != nil {
			v = math.NaN()
		}
		each(row[at], v)
	}
}

func zone(t testing.TB, name string) *time.Location {
	z, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// upm13 is the inverter P13 of the test field in Madrid, 5 min.
func upm13(t testing.TB, years ...string) (Site, series.Series) {
	z := zone(t, "Europe/Madrid")
	site := Site{ID: "upm13", Location: solar.Location{LatitudeDeg: 40.45, LongitudeDeg: -3.73, AltitudeM: 650}, Zone: z, CapacityKW: 3.36}
	var times []int64
	var power []float64
	for _, y := range years {
		readColumn(t, "data/upm-madrid/upm_5min_"+y+".csv.gz", "local_time", "P13", func(at string, v float64) {
			when, err := time.ParseInLocation("2006-01-02 15:04", at, z)
			if err != nil {
				t.Fatal(err)
			}
			if k := when.Unix(); len(times) == 0 || k > times[len(times)-1] {
				times, power = append(times, k), append(power, v/1000)
			}
		})
	}
	s := series.Resample(times, power, 5*time.Minute, 0)
	return site, nightZero(site, s)
}

// austria is a site of 54.6 kW, energy of 15 min.
func austria(t testing.TB) (Site, series.Series) {
	site := Site{ID: "austria", Location: solar.Location{LatitudeDeg: 47, LongitudeDeg: 15, AltitudeM: 350}, Zone: zone(t, "Europe/Vienna"), CapacityKW: 54.6}
	var times []int64
	var power []float64
	readColumn(t, "data/austria-15min/pv_kwh_15min.csv.gz", "timestamp", "kWh", func(at string, v float64) {
		when, err := time.Parse(time.DateTime, at)
		if err != nil {
			t.Fatal(err)
		}
		if k := when.Unix(); len(times) == 0 || k > times[len(times)-1] {
			times, power = append(times, k), append(power, v*4)
		}
	})
	return site, series.Resample(times, power, 15*time.Minute, 0)
}

// nightZero sets values that the logger leaves out at night to zero.
func nightZero(site Site, s series.Series) series.Series {
	for i, v := range s.Values {
		if math.IsNaN(v) && sineElevation(solar.At(s.Time(i), site.Location)) < -0.05 {
			s.Values[i] = 0
		}
	}
	return s
}

// synthetic is a site under random cloudy and clear spells, reproducible: power
// in steps, from on, for days.
func synthetic(site Site, from time.Time, days int, step time.Duration, seed uint64) History {
	plane := solar.Plane{TiltDeg: 25, AzimuthDeg: 170}
	n := int(time.Duration(days) * 24 * time.Hour / step)
	power := series.Series{Start: from, Step: step, Values: make([]float64, n)}
	ghi := series.Series{Start: from, Step: step, Values: make([]float64, n)}
	random := func(k uint64) float64 { return float64(splitmix(seed<<40+k)>>11) / (1 << 53) }
	spell := 0.8
	for i := range n {
		t := power.Time(i).Add(step / 2)
		day := uint64(power.Time(i).Unix() / 86400)
		if i == 0 || uint64(power.Time(i-1).Unix()/86400) != day {
			spell = 0.6*spell + 0.4*math.Min(1, 1.5*random(day))
		}
		k := math.Min(1.02, math.Max(0.08, spell+0.35*(random(1e9+uint64(power.Time(i).Unix()/900))-0.5)))
		pos := solar.At(t, site.Location)
		clear := solar.ClearSky(t, pos, site.Location, 0)
		base := effective(plane, pos, clear, solar.Extraterrestrial(t))
		power.Values[i] = math.Min(site.CapacityKW, site.CapacityKW*0.95*base*k)
		ghi.Values[i] = clear.GHI * math.Min(1, math.Max(0.05, k+0.15*(random(2e9+uint64(power.Time(i).Unix()/10800))-0.5)))
	}
	return History{Power: power, Weather: []weather.Column{{Name: "ghi", Quantity: weather.GHI, Series: ghi}}}
}
