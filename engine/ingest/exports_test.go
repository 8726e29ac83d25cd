package ingest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"app.sunloop/engine/ingest"
)

// The files of these tests are written by the public descriptions of their formats: the SolarEdge Monitoring API
// (2022), the HTTP APIs of Prometheus, Grafana, Home Assistant and InfluxDB, OpenMetrics 1.0, AEMO's Meter Data
// File Format (NEM12), NAESB REQ.21 (ESPI) and Campbell's description of TOA5.

// list joins f of each quarter of a day with commas.
func list(f func(q int) string) string {
	parts := make([]string, 96)
	for q := range parts {
		parts[q] = f(q)
	}
	return strings.Join(parts, ",")
}

func local(q int) string { return quarters(q).Format("2006-01-02 15:04:05") }
func iso(q int) string   { return quarters(q).Format(time.RFC3339) }
func epoch(q int) int64  { return quarters(q).Unix() }

// oneUnit returns what a file of one unit contains, twoUnits of one that has a second with half the power.
func oneUnit(name, format string) wantFile {
	return wantFile{units: []string{name}, kwh: []float64{dayKWh()}, rows: 96, step: 15 * time.Minute, first: "2025-06-01T00:00:00Z", decide: format}
}

func twoUnits(first, second, format string) wantFile {
	return wantFile{units: []string{first, second}, kwh: []float64{dayKWh(), dayKWh() / 2}, rows: 192, step: 15 * time.Minute, first: "2025-06-01T00:00:00Z", decide: format}
}

func TestJSON(t *testing.T) {
	f := fmt.Sprintf
	records := f(`[%s]`, list(func(q int) string {
		return f(`{"timestamp":"%s","power_kw":%g,"temp":{"module":%d}}`, iso(q), sunny(q)/1000, 20+q)
	}))
	for name, c := range map[string]struct {
		text string
		want wantFile
	}{
		"array of records": {records, oneUnit("", "JSON")},
		"columns": {f(`{"time":[%s],"ac_power_w":[%s]}`, list(func(q int) string { return f("%d", epoch(q)*1000) }), list(func(q int) string { return f("%g", sunny(q)) })),
			oneUnit("", "JSON")},
		"JSON lines": {strings.ReplaceAll(list(func(q int) string {
			return f(`{"ts":%d;"inverter":"A";"ac":{"power_w":%g}}`, epoch(q)*1000, sunny(q)) + "\n" + f(`{"ts":%d;"inverter":"B";"ac":{"power_w":%g}}`, epoch(q)*1000, sunny(q)/2) + "\n"
		})+`{"ts":17`, ";", ","), twoUnits("A", "B", "the last record is cut")},
		"records in the objects of their units": {f(`{"site":"x","inverters":[{"serial":"SN10001","data":[%s]},{"serial":"SN10002","data":[%s]}]}`,
			list(func(q int) string { return f(`{"time":"%s","acPower (W)":%g}`, local(q), sunny(q)) }),
			list(func(q int) string { return f(`{"time":"%s","acPower (W)":%g}`, local(q), sunny(q)/2) })), twoUnits("SN10001", "SN10002", "JSON")},
		"rows under a header": {f(`[["time","power kW"],%s]`, list(func(q int) string { return f(`["%s",%g]`, local(q), sunny(q)/1000) })), oneUnit("", "JSON")},
		"split by pandas": {f(`{"columns":["power_kw"],"index":[%s],"data":[%s]}`, list(func(q int) string { return f("%d", epoch(q)*1000) }), list(func(q int) string { return f("[%g]", sunny(q)/1000) })),
			oneUnit("", "JSON")},
		"columns of pandas": {f(`{"power_kw":{%s}}`, list(func(q int) string { return f(`"%d":%g`, epoch(q)*1000, sunny(q)/1000) })), oneUnit("", "JSON")},
		"values by time":    {f(`{"result":{"watts":{%s}},"message":{"code":0}}`, list(func(q int) string { return f(`"%s":%g`, local(q), sunny(q)) })), oneUnit("", "JSON")},
		"SolarEdge power": {f(`{"power":{"timeUnit":"QUARTER_OF_AN_HOUR","unit":"W","measuredBy":"INVERTER","values":[%s]}}`, list(func(q int) string { return f(`{"date":"%s","value":%g}`, local(q), sunny(q)) })),
			oneUnit("", "JSON")},
		"SolarEdge energy": {f(`{"energy":{"timeUnit":"QUARTER_OF_AN_HOUR","unit":"Wh","values":[%s]}}`, list(func(q int) string { return f(`{"date":"%s","value":%g}`, local(q), sunny(q)/4) })),
			oneUnit("", "JSON")},
		"SolarEdge power of meters": {f(`{"powerDetails":{"timeUnit":"QUARTER_OF_AN_HOUR","unit":"W","meters":[{"type":"Consumption","values":[%s]},{"type":"Production","values":[%s]}]}}`,
			list(func(q int) string { return f(`{"date":"%s","value":%d}`, local(q), 500+q) }), list(func(q int) string { return f(`{"date":"%s","value":%g}`, local(q), sunny(q)) })), oneUnit("", "JSON")},
		"SolarEdge inverter": {f(`{"data":{"count":96,"telemetries":[%s]}}`, list(func(q int) string {
			return f(`{"date":"%s","totalActivePower":%g,"dcVoltage":7%d.5,"L1Data":{"acVoltage":23%d,"activePower":%g}}`, local(q), sunny(q), q, q%10, sunny(q)/3)
		})), oneUnit("", "JSON")},
	} {
		t.Run(name, func(t *testing.T) { checkFile(t, []byte(c.text), ingest.Options{CapacityKW: 6}, c.want) })
	}
	refused(t, []byte(records[:len(records)/2]), ingest.NotCSV, "ends in the middle")
	refused(t, []byte(`{"error":"invalid api key"}`), ingest.NoDataRows, "without a list of records")
	refused(t, []byte(`[{"time":"2025-06-01 10:00","colour":"red"}]`), ingest.NoPowerOrEnergy, "")
	refused(t, []byte(`{time: 5}`), ingest.NotCSV, "begins like JSON")
}

