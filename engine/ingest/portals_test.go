package ingest_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/encoding/japanese"

	"app.sunloop/engine/ingest"
	"app.sunloop/engine/series"
)

// portalDay writes a line for each quarter of an hour of a day, with the power of
// two units in kW.
func portalDay(line func(at time.Time, i int, a, b float64) string) string {
	var text strings.Builder
	start := time.Date(2025, 6, 20, 0, 0, 0, 0, time.UTC)
	for i := range 96 {
		h := float64(i) / 4
		text.WriteString(line(start.Add(time.Duration(i)*15*time.Minute), i, portalPower(h, 11), portalPower(h, 14)))
	}
	return text.String()
}

// portalPower returns the power at an hour of a unit whose best hour is noon; it is at most 8 kW.
func portalPower(h, noon float64) float64 {
	return math.Round(8000*max(0, math.Cos((h-noon)/14*math.Pi))) / 1000
}

// portalEnergy returns the energy of the units of a day with those hours of noon.
func portalEnergy(noons ...float64) (kWh float64) {
	for _, noon := range noons {
		for i := range 96 {
			kWh += portalPower(float64(i)/4, noon) / 4
		}
	}
	return kWh
}

func offsets(of func(a, b float64) float64) string {
	var parts []string
	portalDay(func(at time.Time, i int, a, b float64) string {
		parts = append(parts, fmt.Sprintf(`"%d":%.3f`, i*900, of(a, b)))
		return ""
	})
	return strings.Join(parts, ",")
}

