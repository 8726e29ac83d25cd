package httpapi_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/engine/series"
)

// BenchmarkWriteTelemetry writes history over the handler into a data folder, one request
// after the other: samples of each minute, and those of each five seconds as a gateway sends
// them after a cut. With -benchtime 42x the latter are a day.
func BenchmarkWriteTelemetry(b *testing.B) {
	b.Run("minutes", func(b *testing.B) { writeTelemetry(b, time.Minute, 50, 200) })
	b.Run("seconds", func(b *testing.B) { writeTelemetry(b, 5*time.Second, 20, 416) })
}

func writeTelemetry(b *testing.B, step time.Duration, units, stamps int) {
	w := newWorld(b, nil)
	key := w.key("collector", auth.NewKey{Role: api.RoleCollector, Sites: []string{ownSite}, Customers: []string{ownCustomer}})
	const quantities = 10
	from := w.clock.now().Truncate(24*time.Hour).AddDate(0, 0, -60)
	n := 0
	for b.Loop() {
		var body strings.Builder
		body.WriteString(`{"units":[`)
		for u := range units {
			if u > 0 {
				body.WriteByte(',')
			}
			fmt.Fprintf(&body, `{"asset_id":"U-%d","timestamps":[`, u)
			for i := range stamps {
				if i > 0 {
					body.WriteByte(',')
				}
				fmt.Fprint(&body, from.Add(time.Duration(n*stamps+i)*step).Unix())
			}
			body.WriteString(`],"values":{`)
			for q := range quantities {
				if q > 0 {
					body.WriteByte(',')
				}
				fmt.Fprintf(&body, `%q:[`, []series.Quantity{1, 3, 5, 6, 10, 12, 9, 65, 97, 66}[q].String())
				for i := range stamps {
					if i > 0 {
						body.WriteByte(',')
					}
					fmt.Fprintf(&body, "%.2f", float64((i*7+u+q)%100)/100)
				}
				body.WriteByte(']')
			}
			body.WriteString("}}")
		}
		body.WriteString("]}")
		q := httptest.NewRequest(http.MethodPost, "/telemetry/write?site_id="+url.QueryEscape(ownSite), strings.NewReader(body.String()))
		q.Header.Set("Authorization", "Bearer "+key)
		r := httptest.NewRecorder()
		w.handler.ServeHTTP(r, q)
		if r.Code != http.StatusOK || !strings.Contains(r.Body.String(), fmt.Sprintf(`"points":%d,`, units*stamps*quantities)) {
			b.Fatalf("HTTP %d %s", r.Code, r.Body)
		}
		n++
	}
	b.ReportMetric(float64(n*units*stamps*quantities)/b.Elapsed().Seconds(), "points/s")
}
