package ingest

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"app.sunloop/engine/realdata"
	"app.sunloop/engine/series"
)

// unpacked returns a file of ../shared/data, without gzip.
func unpacked(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		if raw, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	return raw
}

// known holds facts about a real file, counted by other means.
type known struct {
	Kind, Unit, Maker string
	Minutes           int
	Assets            string // names joined by blanks; "" one unnamed
	Rows              int
	First, Last       string
	MaxKW, SumKW      float64
}

// realFiles are files of ../shared/data with what a correct import gives:
// counts, maxima and sums were taken from the bytes with another program.
var realFiles = []struct {
	path, zone string
	capacityKW float64
	want       known
}{
	{"austria-15min/pv_kwh_15min.csv.gz", "UTC", 0, known{KindIntervalEnergy, "kWh", "", 15, "", 34204, "2021-03-23T12:45:00Z", "2022-04-29T10:00:00Z", 54.568, 293599.3}},
	{"enerpos/Prod_ENERPOS_Sunzil_2021.txt.gz", "Indian/Reunion", 49.14, known{KindPower, "W", "", 10, "", 43247, "2021-01-01T01:40:00Z", "2021-12-31T19:50:00Z", 56.811, 357926.37}},
	{"gefcom2014-solar/zone1_201204-201312.csv.gz", "UTC", 1560, known{KindPower, "fraction", "", 60, "1", 15360, "2012-04-01T01:00:00Z", "2014-01-01T00:00:00Z", 1429.2, 1560 * 2664.544936}},
	{"gefcom2014-solar/zone2_201204-201312.csv.gz", "UTC", 0, known{KindPower, "kW", "", 60, "2", 15360, "2012-04-01T01:00:00Z", "2014-01-01T00:00:00Z", 0.977753, 2953.1835}},
	{"gefcom2014-solar/zone3_201204-201312.csv.gz", "UTC", 4000, known{KindPower, "fraction", "", 60, "3", 15360, "2012-04-01T01:00:00Z", "2014-01-01T00:00:00Z", 4000 * 1.00355, 4000 * 3060.1929}},
	// The sun's position shows that the clock is put forward, although
	// every day has 48 rows.
	{"household-30min/ausgrid_customer12_2011-2012.csv.gz", "Australia/Sydney", 0, known{KindIntervalEnergy, "kWh", "", 30, "", 17566, "2011-06-30T14:00:00Z", "2012-06-30T13:30:00Z", 1.8, 5185.616}},
	{"portal-exports/danfoss-weblogger/summary_2019-07_2019-10.txt", "Europe/Rome", 0, known{KindPower, "W", "", 10, "", 3232, "2019-07-01T10:10:00Z", "2019-10-05T10:20:00Z", 138.884, 163748.438}},
	{"portal-exports/enphase-enlighten/9999999_custom_report.csv", "Europe/Amsterdam", 0, known{KindIntervalEnergy, "Wh", "Enphase", 60, "", 5591, "2023-12-31T23:00:00Z", "2024-08-20T21:00:00Z", 3.366, 2000.524}},
	{"portal-exports/growatt/INVERTER_02_2025-04-04_2025-04-05.csv.gz", "Asia/Bangkok", 0, known{KindPower, "W", "Growatt", 2, "GKLKE8L01M", 1276, "2025-04-03T17:00:47Z", "2025-04-05T16:59:52Z", 110.0839, 36383.5961}},
	{"portal-exports/homewizard/15min_1_phase_kwh_meter.csv", "Europe/Amsterdam", 0, known{KindCounter, "kWh", "", 15, "", 6, "2024-10-20T03:30:00Z", "2024-10-20T04:45:00Z", 0, 0}},
	{"portal-exports/huawei-fusionsolar/Inverter_2023_12_5min.csv.gz", "Europe/Copenhagen", 0, known{KindPower, "kW", "Huawei", 5, "Logger-1/INV-1-TBF Logger-1/INV-2-VBF", 6481, "2023-11-30T23:00:00Z", "2023-12-31T15:30:00Z", 20.192, 4789.72 + 3970.359}},
	// Three values are -1000000: no reading.
	{"portal-exports/long-format-5min/TAEFC1044741.csv.gz", "UTC", 0, known{KindPower, "kW", "SMA", 5, "1913110809_SMA-SB-7000TL-US-22", 34579, "2016-03-05T19:45:00Z", "2017-07-08T01:45:00Z", 7.0319, 83923.5537}},
	{"portal-exports/pvdaq-wide/serf_west_15min.csv", "America/Denver", 6, known{KindPower, "W", "", 15, "", 480, "2022-01-02T07:01:00Z", "2022-01-07T06:46:00Z", 5.6236, 403.2469}},
	{"portal-exports/sma-sunny-explorer/Anlage1-201112.csv", "Europe/Berlin", 0, known{KindIntervalEnergy, "kWh", "SMA", 1440, "2100530599", 31, "2011-11-30T23:00:00Z", "2011-12-30T23:00:00Z", 0.51575, 4.183875}},
	{"portal-exports/sma-sunny-explorer/Anlage1-20120107.csv", "Europe/Berlin", 0, known{KindPower, "kW", "SMA", 5, "2100530599", 288, "2012-01-06T23:00:00Z", "2012-01-07T22:55:00Z", 0.732, 18.072}},
	{"portal-exports/sma-sunny-explorer/Anlage1-20120305.csv", "Europe/Berlin", 0, known{KindPower, "kW", "SMA", 5, "2100530599", 288, "2012-03-04T23:00:00Z", "2012-03-05T22:55:00Z", 2.952, 99.54}},
	{"portal-exports/sma-webui-csv3/SUNNY_TRIPOWER_6.0_Daily.csv", "Europe/Amsterdam", 6, known{KindCounter, "Wh", "SMA", 1440, "STP6.0-3AV-40 033", 1922, "2020-03-24T23:00:00Z", "2025-07-08T22:00:00Z", 2.686, 1471.814}},
	{"pvdaq-50/ac_power_15min_2011-2012.csv.gz", "UTC", 3.37, known{KindPower, "W", "", 15, "", 57907, "2011-04-15T07:00:00Z", "2012-12-31T23:45:00Z", 3.36793, 35100.9679}},
	{"pvod/station01.csv.gz", "UTC", 20000, known{KindPower, "MW", "", 15, "", 33408, "2018-06-30T16:00:00Z", "2019-06-13T15:45:00Z", 19997.459, 122861619.522}},
	{"pvod/station04.csv.gz", "UTC", 20000, known{KindPower, "MW", "", 15, "", 33408, "2018-06-30T16:00:00Z", "2019-06-13T15:45:00Z", 26768, 151481214.868}},
	{"pvod/station07.csv.gz", "UTC", 20000, known{KindPower, "MW", "", 15, "", 32928, "2018-06-30T16:00:00Z", "2019-06-13T15:45:00Z", 17280.581, 86224744.782}},
	{"upm-madrid/upm_5min_2014.csv.gz", "Europe/Madrid", 18, known{KindPower, "W", "", 5, "P1 P2 P3 P4 P5 P6 P7 P8 P9 P10 P11 P12 P13", 682473, "2014-01-01T07:55:00Z", "2014-12-31T17:05:00Z", 3.358, 329606.962}},
	{"pvanalytics-quality/serf_east_1min_ac_power.csv.gz", "America/Denver", 6, known{KindPower, "W", "", 1, "", 2607, "2022-03-18T11:33:00Z", "2022-03-20T06:59:00Z", 4.628, 4153.4836}},
	{"pvanalytics-quality/snow_data.csv.gz", "Etc/GMT+7", 0, known{KindPower, "kW", "", 15, "INV1", 233, "2022-01-05T14:00:00Z", "2022-01-10T23:45:00Z", 38.328, 1637.2802}},
	{"pvanalytics-quality/nrel_RSF_II.csv.gz", "America/Denver", 0, known{KindPower, "kW", "", 15, "", 480, "2022-01-02T07:00:00Z", "2022-01-07T06:45:00Z", 207.5, 14786.5496}},
}

