package compat

import (
	"net/http"
	"testing"

	"app.sunloop/backend/api"
)

// conditional asks again with the tag of an answer, as clients do that cache.
func conditional(t *testing.T, a answer, base, path string, namesAndValues ...string) {
	t.Helper()
	tag := a.header.Get("ETag")
	if len(tag) < 3 || tag[0] != '"' || a.header.Get("Cache-Control") != "private, max-age=60" {
		t.Errorf("%s: ETag %s, Cache-Control %s", a.what, tag, a.header.Get("Cache-Control"))
	}
	for sent, status := range map[string]int{tag: http.StatusNotModified, "W/" + tag: http.StatusNotModified, `"other", ` + tag: http.StatusNotModified, `"other"`: http.StatusOK} {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path+"?"+query(namesAndValues...).Encode(), nil)
		if err != nil {
			t.Fatal(err)
		}
		q.Header.Set("x-api-key", shared.key)
		q.Header.Set("If-None-Match", sent)
		again := send(t, q)
		if again.status != status || again.header.Get("ETag") == "" {
			t.Errorf("%s with If-None-Match %s: HTTP %d, ETag %q", a.what, sent, again.status, again.header.Get("ETag"))
		}
		if status == http.StatusNotModified && len(again.body) > 0 {
			t.Errorf("%s: a body with 304", a.what)
		}
	}
}

func TestForecastSnapshot(t *testing.T) {
	snapshot := func(hours int) shape {
		return object(fields{
			"site_id": exactly(site), "model_id": text, "generated_at": instant, "horizon_hours": exactly(float64(hours)), "resolution": text,
			"intervals": both(count(hours, object(fields{"ts": instant, "p10_kw": number, "p50_kw": number, "p90_kw": number, "revenue_zar": number})), ascending("ts")),
			"totals":    object(fields{"total_kwh": number, "total_revenue_zar": number}),
		})
	}
	a := read(t, api.HostPartner, "/forecast-snapshot", query("site_id", site)).is(snapshot(24))
	conditional(t, a, shared.hosts[api.HostPartner], "/forecast-snapshot", "site_id", site)
	read(t, api.HostPartner, "/forecast-snapshot", query("site_id", site, "horizon", "48h", "customer_id", customer)).is(snapshot(48))
	kWh, money := 0.0, 0.0
	for _, e := range a.elements("intervals") {
		i := e.(map[string]any)
		low, mid, high := i["p10_kw"].(float64), i["p50_kw"].(float64), i["p90_kw"].(float64)
		if !(0 <= low && low <= mid && mid <= high) {
			t.Errorf("%s: %v, %v, %v", i["ts"], low, mid, high)
		}
		kWh += mid
		money += i["revenue_zar"].(float64)
	}
	if total := a.at("totals.total_kwh").(float64); total < kWh-0.1 || total > kWh+0.1 || total <= 0 {
		t.Errorf("%v kWh in all, %v in parts", total, kWh)
	}
	if total := a.at("totals.total_revenue_zar").(float64); total < money-0.1 || total > money+0.1 || total <= 0 {
		t.Errorf("%v ZAR in all, %v in parts", total, money)
	}
	read(t, api.HostPartner, "/forecast-snapshot", query()).refused(http.StatusBadRequest, "Missing required parameter: site_id")
	read(t, api.HostPartner, "/forecast-snapshot", query("site_id", site, "horizon", "soon")).refused(http.StatusBadRequest, "Invalid parameter: horizon")
	read(t, api.HostPartner, "/forecast-snapshot", query("site_id", "Nowhere")).refused(http.StatusNotFound, "Site not found")
	read(t, api.HostPartner, "/forecast-snapshot", query("site_id", "Havelland")).refused(http.StatusNotFound, "Not found")
	get(t, bare, shared.hosts[api.HostPartner], "/forecast-snapshot", query("site_id", site)).refused(http.StatusUnauthorized, "Unauthorized")
}