func TestDatabaseExports(t *testing.T) {
	f := fmt.Sprintf
	matrix := func(unit string, share float64) string {
		return f(`{"metric":{"__name__":"pv_ac_power_watts","inverter":"%s","job":"solar"},"values":[%s]}`, unit, list(func(q int) string { return f(`[%d.585,"%g"]`, epoch(q), share*sunny(q)) }))
	}
	frame := func(unit string, share float64) string {
		return f(`{"schema":{"name":"ac_power","fields":[{"name":"Time","type":"time"},{"name":"Value","type":"number","labels":{"inverter":"%s"},"config":{"unit":"watt"}}]},"data":{"values":[[%s],[%s]]}}`,
			unit, list(func(q int) string { return f("%d", epoch(q)*1000) }), list(func(q int) string { return f("%g", share*sunny(q)) }))
	}
	states := func(unit int, share float64) string {
		return f(`[{"entity_id":"sensor.inverter_%d_ac_power","state":"unavailable","last_changed":"2025-05-31T23:59:00+00:00","attributes":{"unit_of_measurement":"W"}},%s]`,
			unit, list(func(q int) string { return f(`{"state":"%g","last_changed":"%s"}`, share*sunny(q), iso(q)) }))
	}
	lines := func(each func(q int) string) string {
		return strings.ReplaceAll(list(func(q int) string { return each(q) + "\n" }), "\n,", "\n")
	}
	for name, c := range map[string]struct {
		text string
		want wantFile
	}{
		"Prometheus API": {f(`{"status":"success","data":{"resultType":"matrix","result":[%s,%s]}}`, matrix("a", 1), matrix("b", 0.5)), twoUnits("a", "b", "Prometheus API")},
		"OpenMetrics": {"# TYPE pv_ac_power_watts gauge\n" + lines(func(q int) string {
			return f("pv_ac_power_watts{inverter=\"a\",site=\"x, y\"} %g %d.0\npv_ac_power_watts{inverter=\"b\",site=\"x, y\"} %g %d", sunny(q), epoch(q), sunny(q)/2, epoch(q)*1000)
		}) + "# EOF\n", twoUnits("a", "b", "OpenMetrics")},
		"line protocol": {lines(func(q int) string {
			return f(`pv,inverter=a,site=x ac_power=%g,temp=%di,mode="mppt, on" %d000000000`+"\n"+`pv,inverter=b\ 2,site=x ac_power=%g %d000000`, sunny(q), 20+q, epoch(q), sunny(q)/2, epoch(q))
		}), twoUnits("a", "b 2", "line protocol of InfluxDB")},
		"InfluxDB API": {f(`{"results":[{"series":[{"name":"pv","tags":{"inverter":"a"},"columns":["time","ac_power"],"values":[%s]}]}]}`,
			list(func(q int) string { return f(`["%s",%g]`, iso(q), sunny(q)) })), oneUnit("a", "InfluxDB API")},
		"Grafana frames":     {f(`{"results":{"A":{"frames":[%s,%s]}}}`, frame("a", 1), frame("b", 0.5)), twoUnits("a", "b", "Grafana")},
		"Grafana datapoints": {f(`[{"target":"Inverter power","datapoints":[%s]}]`, list(func(q int) string { return f("[%g,%d]", sunny(q), epoch(q)*1000) })), oneUnit("", "Grafana")},
		"Home Assistant API": {f(`[%s,%s]`, states(1, 1), states(2, 0.5)), twoUnits("inverter 1", "inverter 2", "Home Assistant")},
		"Home Assistant WebSocket": {f(`{"sensor.pv_power":[%s]}`, list(func(q int) string {
			return f(`{"s":"%g","lu":%d.25,"a":{"unit_of_measurement":"W"}}`, sunny(q), epoch(q))
		})),
			oneUnit("", "Home Assistant")},
		"Home Assistant statistics": {f(`{"sensor.pv_power":[%s]}`, list(func(q int) string {
			return f(`{"start":%d,"end":%d,"mean":%g,"min":0}`, epoch(q)*1000, epoch(q+1)*1000, sunny(q))
		})),
			oneUnit("", "Home Assistant")},
		"Home Assistant history": {"entity_id,state,last_changed\n" + lines(func(q int) string {
			return f("sensor.inverter_1_ac_power,%g,%s\nsensor.inverter_2_ac_power,%g,%s\nsensor.kitchen_power,55.5,%s", sunny(q), iso(q), sunny(q)/2, iso(q), iso(q))
		}), twoUnits("inverter 1", "inverter 2", "Home Assistant")},
	} {
		t.Run(name, func(t *testing.T) { checkFile(t, []byte(c.text), ingest.Options{CapacityKW: 6}, c.want) })
	}
	refused(t, []byte("# TYPE pv_power_watts gauge\npv_power_watts{inverter=\"a\"} 12\npv_up 1\n"), ingest.NotCSV, "the metrics have no times")
	refused(t, []byte(`{"status":"success","data":{"resultType":"matrix","result":[]}}`), ingest.NoDataRows, "")
	refused(t, []byte("entity_id,state,last_changed\n"), ingest.NoDataRows, "choose a period with data")
	refused(t, []byte("entity_id,state,last_changed\nsensor.house_consumption,5,2025-06-01T10:00:00Z\nsensor.house_consumption,6,2025-06-01T10:10:00Z\n"), ingest.NoPowerOrEnergy, "")
}

