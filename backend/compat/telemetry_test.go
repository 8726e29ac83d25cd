package compat

import (
	"crypto/tls"
	"net/http"
	"net/url"
	"strconv"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// record is one sample as clients read it.
var record = object(fields{
	"asset_id": text, "site_id": exactly(site), "timestamp": instant, "power": number, "kWh": number, "inverter_state": integer, "run_state": integer,
	"kVArh?": number, "kVA?": number, "PF?": number, "temperature?": number, "irradiance?": number, "soc?": number, "soh?": number, "voltage?": number,
	"energy_counter_kwh?": number, "error_code?": integer, "error_type?": exactly("normal", "warning", "critical", "fault", "offline", "standby", "unknown"), "cursor?": text,
})

func records(of shape) shape { return object(fields{"records": both(of, ascending("timestamp"))}) }

func TestTelemetryPeriod(t *testing.T) {
	for _, v := range []url.Values{query("site_id", site), query("site_id", site, "asset_id", asset), query("site_id", site, "customer_id", customer)} {
		a := read(t, api.HostTelemetry, "/telemetry/data-period", v).is(object(fields{"site_id": exactly(site), "first_record": exactly("2025-10-01T06:00:00Z"), "last_record": instant}))
		if last := a.text("last_record"); last < "2026-04-15" || v.Has("asset_id") != (a.at("asset_id") == asset) {
			t.Errorf("%v: %s", v, a.body)
		}
	}
	// A site without data has a period all the same.
	terminal(t, "/terminal/sites", "action", "set", "site", map[string]any{"site_id": "Empty", "customer_id": customer, "name": "Empty", "timezone": "Africa/Johannesburg"})
	read(t, api.HostTelemetry, "/telemetry/data-period", query("site_id", "Empty"), ".first_record", ".last_record").
		is(object(fields{"site_id": exactly("Empty"), "first_record": exactly(nil), "last_record": exactly(nil)}))
	read(t, api.HostTelemetry, "/telemetry/data-period", query()).refused(http.StatusBadRequest, "Missing required parameter: site_id")
	read(t, api.HostTelemetry, "/telemetry/data-period", query("site_id", "Nowhere")).refused(http.StatusNotFound, "Site not found")
}

// TestTelemetryTimes asks for the same two hours, whose end is inclusive, in every
// form of time that clients send.
func TestTelemetryTimes(t *testing.T) {
	ask := func(start, end string) answer {
		return read(t, api.HostTelemetry, "/telemetry/inverter", query("asset_id", asset, "site_id", site, "start", start, "end", end)).is(records(count(9, record)))
	}
	first := ask("2025-10-01T08:00:00Z", "2025-10-01T10:00:00Z")
	if first.text("records.0.timestamp") != "2025-10-01T08:00:00Z" || first.text("records.8.timestamp") != "2025-10-01T10:00:00Z" {
		t.Errorf("from %s to %s", first.text("records.0.timestamp"), first.text("records.8.timestamp"))
	}
	for _, c := range [][2]string{
		{"2025-10-01T08:00:00.000Z", "2025-10-01T10:00:00.000Z"},          // JavaScript's toISOString
		{"2025-10-01T08:00:00", "2025-10-01T10:00:00"},                    // Python's isoformat of a naive time
		{"2025-10-01T08:00:00.000001", "2025-10-01T10:00:00.999999"},      // with microseconds
		{"2025-10-01T08:00:00+00:00", "2025-10-01T10:00:00+00:00"},        // and of one with a zone
		{"2025-10-01T10:00:00+02:00", "2025-10-01T12:00:00+02:00"},        // and of the site's
		{"2025-10-01T08:00Z", "2025-10-01T10:00Z"},                        // without seconds
		{"2025-10-01 08:00:00", "2025-10-01 10:00:00"},                    // str of a datetime
		{"2025-10-01T03:00:00-05:00", "2025-10-01T15:30:00.000000+05:30"}, // mixed
		{"2025-10-01T08:00:00+0000", "2025-10-01T10:00:00+0000"},          // strftime's %z
	} {
		if a := ask(c[0], c[1]); string(a.body) != string(first.body) {
			t.Errorf("%v: %.200s", c, a.body)
		}
	}
	for _, c := range []struct{ name, value string }{{"start", "yesterday"}, {"end", "2025-13-01"}, {"start", "1759305600"}} {
		v := query("asset_id", asset, "site_id", site, "start", "2025-10-01", "end", "2025-10-02")
		v.Set(c.name, c.value)
		read(t, api.HostTelemetry, "/telemetry/inverter", v).refused(http.StatusBadRequest, "Invalid parameter: "+c.name)
	}
	for _, name := range []string{"asset_id", "site_id", "start", "end"} {
		v := query("asset_id", asset, "site_id", site, "start", "2025-10-01", "end", "2025-10-02")
		v.Del(name)
		read(t, api.HostTelemetry, "/telemetry/inverter", v).refused(http.StatusBadRequest, "Missing required parameter: "+name)
	}
}

func TestTelemetryResolutions(t *testing.T) {
	ask := func(resolution, start, end string, of shape) answer {
		return read(t, api.HostTelemetry, "/telemetry/inverter", query("asset_id", asset, "site_id", site, "start", start, "end", end, "resolution", resolution, "customer_id", customer)).is(records(of))
	}
	for resolution, n := range map[string]int{"5min": 96, "15min": 96, "hourly": 24} { // it was measured by quarter hours
		ask(resolution, "2025-10-02", "2025-10-02T23:59:59", count(n, record))
	}
	days := ask("daily", "2025-10-01", "2025-10-11", some(record))
	for _, d := range days.elements("records") {
		if at := d.(map[string]any)["timestamp"].(string); at[10:] != "T22:00:00Z" { // the site's midnight
			t.Errorf("a day at %s", at)
		}
	}
	// A day's energy is that of its hours.
	day := ask("daily", "2025-10-01T22:00:00Z", "2025-10-02T21:59:59Z", count(1, record))
	sum := 0.0
	for _, r := range ask("hourly", "2025-10-01T22:00:00Z", "2025-10-02T21:59:59Z", count(24, record)).elements("records") {
		sum += r.(map[string]any)["kWh"].(float64)
	}
	if kWh := day.at("records.0.kWh").(float64); kWh <= 0 || kWh-sum > 0.01 || sum-kWh > 0.01 {
		t.Errorf("a day of %v kWh, its hours of %v", kWh, sum)
	}
	read(t, api.HostTelemetry, "/telemetry/inverter", query("asset_id", asset, "site_id", site, "start", "2025-10-01", "end", "2025-10-02", "resolution", "weekly")).
		refused(http.StatusBadRequest, "Invalid parameter: resolution")
}

// TestTelemetryOfAllTime requests everything, as some clients do, and pages
// through it a thousand at a time.
func TestTelemetryOfAllTime(t *testing.T) {
	const all, end = "1970-01-01T00:00:00Z", "9999-12-31T23:59:59Z"
	get(t, xAPIKey, shared.url, "/telemetry/inverter", query("asset_id", asset, "site_id", site, "start", all, "end", end)).is(records(count(100, record))) // the default page
	whole, err := client.New(client.Options{BaseURL: shared.url, Credential: shared.key, TLS: &tls.Config{RootCAs: shared.roots}}).
		Inverter(t.Context(), api.RecordsQuery{AssetID: asset, SiteID: site, Start: api.Unix(0), End: api.At(time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC))})
	if err != nil {
		t.Fatal(err)
	}
	want := whole.Records
	days := int(now.Sub(time.Date(2025, 10, 1, 0, 0, 0, 0, time.UTC)).Hours() / 24)
	if len(want) < days*96*95/100 {
		t.Errorf("%d records of %d days", len(want), days)
	}
	var paged []any
	for v := query("asset_id", asset, "site_id", site, "start", all, "end", end, "limit", "1000"); ; {
		a := get(t, bearer, shared.url, "/telemetry/inverter", v).is(records(array(record, 0, 1000)))
		part := a.elements("records")
		paged = append(paged, part...)
		if len(part) < 1000 {
			break
		}
		v.Set("cursor", a.text("records.999.cursor"))
	}
	if len(paged) != len(want) {
		t.Fatalf("%d records in parts, %d by the client", len(paged), len(want))
	}
	for i := range want {
		if w, p := want[i], paged[i].(map[string]any); w.Timestamp.String() != p["timestamp"] || w.Power != p["power"] {
			t.Fatalf("record %d is %v in parts, %v by the client", i, p, w)
		}
	}
	daily := get(t, xAPIKey, shared.url, "/telemetry/inverter", query("asset_id", asset, "site_id", site, "start", all, "end", end, "resolution", "daily", "limit", "1000")).is(records(some(record)))
	if n := len(daily.elements("records")); n < days || n > days+1 {
		t.Errorf("%d days of %d", n, days)
	}
	read(t, api.HostTelemetry, "/telemetry/inverter", query("asset_id", asset, "site_id", site, "start", all, "end", "2025-01-01")).is(records(count(0, record)))
	cursor := get(t, bearer, shared.url, "/telemetry/inverter", query("asset_id", asset, "site_id", site, "start", all, "end", end, "limit", "1")).text("records.0.cursor")
	read(t, api.HostTelemetry, "/telemetry/inverter", query("asset_id", "INV-1000000054495191", "site_id", site, "start", all, "end", end, "cursor", cursor)).
		refused(http.StatusBadRequest, "Invalid parameter: cursor")
}