func TestRealFiles(t *testing.T) {
	for _, f := range realFiles {
		t.Run(filepath.Base(f.path), func(t *testing.T) {
			path := realdata.Path(t, "data/"+f.path)
			zone, err := time.LoadLocation(f.zone)
			if err != nil {
				t.Fatal(err)
			}
			res, err := Read(bytes.NewReader(unpacked(t, path)), Options{Zone: zone, CapacityKW: f.capacityKW, Now: now})
			if err != nil {
				t.Fatal(err)
			}
			checkFrames(t, res)
			if diff := cmp.Diff(f.want, learnt(res), cmpopts.EquateApprox(1e-6, 0.002)); diff != "" {
				t.Errorf("want -, got +:\n%s\n%v\n%v", diff, res.Decisions, res.Warnings)
			}
		})
	}
}

// learnt returns a result in the terms of known.
func learnt(res *Result) known {
	s := Summarize(res, nil)
	k := known{Kind: s.ValueKind, Unit: s.UnitSource, Maker: res.Manufacturer, Minutes: s.IntervalMinutes, Assets: strings.Join(s.Assets, " "),
		Rows: s.Rows, First: res.First.Format(time.RFC3339), Last: res.Last.Format(time.RFC3339), SumKW: s.SumPowerKW}
	for _, a := range res.Assets {
		for _, v := range a.Frame.Values(series.PowerKW) {
			if v > k.MaxKW {
				k.MaxKW = v
			}
		}
	}
	return k
}