// nemDay returns a day of NEM12 with half hours, of the energy of two quarters each.
func nemDay(date string, share float64) string {
	parts := make([]string, 48)
	for i := range parts {
		parts[i] = fmt.Sprintf("%.5f", share*(sunny(2*i)+sunny(2*i+1))/4000)
	}
	return "300," + date + "," + strings.Join(parts, ",") + ",A,,,20250602010000,\n"
}

func TestMeters(t *testing.T) {
	nem := "100,NEM12,202506021130,MDP1,RET1\n200,NMI1234567,B1E1,1,E1,N1,METER1,kWh,30,\n300,20250601" + strings.Repeat(",0.4", 48) + ",A,,,20250602010000,\n" +
		"200,NMI1234567,B1E1,1,B1,N1,METER1,kWh,30,\n" + nemDay("20250601", 1) + "400,1,48,A,,\n900\n"
	want := wantFile{units: []string{"NMI1234567"}, kwh: []float64{dayKWh()}, rows: 48, step: 30 * time.Minute, first: "2025-05-31T14:00:00Z", decide: "fed into the grid"}
	checkFile(t, []byte(nem), ingest.Options{}, want)
	checkFile(t, []byte(strings.TrimPrefix(nem, "100,NEM12,202506021130,MDP1,RET1\n")), ingest.Options{}, want)
	refused(t, []byte(strings.Replace(nem, "kWh,30,", "kWh,7,", 1)), ingest.NotCSV, "interval of \"7\" minutes")
	refused(t, []byte("100,NEM12,202506021130,MDP1,RET1\n900\n"), ingest.NoDataRows, "no interval data")
	refused(t, []byte("100,NEM13,202506021130,MDP1,RET1\n250,\n900\n"), ingest.NotCSV, "NEM12")

	espi := espiFeed(19)
	checkFile(t, []byte(espi), ingest.Options{}, oneUnit("UP1", "fed into the grid"))
	refused(t, []byte(espiFeed(1)), ingest.NoPowerOrEnergy, "")
	refused(t, []byte(espi[:len(espi)/2]), ingest.NotCSV, "incomplete")
	refused(t, []byte(`<feed><entry><content><UsagePoint xmlns="http://naesb.org/espi"/></content></entry></feed>`), ingest.NoDataRows, "interval usage")

	toa := `"TOA5","Roof","CR1000X","12345","CR1000X.Std.03.02","CPU:pv.CR1X","4711","Table15"` + "\r\n" + `"TIMESTAMP","RECORD","PV_Power_Avg","T_mod_Avg","GHI_Avg"` + "\r\n" + `"TS","RN","kW","Deg C","W/m^2"` + "\r\n" + `"","","Avg","Avg","Avg"` + "\r\n"
	var rows strings.Builder
	for q := range 96 {
		fmt.Fprintf(&rows, "\"%s\",%d,%.4f,\"NAN\",%.1f\r\n", local(q), q, sunny(q)/1000, sunny(q)/6)
	}
	checkFile(t, []byte(toa+rows.String()), ingest.Options{}, oneUnit("", "TOA5"))
	refused(t, []byte(toa), ingest.NoDataRows, "no rows below its four header lines")
	refused(t, []byte("\"TOB1\",\"Roof\"\r\n\x00\x01"), ingest.NotText, "TOA5")
}