// TestTelemetryStream polls as the clients' streams do: from the newest record
// that they have, over and over.
func TestTelemetryStream(t *testing.T) {
	seen := map[string]bool{}
	from := time.Date(2025, 10, 1, 6, 0, 0, 0, time.UTC)
	cursor := ""
	for poll := range 12 {
		v := query("asset_id", asset, "site_id", site, "start", "2025-10-01T00:00:00Z", "end", from.Add(time.Duration(poll+1)*time.Hour).Format("2006-01-02T15:04:05.000Z"), "limit", "1000")
		if cursor != "" {
			v.Set("cursor", cursor)
		}
		a := get(t, xAPIKey, shared.hosts[api.HostTelemetry], "/telemetry/inverter", v).is(records(list(record)))
		for _, r := range a.elements("records") {
			at := r.(map[string]any)["timestamp"].(string)
			if seen[at] {
				t.Errorf("poll %d has %s again", poll, at)
			}
			seen[at] = true
			// A client that has no cursor of a part makes its own of the last record.
			cursor = ownCursor("asset_id", asset, "timestamp", at)
		}
	}
	if len(seen) != 12*4+1 {
		t.Errorf("%d records in 12 hours", len(seen))
	}
}

func TestTelemetryOfASite(t *testing.T) {
	units := len(shared.fleet.Sites[0].Units)
	a := read(t, api.HostTelemetry, "/telemetry/site", query("site_id", site, "start", "2025-10-01T08:00:00", "end", "2025-10-01T09:59:59", "resolution", "hourly", "customer_id", customer)).
		is(object(fields{"records": both(eachOf(both(count(2, record), ascending("timestamp"))), object(fields{asset: count(2, record)}))}))
	if n := len(a.at("records").(map[string]any)); n != units {
		t.Errorf("%d units of %d", n, units)
	}
	a = read(t, api.HostTelemetry, "/telemetry/site", query("site_id", site, "start", "1970-01-01", "end", "9999-12-31", "resolution", "daily", "limit", "3")).
		is(object(fields{"records": eachOf(count(3, record))})) // a page of three, of the first unit
	for name, l := range a.at("records").(map[string]any) {
		if l.([]any)[0].(map[string]any)["asset_id"] != name {
			t.Errorf("under %s: %v", name, l)
		}
	}
	read(t, api.HostTelemetry, "/telemetry/latest", query("site_id", site)).is(object(fields{"site_id": exactly(site), "records": both(count(units, record), ascending("asset_id"))}))
}