// TestRealFilesRefused are files without production, or without a header.
func TestRealFilesRefused(t *testing.T) {
	for path, want := range map[string]Kind{
		"portal-exports/metern/1FV_Totale2022.csv":        NoHeader,
		"pvanalytics-quality/irradiance_RMIS_NREL.csv.gz": NoPowerOrEnergy,
		"pvdaq-50/psm3_30min_2011-2012.csv.gz":            NoPowerOrEnergy,
		"pvod/metadata.csv":                               NoTimestampColumn,
		"weather-tmy/pvgis_tmy_45.000_8.000.csv.gz":       NoPowerOrEnergy,
		"weather-tmy/tmy3_723170_greensboro.csv.gz":       NoPowerOrEnergy,
	} {
		_, err := Read(bytes.NewReader(unpacked(t, realdata.Path(t, "data/"+path))), Options{Now: now})
		var r *Refusal
		if !errors.As(err, &r) || r.Kind != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

// TestEveryRealFile reads all there is: what imports has ordered frames, what
// does not has a reason.
func TestEveryRealFile(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 100 MB")
	}
	root := realdata.Path(t, "data")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		res, err := Read(bytes.NewReader(unpacked(t, path)), Options{Now: now})
		var r *Refusal
		switch {
		case errors.As(err, &r):
			if r.Message == "" {
				t.Errorf("%s: no reason", path)
			}
		case err != nil:
			t.Errorf("%s: %v", path, err)
		default:
			checkFrames(t, res)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestQuantities asserts the further quantities of two portals.
func TestQuantities(t *testing.T) {
	maxima := func(f series.Frame) map[string]float64 {
		out := map[string]float64{}
		for _, c := range f.Columns {
			m := math.Inf(-1)
			for _, v := range c.Values {
				if v > m {
					m = v
				}
			}
			out[c.Quantity.String()] = m
		}
		return out
	}
	for path, want := range map[string]map[string]float64{
		"portal-exports/growatt/INVERTER_02_2025-04-04_2025-04-05.csv.gz": {
			"energy_counter_kwh": 13355.1, "power_factor": 1, "cabinet_temperature_c": 68.4, "voltage_v": 232.3, "inverter_state": 8, "run_state": 1,
			"error_code": 0, "dc_voltage_1_v": 827.7, "dc_voltage_10_v": 571.7, "dc_current_1_a": 23.4, "dc_current_16_a": 0},
		"portal-exports/huawei-fusionsolar/Inverter_2023_12_5min.csv.gz": {
			"energy_counter_kwh": 36684.97, "power_factor": 1, "cabinet_temperature_c": 28.4, "voltage_v": 247.2, "inverter_state": 4, "run_state": 1,
			"dc_voltage_1_v": 950, "dc_current_4_a": 5.96},
		"pvod/station01.csv.gz": {"predicted_ghi_wm2": 936.42, "predicted_temperature_c": 39.01, "wind_speed_ms": 11.3},
		"portal-exports/pvdaq-wide/serf_west_15min.csv": {
			"irradiance_wm2": 1113.2, "temperature_c": 13.494, "module_temperature_c": 50.628, "cabinet_temperature_c": 22.274, "voltage_v": 119.06, "dc_current_1_a": 16.251},
	} {
		res, err := Read(bytes.NewReader(unpacked(t, realdata.Path(t, "data/"+path))), Options{Now: now})
		if err != nil {
			t.Fatal(err)
		}
		got := maxima(res.Assets[0].Frame)
		for q, v := range want {
			if math.Abs(got[q]-v) > 0.01 {
				t.Errorf("%s: %s is at most %v, want %v", path, q, got[q], v)
			}
		}
	}
}
