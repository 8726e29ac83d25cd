package weather

import (
	"math"
	"strconv"
	"testing"
	"time"

	"app.sunloop/engine/realdata"
	"app.sunloop/engine/series"
	"app.sunloop/engine/solar"
)

// near fails the test unless got is within tol of want.
func near(t interface {
	Helper()
	Errorf(string, ...any)
}, name string, got, want, tol float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tol) {
		t.Errorf("%s = %.10g, want %.10g ± %g", name, got, want, tol)
	}
}

// year is a typical year of a place, hourly.
type year struct {
	name             string
	loc              solar.Location
	temperature, ghi series.Series
}

// typicalYears reads those of ../shared/data, or skips the test.
func typicalYears(t *testing.T) []year {
	t.Helper()
	turin := year{name: "45 N 8 E", loc: solar.Location{LatitudeDeg: 45, LongitudeDeg: 8, AltitudeM: 250}}
	for _, r := range realdata.Rows(t, "data/weather-tmy/pvgis_tmy_45.000_8.000.csv.gz") {
		// The months come from different years; the calendar is what counts.
		if at, err := time.Parse("20060102:1504", r[0]); err == nil {
			at = time.Date(2019, at.Month(), at.Day(), at.Hour(), 0, 0, 0, time.UTC)
			turin.append(at, realdata.Number(r[1]), realdata.Number(r[3]))
		}
	}
	greensboro := year{name: "Greensboro", loc: solar.Location{LatitudeDeg: 36.1, LongitudeDeg: -79.95, AltitudeM: 273}}
	for _, r := range realdata.Rows(t, "data/weather-tmy/tmy3_723170_greensboro.csv.gz")[2:] {
		day, err := time.Parse("01/02/2006", r[0])
		if err != nil {
			t.Fatal(err)
		}
		hour, err := strconv.Atoi(r[1][:2])
		if err != nil {
			t.Fatal(err)
		}
		at := time.Date(2019, day.Month(), day.Day(), hour+5-1, 0, 0, 0, time.UTC) // stamps end the hour, UTC-5
		greensboro.append(at, realdata.Number(r[31]), realdata.Number(r[4]))
	}
	return []year{turin, greensboro}
}

func (y *year) append(at time.Time, temperatureC, ghi float64) {
	if y.temperature.Len() == 0 {
		y.temperature = series.Series{Start: at, Step: time.Hour}
		y.ghi = y.temperature
	}
	for y.temperature.End().Before(at) { // 29 February and the like
		y.temperature.Values = append(y.temperature.Values, math.NaN())
		y.ghi.Values = append(y.ghi.Values, math.NaN())
	}
	y.temperature.Values = append(y.temperature.Values, temperatureC)
	y.ghi.Values = append(y.ghi.Values, ghi)
}