// Layouts of portals with the truth: units and energy. Each was read otherwise, or
// refused, when it was first tried.
func TestPortals(t *testing.T) {
	stamp := "2006-01-02 15:04:05"
	fronius := func(of func(a, b float64) float64) string {
		return `{"Data":{"EnergyReal_WAC_Sum_Produced":{"Unit":"Wh","Values":{` + offsets(of) + `}}},"DeviceType":232,"Start":"2025-06-20T00:00:00+02:00","End":"2025-06-20T23:59:59+02:00"}`
	}
	shiftJIS, err := japanese.ShiftJIS.NewEncoder().String("日時,発電電力量(kWh),買電電力量(kWh)\n" + portalDay(func(at time.Time, _ int, a, _ float64) string {
		return fmt.Sprintf("%s,%.3f,0.1\n", at.Format("2006/01/02 15:04"), a/4)
	}))
	if err != nil {
		t.Fatal(err)
	}
	both := portalEnergy(11, 14)
	for name, tt := range map[string]struct {
		text  string
		units []string // empty: one without a name
		kWh   float64
		warns string // part of a warning; empty: none is required
	}{
		"Fronius archive": {`{"Body":{"Data":{"inverter/1":` + fronius(func(a, _ float64) float64 { return a * 250 }) + `,"inverter/2":` + fronius(func(_, b float64) float64 { return b * 250 }) + `}},"Head":{"Status":{"Code":0}}}`,
			[]string{"inverter/1", "inverter/2"}, both, ""},
		"total active power of two inverters": {"Time,SG10RT_001_001/Total Active Power(kW),SG10RT_001_002/Total Active Power(kW)\n" + portalDay(func(at time.Time, _ int, a, b float64) string {
			return fmt.Sprintf("%s,%.3f,%.3f\n", at.Format(stamp), a, b)
		}), []string{"001_001", "001_002"}, both, ""},
		"one phase next to the total": {"timestamp,L1 Power (W),Total Power (W)\n" + portalDay(func(at time.Time, _ int, a, _ float64) string {
			return fmt.Sprintf("%s,%.0f,%.0f\n", at.Format(stamp), a*400, a*1000)
		}), nil, portalEnergy(11), ""},
		"a column of zeros": {"CUPS;Fecha;Hora;AE_kWh;AS_kWh\n" + portalDay(func(at time.Time, i int, a, _ float64) string {
			if i%4 != 0 {
				return ""
			}
			return fmt.Sprintf("ES0021;%s;%d;0,000;%s\n", at.Format("02/01/2006"), at.Hour()+1, strings.ReplaceAll(fmt.Sprintf("%.3f", a), ".", ","))
		}), []string{"ES0021"}, hourly(11), ""},
		"east and west": {"Zeit;PV Ost [W];PV West [W];Hausverbrauch [W]\n" + portalDay(func(at time.Time, _ int, a, b float64) string {
			return fmt.Sprintf("%s;%.0f;%.0f;350\n", at.Format("02.01.2006 15:04"), a*1000, b*1000)
		}), []string{"PV Ost", "PV West"}, both, ""},
		"times in single quotes": {"'UTC Offset(minutes):120\ntime(UTC),error,lowalarm,'Real Power (kW)\n" + portalDay(func(at time.Time, _ int, a, _ float64) string {
			return fmt.Sprintf("'%s',0,0,%.3f\n", at.Format(stamp), a)
		}), nil, portalEnergy(11), ""},
		"another source of energy, and pipes in cells": {"MTU (UTC),Area,Production Type,Generation (MW)\n" + portalDay(func(at time.Time, _ int, a, _ float64) string {
			mtu := at.Format("02/01/2006 15:04:05") + " - " + at.Add(15*time.Minute).Format("02/01/2006 15:04:05")
			return fmt.Sprintf("%s,BZN|BE,Solar,%.3f\n%s,BZN|BE,Nuclear,3900\n", mtu, a/1000, mtu)
		}), []string{"Solar"}, portalEnergy(11), ""},
		"energy from and to the grid": {"Date/time UTC,Active energy Wh (A),Returned energy Wh (A),Min V\n" + portalDay(func(at time.Time, i int, a, _ float64) string {
			return fmt.Sprintf("%s,%d,%.1f,229\n", at.Format(stamp), 60+i%7, a*250)
		}), nil, portalEnergy(11), "fed into the grid"},
		"stations with letters of phases": {"Time,\"ST-1, kW\",\"ST-2, kW\",\"ST-3, kW\"\n" + portalDay(func(at time.Time, _ int, a, b float64) string {
			return fmt.Sprintf("%s,%.3f,%.3f,%.3f\n", at.Format(stamp), a, b, a/2)
		}), []string{"ST-1", "ST-2", "ST-3"}, both + portalEnergy(11)/2, ""},
		"stations next to their total": {"Čas;Výkon ST-1/W;Výkon ST-2/W;Celkem Výkon/W\n" + portalDay(func(at time.Time, _ int, a, b float64) string {
			return fmt.Sprintf("%s;%.0f;%.0f;%.0f\n", at.Format(stamp), a*1000, b*1000, (a+b)*1000)
		}), []string{"ST-1", "ST-2"}, both, ""},
		"Windows-1252": {"Aeg\tBox\tToodang (kWh)\tV\xe4listemperatuur (\xb0C)\n" + portalDay(func(at time.Time, _ int, a, b float64) string {
			return fmt.Sprintf("%[1]s\tV\xe4li O\t%.3[2]f\t14\n%[1]s\tV\xe4li E\t%.3[3]f\t14\n", at.Format(stamp), a/4, b/4)
		}), []string{"V\u00e4li O", "V\u00e4li E"}, both, ""},
		"Shift JIS": {shiftJIS, nil, portalEnergy(11), ""},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := ingest.Read(strings.NewReader(tt.text), ingest.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var units []string
			kWh := 0.0
			for _, a := range res.Assets {
				if a.Name != "" {
					units = append(units, a.Name)
				}
				for _, v := range a.Frame.Values(series.PowerKW) {
					if !math.IsNaN(v) {
						kWh += v * res.Interval.Hours()
					}
				}
			}
			if fmt.Sprint(units) != fmt.Sprint(tt.units) || math.Abs(kWh-tt.kWh) > 0.01*tt.kWh {
				t.Errorf("units %q with %.2f kWh, want %q with %.2f; %v", units, kWh, tt.units, tt.kWh, res.Warnings)
			}
			if tt.warns != "" && !strings.Contains(fmt.Sprint(res.Warnings), tt.warns) {
				t.Errorf("no warning says %q: %v", tt.warns, res.Warnings)
			}
		})
	}
}

func hourly(noon float64) (kWh float64) {
	for h := range 24 {
		kWh += portalPower(float64(h), noon)
	}
	return kWh
}

// Formats of devices that are not read are named, with what to do instead.
func TestPortalRefusals(t *testing.T) {
	for text, want := range map[string]string{
		"m[mi++]=\"10.06.25 12:00:00|100;120;3;420\"\n":                                                               "script of a Solar-Log",
		`{"Body":{"Data":{"PAC":{"Unit":"W","Values":{"1":3000}}}},"Head":{"Timestamp":"2025-06-20T12:00:00+02:00"}}`: "GetArchiveData",
	} {
		if _, err := ingest.Read(strings.NewReader(text), ingest.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40s: %v", text, err)
		}
	}
}

