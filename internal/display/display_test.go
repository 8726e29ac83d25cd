package display

import (
	"math"
	"testing"
	"time"
)

func TestPowerAndEnergy(t *testing.T) {
	tests := []struct {
		v             float64
		power, energy string
	}{
		{0, "0 kW", "0 kWh"},
		{3412, "3.41 MW", "3.41 MWh"},
		{999.4, "999 kW", "999 kWh"},
		{999.6, "1.00 MW", "1.00 MWh"},
		{12.345, "12.3 kW", "12.3 kWh"},
		{0.94, "0.94 kW", "0.94 kWh"},
		{0.0052, "5.20 W", "5.20 Wh"},
		{-0.003, "-3.00 W", "-3.00 Wh"},
		{1680788.9, "1.68 GW", "1.68 GWh"},
		{2.5e6, "2.50 GW", "2.50 GWh"},
		{math.NaN(), "– kW", "– kWh"},
		{math.Inf(1), "– kW", "– kWh"},
	}
	for _, tt := range tests {
		if got := Power(tt.v); got != tt.power {
			t.Errorf("Power(%v) = %q, want %q", tt.v, got, tt.power)
		}
		if got := Energy(tt.v); got != tt.energy {
			t.Errorf("Energy(%v) = %q, want %q", tt.v, got, tt.energy)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, tt := range []struct{ name, got, want string }{
		{"three digits", Significant(1234.5), "1234"},
		{"three digits", Significant(12.345), "12.3"},
		{"three digits", Significant(1.2345), "1.23"},
		{"no value", Significant(math.NaN()), "–"},
		{"shortest", Number(54.60), "54.6"},
		{"shortest of a large sum", Number(101566.45000000001), "101566.45"},
		{"shortest of none", Number(math.NaN()), ""},
		{"percent of none", Percentage(math.NaN()), "– %"},
		{"percent", Percentage(12.34), "12.3 %"},
		{"no minus before a zero", Percentage(-0.04), "0.0 %"},
		{"small percent", FinePercentage(0.123), "0.12 %"},
		{"no minus before a small zero", FinePercentage(-0.004), "0.00 %"},
		{"small percent of none", FinePercentage(math.NaN()), "– %"},
		{"rise", Change(1.23), "+1.2 %"},
		{"fall", Change(-1.27), "-1.3 %"},
		{"no change", Change(-0.04), "+0.0 %"},
		{"change of none", Change(math.NaN()), "– %"},
		{"bytes", Bytes(999), "999 B"},
		{"a limit", Bytes(25 << 20), "25 MB"},
		{"a large limit", Bytes(uint64(2 << 30)), "2 GB"},
		{"specific yield", SpecificYield(4.321), "4.32 kWh/kWp"},
		{"kilobytes", Bytes(64_300), "63 kB"},
		{"megabytes", Bytes(8_478_177), "8.1 MB"},
		{"gigabytes", Bytes(1_234_000_000), "1.1 GB"},
		{"rate", ByteRate(2_250_000), "2.1 MB/s"},
		{"irradiance", Irradiance(812.4), "812 W/m²"},
		{"wind", Wind(3.25), "3.2 m/s"},
		{"rain", Rain(0.44), "0.4 mm"},
		{"hours", Hours(2.5), "2.5 h"},
		{"one", CountOf(1, "unit", "units"), "1 unit"},
		{"none", CountOf(0, "unit", "units"), "0 units"},
		{"energy in a format", Format{".", ","}.Energy(1234.5), "1,23 MWh"},
		{"groups", Format{".", ","}.Energy(-1.2345e9), "-1.234 GWh"},
		{"unknown in a format", Format{",", "."}.Energy(math.NaN()), "– kWh"},
		{"percent in a format", Format{"\u202f", ","}.Percentage(1234.56), "1\u202f234,6 %"},
		{"count in a format", Format{",", "."}.CountOf(1234567, "row", "rows"), "1,234,567 rows"},
		{"plain format", Format{}.Percentage(12.34), "12.3 %"},
		{"several", CountOf(2, "unit", "units"), "2 units"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestPercentAndMoney(t *testing.T) {
	for v, want := range map[float64]string{0.968: "97 %", 1: "100 %", 0: "0 %", -0.001: "0 %", -0.011: "-1 %", math.Inf(1): "–"} {
		if got := Percent(v); got != want {
			t.Errorf("Percent(%v) = %q, want %q", v, got, want)
		}
	}
	for _, tt := range []struct {
		v    float64
		c    string
		want string
	}{{12.5, "EUR", "EUR 12.50"}, {312.4, "ZAR", "ZAR 312"}, {5, "", ""}} {
		if got := Money(tt.v, tt.c); got != tt.want {
			t.Errorf("Money(%v) = %q, want %q", tt.v, got, tt.want)
		}
	}
}

func TestTimes(t *testing.T) {
	zone := time.FixedZone("SAST", 2*3600)
	at := time.Date(2026, 6, 5, 7, 4, 9, 0, zone)
	for _, tt := range []struct{ name, got, want string }{
		{"Date", Date(at), "2026-06-05"},
		{"DateTime", DateTime(at), "2026-06-05 07:04"},
		{"DateTimeSeconds", DateTimeSeconds(at), "2026-06-05 07:04:09"},
		{"DateTimeZone", DateTimeZone(at), "2026-06-05 07:04 SAST"},
		{"DateTimeOffset", DateTimeOffset(at), "2026-06-05 07:04 +02:00"},
		{"Clock", Clock(at), "07:04"},
		{"ClockSeconds", ClockSeconds(at), "07:04:09"},
		{"ClockZone", ClockZone(at), "07:04 SAST"},
		{"Day", Day(at), "Fri 05 Jun"},
		{"DayClock", DayClock(at), "Fri 05 Jun 07:04"},
		{"DayYear", DayYear(at), "Fri 05 Jun 2026"},
		{"WeekdayClock", WeekdayClock(at), "Fri 07:04"},
		{"DayOfMonth", DayOfMonth(at), "Fri 05"},
		{"DayMonth", DayMonth(at), "05 Jun"},
		{"DayMonthClock", DayMonthClock(at), "05 Jun 07:04"},
		{"LongDay", LongDay(at), "Friday, 5 June 2026"},
		{"LongDays", LongDays(at, at.AddDate(0, 0, 6)), "5 June to 11 June 2026"},
		{"Month", Month(at), "June 2026"},
		{"ShortMonth", ShortMonth(at), "Jun 2026"},
		{"DayName of today", DayName(at, at.Add(10*time.Hour)), "today"},
		{"DayName of this year", DayName(at, at.AddDate(0, 1, 0)), "Fri 05 Jun"},
		{"DayName of last year", DayName(at, at.AddDate(1, 0, 0)), "2026-06-05"},
		{"When today", When(at.UTC(), at.Add(time.Hour), zone), "07:04"},
		{"When this year", When(at, at.AddDate(0, 0, 1), zone), "05 Jun 07:04"},
		{"When last year", When(at, at.AddDate(1, 0, 0), zone), "2026-06-05"},
	} {
		if tt.got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

func TestDurations(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Hour: "now", 4 * time.Second: "now", 5 * time.Second: "5 s", 59 * time.Second: "55 s", time.Minute: "1 min",
		3599 * time.Second: "59 min", time.Hour: "1 h", 47 * time.Hour: "47 h", 49 * time.Hour: "2 d",
	} {
		if got := Age(d); got != want {
			t.Errorf("Age(%v) = %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		0: "0 min", 59 * time.Minute: "59 min", 65 * time.Minute: "1 h 05 min", 47*time.Hour + 59*time.Minute: "47 h 59 min", 50 * time.Hour: "2 d 2 h", 3 * time.Hour: "3 h", 72 * time.Hour: "3 d",
	} {
		if got := Duration(d); got != want {
			t.Errorf("Duration(%v) = %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		30 * time.Second: "30 s", time.Minute: "1 min", 15 * time.Minute: "15 min", 90 * time.Minute: "90 min", time.Hour: "1 h", 24 * time.Hour: "1 d", 36 * time.Hour: "36 h",
	} {
		if got := Step(d); got != want {
			t.Errorf("Step(%v) = %q, want %q", d, got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		12 * time.Millisecond: "<100 ms", 249 * time.Millisecond: "200 ms", 2300 * time.Millisecond: "2 s",
	} {
		if got := Latency(d); got != want {
			t.Errorf("Latency(%v) = %q, want %q", d, got, want)
		}
	}
}