// espiFeed returns an Atom feed of Green Button with quarter hours of energy in units of 10⁻⁴ Wh, all of one
// flow direction. The reading type follows the readings, as links allow.
func espiFeed(flow int) string {
	const base = "/espi/1_1/resource/Subscription/9/UsagePoint/UP1/MeterReading/M1"
	var readings strings.Builder
	for q := range 96 {
		fmt.Fprintf(&readings, "<espi:IntervalReading><espi:cost>9</espi:cost><espi:timePeriod><espi:duration>900</espi:duration><espi:start>%d</espi:start></espi:timePeriod><espi:value>%.0f</espi:value></espi:IntervalReading>", epoch(q), sunny(q)*2500)
	}
	return `<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom" xmlns:espi="http://naesb.org/espi">` +
		`<entry><link rel="self" href="` + base + `"/><link rel="related" href="/espi/1_1/resource/ReadingType/T7"/><content><espi:MeterReading/></content></entry>` +
		`<entry><link rel="self" href="` + base + `/IntervalBlock/1"/><content><espi:IntervalBlock><espi:interval><espi:duration>86400</espi:duration><espi:start>1748736000</espi:start></espi:interval>` + readings.String() + `</espi:IntervalBlock></content></entry>` +
		`<entry><link rel="self" href="/espi/1_1/resource/ReadingType/T7"/><content><espi:ReadingType><espi:accumulationBehaviour>4</espi:accumulationBehaviour><espi:flowDirection>` + fmt.Sprint(flow) +
		`</espi:flowDirection><espi:powerOfTenMultiplier>-4</espi:powerOfTenMultiplier><espi:uom>72</espi:uom></espi:ReadingType></content></entry></feed>`
}

func TestSpacesAndUTF32(t *testing.T) {
	var aligned, plain strings.Builder
	aligned.WriteString("# Report of the logger\n#  Date       Time      Power (kW)   Temp(C)\n")
	for q := range 96 {
		fmt.Fprintf(&aligned, "%s  %9.4f   %6.1f\n", local(q), sunny(q)/1000, 20+float64(q)/10)
	}
	checkFile(t, []byte(aligned.String()), ingest.Options{}, oneUnit("", "separated by spaces"))
	refused(t, []byte("some words of text\nand more words of text\n"), ingest.NotCSV, "not divided into columns")

	plain.WriteString(plainCSV(0, 96, 1))
	for _, mark := range []string{"", "\xff\xfe\x00\x00"} {
		text := []byte(mark)
		for _, r := range plain.String() {
			text = append(text, byte(r), byte(r>>8), 0, 0)
		}
		checkFile(t, text, ingest.Options{}, oneUnit("", "UTF-32"))
	}
}