// Columns of kinds, and names of units that end in a quantity, do not hide the names of
// units.
func TestNamesOfUnits(t *testing.T) {
	stamp := "2006-01-02 15:04:05"
	kinds := func(row func(at string, unit, kind string, kW float64) string, measured, forecast string, units ...string) string {
		return portalDay(func(at time.Time, _ int, a, b float64) string {
			text := ""
			for i, unit := range units {
				kW := []float64{a, b}[i]
				text += row(at.Format(stamp), unit, measured, kW)
				if forecast != "" {
					text += row(at.Format(stamp), unit, forecast, kW*1.1)
				}
			}
			return text
		})
	}
	row := func(at, unit, kind string, kW float64) string {
		return fmt.Sprintf("%s,%s,%s,%.3f\n", at, unit, kind, kW)
	}
	for name, tt := range map[string]struct {
		text  string
		units string
		warns string
	}{
		"kind of one unit":         {"time,unit,kind,power_kw\n" + kinds(row, "measured", "forecast", "fu-1"), "fu-1", ""},
		"kind of two units":        {"time,unit,kind,power_kw\n" + kinds(row, "measured", "forecast", "fu-1", "fu-2"), "fu-1 fu-2", ""},
		"kind before the unit":     {"Zeit,Art,Anlage,Leistung kW\n" + kinds(func(at, unit, kind string, kW float64) string { return row(at, kind, unit, kW) }, "Messung", "Prognose", "A7", "B7"), "A7 B7", ""},
		"produced and consumed":    {"time,type,site,kWh\n" + kinds(func(at, unit, kind string, kW float64) string { return row(at, kind, unit, kW) }, "production", "consumption", "Hof 3"), "Hof 3", ""},
		"only measured":            {"time,unit,kind,power_kw\n" + kinds(row, "measured", "", "fu-1", "fu-2"), "fu-1 fu-2", ""},
		"kinds of unknown meaning": {"time,unit,kind,power_kw\n" + kinds(row, "K1", "K2", "fu-1"), "fu-1 K1 fu-1 K2", `only the column "kind"`},
		"columns named by a quantity": {"Zeit;WR1 Leistung [W];WR2 Leistung [W]\n" + portalDay(func(at time.Time, _ int, a, b float64) string {
			return fmt.Sprintf("%s;%.0f;%.0f\n", at.Format(stamp), a*1000, b*1000)
		}), "WR1 WR2", ""},
		"rows named by a quantity": {"Zeit;Gerät;Wert [W]\n" + portalDay(func(at time.Time, _ int, a, b float64) string {
			return fmt.Sprintf("%s;WR1 Leistung;%.0f\n%[1]s;WR2 Leistung;%.0[3]f\n", at.Format(stamp), a*1000, b*1000)
		}), "WR1 WR2", ""},
		"not all named by a quantity": {"Zeit;Gerät;Wert [W]\n" + portalDay(func(at time.Time, _ int, a, b float64) string {
			return fmt.Sprintf("%s;WR1 Leistung;%.0f\n%[1]s;WR2;%.0[3]f\n", at.Format(stamp), a*1000, b*1000)
		}), "WR1 Leistung WR2", ""},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := ingest.Read(strings.NewReader(tt.text), ingest.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var units []string
			for _, a := range res.Assets {
				units = append(units, a.Name)
			}
			if got := strings.Join(units, " "); got != tt.units {
				t.Errorf("units %q, want %q; %v", got, tt.units, res.Decisions)
			}
			if text := fmt.Sprint(res.Warnings); (tt.warns == "") != (len(res.Warnings) == 0) || !strings.Contains(text, tt.warns) {
				t.Errorf("warnings %v, want %q", res.Warnings, tt.warns)
			}
		})
	}
}

// A time that the header calls the end of an interval is stored as its start, but not
// that of the readings of a counter.
func TestEndOfIntervals(t *testing.T) {
	start := time.Date(2025, 6, 20, 0, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Time{
		"Interval end,Power (kW)": start, "Bis,Energie (kWh)": start, "Hour ending,Energy (kWh)": start, "time,Power (kW)": start.Add(15 * time.Minute),
		"Interval start,Power (kW)": start.Add(15 * time.Minute), "End,Lifetime energy (kWh)": start.Add(15 * time.Minute),
	} {
		sum := 0.0
		text := portalDay(func(at time.Time, _ int, a, _ float64) string {
			v := a
			if sum += a / 4; strings.Contains(header, "Lifetime") {
				v = 1000 + sum
			}
			return fmt.Sprintf("%s,%.3f\n", at.Add(15*time.Minute).Format("2006-01-02 15:04"), v)
		})
		res, err := ingest.Read(strings.NewReader(header+"\n"+text), ingest.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := time.Unix(res.Assets[0].Frame.Times[0], 0).UTC(); !got.Equal(want) {
			t.Errorf("%s: first time %s, want %s; %v", header, got, want, res.Decisions)
		}
	}
}