// TestTelemetryLimits are those of the parameter.
func TestTelemetryLimits(t *testing.T) {
	for _, limit := range []int{1, 7, 1000} {
		v := query("asset_id", asset, "site_id", site, "start", "2025-10-01", "end", "2025-12-01", "limit", strconv.Itoa(limit))
		read(t, api.HostTelemetry, "/telemetry/inverter", v).is(records(count(limit, record)))
	}
	for _, limit := range []string{"0", "-1", "many"} {
		v := query("asset_id", asset, "site_id", site, "start", "2025-10-01", "end", "2025-12-01", "limit", limit)
		read(t, api.HostTelemetry, "/telemetry/inverter", v).refused(http.StatusBadRequest, "Invalid parameter: limit")
	}
}

// TestTelemetryRequiresACredential with either header.
func TestTelemetryRequiresACredential(t *testing.T) {
	v := query("site_id", site)
	get(t, bare, shared.hosts[api.HostTelemetry], "/telemetry/data-period", v).refused(http.StatusUnauthorized, "Unauthorized")
	for _, h := range []header{bearer, xAPIKey} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shared.hosts[api.HostTelemetry]+"/telemetry/data-period?site_id="+site, nil)
		if err != nil {
			t.Fatal(err)
		}
		h.set(q, "opa_prod_unknown")
		send(t, q).refused(http.StatusUnauthorized, "Unauthorized")
	}
}

// TestTelemetryOfTheLastRecord asks for the span of the data period, as clients do:
// the newest record is in it.
func TestTelemetryOfTheLastRecord(t *testing.T) {
	period := read(t, api.HostTelemetry, "/telemetry/data-period", query("site_id", site, "asset_id", asset))
	last := period.text("last_record")
	a := read(t, api.HostTelemetry, "/telemetry/inverter", query("asset_id", asset, "site_id", site, "start", last, "end", last)).is(records(count(1, record)))
	if at := a.text("records.0.timestamp"); at != last {
		t.Errorf("the record is of %s, not %s", at, last)
	}
	read(t, api.HostTelemetry, "/telemetry/site", query("site_id", site, "start", "1970-01-01", "end", "1970-01-02")).is(object(fields{"records": object(fields{})}))
}
