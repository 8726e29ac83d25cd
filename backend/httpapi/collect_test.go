package httpapi_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/snappy"
	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/encoding/protowire"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/httpapi"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/engine/series"
)

// decodeInto decodes the body of a response that is a success.
func decodeInto(t *testing.T, r *httptest.ResponseRecorder, into any) {
	t.Helper()
	if err := json.Unmarshal(r.Body.Bytes(), into); err != nil || r.Code != http.StatusOK {
		t.Fatalf("HTTP %d %s, %v", r.Code, r.Body, err)
	}
}

// point is a body with one value of a unit, some minutes before now.
func (w *world) point(asset string, minutesAgo int, value float64) string {
	return fmt.Sprintf(`{"points":[{"asset_id":%q,"timestamp":%d,"quantity":"power_kw","value":%g}]}`, asset, w.clock.now().Add(-time.Duration(minutesAgo)*time.Minute).Unix(), value)
}

// write sends a body of points for the first site.
func (w *world) write(key, query, body string, headers ...string) *httptest.ResponseRecorder {
	w.t.Helper()
	return w.ask(http.MethodPost, "/telemetry/write?site_id="+url.QueryEscape(ownSite)+query, body, append([]string{"Authorization", "Bearer " + w.keys[key]}, headers...)...)
}

// collector is a world with the key of a collector.
func collector(t *testing.T, edit func(*httpapiDeps)) *world {
	w := newWorld(t, edit)
	w.key("collector", auth.NewKey{Role: api.RoleCollector, Sites: []string{ownSite}, Customers: []string{ownCustomer}})
	return w
}

// power is the stored power of a unit of the first site.
func (w *world) power(asset string) string {
	w.t.Helper()
	var out strings.Builder
	for f, err := range w.store.Read(w.t.Context(), w.siteKey(), asset, time.Unix(0, 0), time.Unix(1<<40, 0), series.PowerKW) {
		if err != nil {
			w.t.Fatal(err)
		}
		for i, v := range f.Values(series.PowerKW) {
			fmt.Fprintf(&out, "%d:%g ", (f.Times[i]-w.clock.now().Unix())/60, v)
		}
	}
	return strings.TrimSpace(out.String())
}

// siteKey is the key of the first site.
func (w *world) siteKey() string {
	w.t.Helper()
	list, err := w.domain.Sites.SitesNamed(w.t.Context(), ownSite)
	if err != nil || len(list) != 1 {
		w.t.Fatal(list, err)
	}
	return list[0].SiteID
}

func remoteWrite(name, asset string, at time.Time, v float64) []byte {
	part := func(to []byte, field protowire.Number, b []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(to, field, protowire.BytesType), b)
	}
	label := func(name, v string) []byte { return part(part(nil, 1, []byte(name)), 2, []byte(v)) }
	sample := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type), math.Float64bits(v))
	sample = protowire.AppendVarint(protowire.AppendTag(sample, 2, protowire.VarintType), uint64(at.UnixMilli()))
	return part(nil, 1, part(part(part(nil, 1, label("__name__", name)), 1, label("asset_id", asset)), 2, sample))
}

// TestWriteTelemetry sends points in each form, and reads them back.
func TestWriteTelemetry(t *testing.T) {
	w := collector(t, nil)
	gz := func(s string) string {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write([]byte(s)); err != nil || z.Close() != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	zs, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	at := w.clock.now()
	for i, c := range []struct {
		query, body string
		headers     []string
		stored      string
	}{
		{"", w.point("NEW", 9, 1), []string{"Content-Type", "application/json"}, "-9:1"},
		{"", gz(w.point("NEW", 8, 2)), []string{"Content-Encoding", "gzip"}, "-9:1 -8:2"},
		{"", string(zs.EncodeAll([]byte(w.point("NEW", 7, 3)), nil)), []string{"Content-Encoding", "zstd"}, "-9:1 -8:2 -7:3"},
		{"&precision=s", fmt.Sprintf("inverter,asset_id=NEW power_kw=4 %d", at.Add(-6*time.Minute).Unix()), []string{"Content-Type", "text/plain; charset=utf-8"}, "-9:1 -8:2 -7:3 -6:4"},
		{"", string(snappy.Encode(nil, remoteWrite("power_kw", "NEW", at.Add(-5*time.Minute), 5))), []string{"Content-Type", "application/x-protobuf", "Content-Encoding", "snappy", "X-Prometheus-Remote-Write-Version", "0.1.0"}, "-9:1 -8:2 -7:3 -6:4 -5:5"},
		{"", w.point("NEW", 9, 7), nil, "-9:7 -8:2 -7:3 -6:4 -5:5"},
	} {
		r := w.write("collector", c.query, c.body, c.headers...)
		var a api.WriteResponse
		if err := json.Unmarshal(r.Body.Bytes(), &a); err != nil || r.Code != http.StatusOK || a.Points != 1 || a.Units != 1 || (len(a.CreatedAssets) == 1) != (i == 0) {
			t.Fatalf("%d: HTTP %d %s", i, r.Code, r.Body)
		}
		if got := w.power("NEW"); got != c.stored {
			t.Errorf("%d: stored %s, want %s", i, got, c.stored)
		}
	}
	// The unit is there, with an estimated capacity, and the state knows of its data.
	var asset api.AssetsResponse
	decodeInto(t, w.as("customer", http.MethodPost, "/terminal/assets", `{"action":"get","asset_id":"NEW"}`), &asset)
	if asset.Asset == nil || asset.Asset.SiteID != ownSite || asset.Asset.CapacityKW < 1 {
		t.Errorf("asset %+v", asset.Asset)
	}
}

// TestWriteRefused sends what is refused: none of it is stored.
func TestWriteRefused(t *testing.T) {
	w := collector(t, nil)
	good := w.point("NEW", 1, 1)
	bomb, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		query, body string
		headers     []string
		status      int
		says        string
	}{
		"second point":      {"", strings.Replace(good, "}]", `},{"asset_id":"NEW","timestamp":1,"quantity":"power_kw","value":1}]`, 1), nil, 400, "points[1].timestamp"},
		"another type":      {"", good, []string{"Content-Type", "text/csv"}, 415, "Unsupported content type"},
		"remote write 2":    {"", good, []string{"Content-Type", "application/x-protobuf;proto=io.prometheus.write.v2.Request"}, 415, "remote write 1.0"},
		"another encoding":  {"", good, []string{"Content-Encoding", "br"}, 415, "Unsupported content encoding"},
		"id of a new unit":  {"", w.point("A/B", 1, 1), nil, 400, "asset_id"},
		"not gzip":          {"", good, []string{"Content-Encoding", "gzip"}, 400, "it is not gzip"},
		"a bomb":            {"", string(bomb.EncodeAll(make([]byte, api.MaxWriteBytes+1), nil)), []string{"Content-Encoding", "zstd"}, 413, "8192 KiB"},
		"checksum":          {"&gateway_id=g&epoch=e&sequence=1&sha256=" + strings.Repeat("0", 64), good, nil, 400, "sha256"},
		"no epoch":          {"&gateway_id=g&sequence=1", good, nil, 400, "epoch"},
		"no number":         {"&gateway_id=g&epoch=e", good, nil, 400, "sequence"},
		"no sender":         {"&sequence=1&sha256=00", good, nil, 400, "gateway_id"},
		"number 0":          {"&gateway_id=g&epoch=e&sequence=0", good, nil, 400, "sequence"},
		"unknown precision": {"&precision=h", good, nil, 400, "precision"},
		"control character": {"&gateway_id=%1b&epoch=e&sequence=1&sha256=00", good, nil, 400, "gateway_id"},
	} {
		r := w.write("collector", c.query, c.body, c.headers...)
		if r.Code != c.status || !strings.Contains(r.Body.String(), c.says) {
			t.Errorf("%s: HTTP %d %s", name, r.Code, r.Body)
		}
	}
	if got := w.power("NEW"); got != "" {
		t.Errorf("stored %s", got)
	}
}

// batch sends a numbered batch.
func (w *world) batch(epoch string, first, last int, body string) (int, api.WriteResponse, string) {
	w.t.Helper()
	sum := sha256.Sum256([]byte(body))
	query := fmt.Sprintf("&gateway_id=g&epoch=%s&sequence=%d&sha256=%s&sent_at=%s&version=1.2.3&backlog=40", epoch, last, hex.EncodeToString(sum[:]), w.clock.now().Add(-90*time.Second).Format(time.RFC3339))
	if first != last {
		query += fmt.Sprintf("&first_sequence=%d", first)
	}
	r := w.write("collector", query, body)
	var a api.WriteResponse
	if err := json.Unmarshal(r.Body.Bytes(), &a); err != nil {
		w.t.Fatal(err)
	}
	return r.Code, a, r.Body.String()
}

// TestWriteOnce sends numbered batches in an odd order, repeated and changed.
func TestWriteOnce(t *testing.T) {
	w := collector(t, nil)
	for i, c := range []struct {
		epoch       string
		first, last int
		body        string
		status      int
		duplicate   bool
		received    string
		stored      string
	}{
		{"a", 5, 5, w.point("NEW", 5, 5), 200, false, "[{5 5}]", "-5:5"},
		{"a", 5, 5, w.point("NEW", 5, 5), 200, true, "[{5 5}]", "-5:5"},
		{"a", 5, 5, w.point("NEW", 5, 6), 409, false, "", "-5:5"},
		{"a", 1, 3, w.point("NEW", 4, 1), 200, false, "[{1 3} {5 5}]", "-5:5 -4:1"},
		{"a", 2, 3, w.point("NEW", 4, 2), 200, true, "[{1 3} {5 5}]", "-5:5 -4:1"},
		{"a", 3, 4, w.point("NEW", 4, 2), 409, false, "", "-5:5 -4:1"},
		{"a", 4, 4, w.point("NEW", 4, 3), 200, false, "[{1 5}]", "-5:5 -4:3"},
		{"b", 5, 5, w.point("NEW", 5, 7), 200, false, "[{5 5}]", "-5:7 -4:3"},
	} {
		status, a, text := w.batch(c.epoch, c.first, c.last, c.body)
		received := ""
		if a.Received != nil {
			received = fmt.Sprint(a.Received)
		}
		if status != c.status || a.Duplicate != c.duplicate || received != c.received || status == 200 && (a.ClockOffsetS == nil || *a.ClockOffsetS != 90) {
			t.Errorf("%d: HTTP %d %s", i, status, text)
		}
		if got := w.power("NEW"); got != c.stored {
			t.Errorf("%d: stored %s, want %s", i, got, c.stored)
		}
	}
	// The gateway asks what is stored before it sends.
	r := w.write("collector", "&gateway_id=g&epoch=a", "")
	if r.Code != http.StatusOK || !strings.Contains(r.Body.String(), `"received":[{"first":1,"last":5}]`) {
		t.Errorf("HTTP %d %s", r.Code, r.Body)
	}
	var list api.GatewaysResponse
	decodeInto(t, w.as("customer", http.MethodPost, api.PathGateways, `{"site_id":"`+ownSite+`"}`), &list)
	if len(list.Gateways) != 2 || list.Gateways[0].Points != 3 || !list.Gateways[0].ClockWrong && !list.Gateways[1].ClockWrong {
		t.Errorf("%+v", list.Gateways)
	}
	// Another restart of the service knows the batches too.
	w.deps.Collectors = newCollectors(w)
	w.handler = httpapi.New(w.deps)
	if status, a, text := w.batch("a", 4, 4, w.point("NEW", 4, 3)); status != 200 || !a.Duplicate {
		t.Errorf("after a restart: HTTP %d %s", status, text)
	}
	// A hole of batches is bounded.
	status := 200
	for n := 10; status == 200 && n < 1000; n += 2 {
		status, _, _ = w.batch("c", n, n, w.point("NEW", 1, float64(n)))
	}
	if status != http.StatusConflict {
		t.Errorf("HTTP %d for a gateway with holes without end", status)
	}
}

// TestWriteIsDurable opens the data folder as a power cut would leave it after the
// response.
func TestWriteIsDurable(t *testing.T) {
	w := collector(t, nil)
	if status, _, text := w.batch("a", 1, 1, w.point("NEW", 5, 5)); status != 200 {
		t.Fatal(text)
	}
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(w.dir)); err != nil {
		t.Fatal(err)
	}
	again, err := bolt.Open(copied, bolt.Options{Now: w.clock.now})
	if err != nil {
		t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = again.Close() })
	w.store = again
	if got := w.power("NEW"); got != "-5:5" {
		t.Errorf("stored %q", got)
	}
	if _, _, ok, err := again.Period(t.Context(), w.siteKey(), "NEW"); err != nil || !ok {
		t.Error(ok, err)
	}
}

// TestCollectorKey does with the key of a collector what it must not do, and more than a
// minute's requests.
func TestCollectorKey(t *testing.T) {
	w := collector(t, nil)
	for _, c := range [][3]string{
		{http.MethodGet, "/telemetry/latest?site_id=" + ownSite, ""}, {http.MethodPost, "/terminal/assets", `{"action":"list","site_id":"` + ownSite + `"}`},
		{http.MethodPost, "/terminal/gateways", `{"site_id":"` + ownSite + `"}`}, {http.MethodPost, "/terminal/keys", `{}`},
	} {
		if r := w.as("collector", c[0], c[1], c[2]); r.Code != http.StatusForbidden {
			t.Errorf("%s: HTTP %d %s", c[1], r.Code, r.Body)
		}
	}
	if r := w.ask(http.MethodPost, "/telemetry/write?site_id="+url.QueryEscape(secondSite), w.point(secondAsset, 1, 1), "Authorization", "Bearer "+w.keys["collector"]); r.Code != http.StatusForbidden {
		t.Errorf("another site: HTTP %d %s", r.Code, r.Body)
	}
	for i := range 2 * api.RequestsPerMinute {
		if r := w.write("collector", "", w.point("NEW", 1, 1)); r.Code != http.StatusOK || r.Header().Get("RateLimit") != "" {
			t.Fatalf("request %d: HTTP %d %s", i, r.Code, r.Body)
		}
	}
	if r := w.write("collector", "", "{"); r.Code != http.StatusBadRequest {
		t.Fatal(r.Body)
	}
	var keys api.KeysResponse
	decodeInto(t, w.as("admin", http.MethodPost, "/terminal/keys", `{}`), &keys)
	found := false
	for _, k := range keys.Keys {
		if k.RoleID != api.RoleCollector {
			continue
		}
		found = true
		if u := k.Usage; k.RateClass != api.RateNone || k.RatePerMinute != 0 || u.Requests != 2*api.RequestsPerMinute+6 || u.Refused != 6 || u.Points != 2*api.RequestsPerMinute || u.PointsToday != u.Points || u.LastUsedAt.IsZero() {
			t.Errorf("%+v", k)
		}
	}
	if !found {
		t.Error("no such key")
	}
	// Writes do not fill the audit trail: the new unit and the refusals are there.
	var trail api.AuditResponse
	decodeInto(t, w.as("admin", http.MethodPost, "/terminal/audit", `{"limit":1000}`), &trail)
	n := 0
	for _, r := range trail.Records {
		if r.Route == "telemetry-write" {
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d records of writes", n)
	}
}

// TestKeyRates gives keys rates of their own.
func TestKeyRates(t *testing.T) {
	w := newWorld(t, nil)
	create := func(as, more string) (int, api.KeysResponse, string) {
		r := w.as(as, http.MethodPost, "/terminal/keys", `{"action":"create","name":"k","customer_ids":["`+ownCustomer+`"]`+more+`}`)
		var a api.KeysResponse
		if err := json.Unmarshal(r.Body.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		return r.Code, a, r.Body.String()
	}
	w.key("customer admin", auth.NewKey{Role: api.RoleAdmin, Customers: []string{ownCustomer}})
	for _, c := range []struct {
		as, more string
		status   int
		class    string
		rate     int
	}{
		{"admin", ``, 200, api.RateDefault, api.RequestsPerMinute},
		{"admin", `,"rate_per_minute":3`, 200, api.RateCustom, 3},
		{"admin", `,"rate_per_minute":0`, 200, api.RateNone, 0},
		{"admin", `,"rate_per_minute":-1`, 400, "", 0},
		{"admin", `,"rate_per_minute":100001`, 400, "", 0},
		{"customer admin", `,"rate_per_minute":61`, 403, "", 0},
		{"customer admin", `,"rate_per_minute":0`, 403, "", 0},
		{"customer admin", `,"rate_per_minute":5`, 200, api.RateCustom, 5},
		{"customer admin", `,"role_id":"role_collector"`, 200, api.RateNone, 0},
	} {
		status, a, text := create(c.as, c.more)
		if status != c.status || status == 200 && (a.Key.RateClass != c.class || a.Key.RatePerMinute != c.rate) {
			t.Errorf("%s%s: HTTP %d %s", c.as, c.more, status, text)
		}
		if status != 200 || c.class == api.RateDefault || a.Key.RoleID == api.RoleCollector {
			continue
		}
		accepted := 0
		for range 70 {
			if r := w.ask(http.MethodGet, "/telemetry/latest?site_id="+ownSite, "", "X-Api-Key", a.APIKey); r.Code == http.StatusOK {
				accepted++
			}
		}
		if want := c.rate; accepted != want && !(c.class == api.RateNone && accepted == 70) {
			t.Errorf("%s%s: %d accepted", c.as, c.more, accepted)
		}
	}
	// A user cannot be a collector.
	if r := w.as("admin", http.MethodPost, "/terminal/users", `{"action":"add","username":"zoe","password":"correct horse battery","role_id":"role_collector","customer_ids":["`+ownCustomer+`"]}`); r.Code != http.StatusBadRequest {
		t.Errorf("HTTP %d %s", r.Code, r.Body)
	}
}

// TestJoin lets a gateway join with a code, once, and replace its key.
func TestJoin(t *testing.T) {
	w := newWorld(t, nil)
	invite := func(as, site, more string) (int, api.GatewaysResponse) {
		r := w.as(as, http.MethodPost, api.PathGateways, `{"action":"invite","site_id":"`+site+`","name":"roof gateway"`+more+`}`)
		var a api.GatewaysResponse
		if err := json.Unmarshal(r.Body.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		return r.Code, a
	}
	join := func(code string) (int, api.JoinResponse) {
		r := w.ask(http.MethodPost, api.PathGatewayJoin, `{"code":"`+code+`"}`)
		var a api.JoinResponse
		if err := json.Unmarshal(r.Body.Bytes(), &a); err != nil {
			t.Fatal(err)
		}
		return r.Code, a
	}
	if status, _ := invite("customer", ownSite, ""); status != http.StatusForbidden {
		t.Errorf("an operator invites: HTTP %d", status)
	}
	if status, _ := invite("admin", "Nowhere", ""); status != http.StatusNotFound {
		t.Errorf("an unknown site: HTTP %d", status)
	}
	w.key("customer admin", auth.NewKey{Role: api.RoleAdmin, Customers: []string{ownCustomer}})
	for _, site := range []string{foreignSite, "Nowhere"} {
		if status, _ := invite("customer admin", site, ""); status != http.StatusForbidden {
			t.Errorf("the site %s of others: HTTP %d", site, status)
		}
	}
	_, a := invite("admin", ownSite, "")
	if status, _ := join("AAAA-BBBB-CCCC-DDDD"); status != http.StatusUnauthorized {
		t.Errorf("a wrong code: HTTP %d", status)
	}
	status, joined := join(strings.ToLower(strings.ReplaceAll(a.Code, "-", " ")))
	if status != http.StatusOK || joined.SiteID != ownSite || joined.CustomerID != ownCustomer {
		t.Fatalf("HTTP %d %+v", status, joined)
	}
	if status, _ := join(a.Code); status != http.StatusUnauthorized {
		t.Errorf("a code twice: HTTP %d", status)
	}
	_, late := invite("admin", ownSite, `,"lifetime_minutes":5`)
	w.clock.add(5 * time.Minute)
	if status, _ := join(late.Code); status != http.StatusUnauthorized {
		t.Errorf("an expired code: HTTP %d", status)
	}
	w.keys["gateway"] = joined.APIKey
	if r := w.write("gateway", "", w.point("NEW", 1, 1)); r.Code != http.StatusOK {
		t.Fatal(r.Body)
	}
	var rotated api.GatewaysResponse
	decodeInto(t, w.as("gateway", http.MethodPost, api.PathGateways, `{"action":"rotate"}`), &rotated)
	w.keys["next"] = rotated.APIKey
	for _, key := range []string{"gateway", "next"} {
		if r := w.write(key, "", w.point("NEW", 1, 1)); r.Code != http.StatusOK {
			t.Errorf("%s: HTTP %d %s", key, r.Code, r.Body)
		}
	}
	w.clock.add(api.DefaultOverlap)
	if r := w.write("gateway", "", w.point("NEW", 1, 1)); r.Code != http.StatusUnauthorized {
		t.Errorf("the former key: HTTP %d", r.Code)
	}
	if r := w.as("admin", http.MethodPost, "/terminal/keys", `{"action":"revoke","api_key_id":"`+rotated.APIKeyID+`"}`); r.Code != http.StatusOK {
		t.Fatal(r.Body)
	}
	if r := w.write("next", "", w.point("NEW", 1, 1)); r.Code != http.StatusUnauthorized {
		t.Errorf("a revoked key: HTTP %d", r.Code)
	}
	if r := w.as("customer", http.MethodPost, api.PathGateways, `{"action":"rotate"}`); r.Code != http.StatusForbidden {
		t.Errorf("the key of an operator: HTTP %d", r.Code)
	}
}

// devices is what reads the devices of a site.
type devices struct{ site string }

func (d devices) SiteID() string { return d.site }
func (d devices) Sources(device string) (api.SourcesResponse, error) {
	r := api.SourcesResponse{Success: true, SiteID: d.site, Reads: true, Count: 1, Sources: []api.SourceDevice{{AssetID: "I1", State: api.SourceReading}}}
	if device == "I1" {
		r.Values = []api.SourceValue{{Name: "103.W"}}
	} else if device != "" {
		return r, api.ErrSourceNotFound
	}
	return r, nil
}

// TestSources: the devices that this process reads are those of their own site alone.
func TestSources(t *testing.T) {
	w := newWorld(t, func(d *httpapi.Deps) { d.Sources = func() httpapi.Sources { return devices{ownSite} } })
	ask := func(as, site, more string) (int, api.SourcesResponse) {
		t.Helper()
		r := w.as(as, http.MethodPost, api.PathGateways, `{"action":"sources","site_id":"`+site+`"`+more+`}`)
		var a api.SourcesResponse
		if r.Code == http.StatusOK {
			decodeInto(t, r, &a)
		}
		return r.Code, a
	}
	if code, a := ask("own", ownSite, `,"device":"I1"`); code != http.StatusOK || !a.Reads || a.Count != 1 || len(a.Values) != 1 {
		t.Errorf("%d %+v", code, a)
	}
	if code, _ := ask("admin", ownSite, `,"device":"I2"`); code != http.StatusNotFound {
		t.Errorf("another device: %d", code)
	}
	if code, a := ask("admin", secondSite, ""); code != http.StatusOK || a.Reads || a.Count != 0 {
		t.Errorf("another site: %d %+v", code, a)
	}
	if code, _ := ask("own", secondSite, ""); code == http.StatusOK {
		t.Error("a key reads the sources of another site")
	}
}

// searching is a [devices] that can search.
type searching struct {
	devices
	asked *[]string
}

func (s searching) note(what string) (api.DiscoveryResponse, error) {
	*s.asked = append(*s.asked, what)
	return api.DiscoveryResponse{Success: true, State: api.DiscoveryRunning, Devices: []api.FoundDevice{}}, nil
}

func (s searching) Discover(r *api.GatewaysRequest) (api.DiscoveryResponse, error) {
	return s.note("discover " + strings.Join(r.Targets, " ") + " units " + r.Units)
}
func (s searching) Discovery() (api.DiscoveryResponse, error)     { return s.note("state") }
func (s searching) StopDiscovery() (api.DiscoveryResponse, error) { return s.note("stop") }
func (s searching) AddDevices(assets []string) (api.DiscoveryResponse, error) {
	return s.note("add " + strings.Join(assets, " "))
}

// TestDiscoveryOfTheConsole: an administrator of the site searches for devices where the
// process reads devices of this site.
func TestDiscoveryOfTheConsole(t *testing.T) {
	var asked []string
	w := newWorld(t, func(d *httpapi.Deps) {
		d.Sources = func() httpapi.Sources { return searching{devices{ownSite}, &asked} }
	})
	for _, q := range []struct {
		as, body string
		code     int
	}{
		{"admin", `{"action":"discover","site_id":"` + ownSite + `","targets":["127.0.0.1"],"units":"1-3"}`, http.StatusOK},
		{"admin", `{"action":"discovery","site_id":"` + ownSite + `"}`, http.StatusOK},
		{"admin", `{"action":"stop_discovery","site_id":"` + ownSite + `"}`, http.StatusOK},
		{"admin", `{"action":"add_devices","site_id":"` + ownSite + `","asset_ids":["I1"]}`, http.StatusOK},
		{"admin", `{"action":"discover","site_id":"` + ownSite + `"}`, http.StatusBadRequest},
		{"admin", `{"action":"discover","site_id":"` + ownSite + `","targets":["127.0.0.1"],"port":70000}`, http.StatusBadRequest},
		{"admin", `{"action":"discover","site_id":"` + secondSite + `","targets":["127.0.0.1"]}`, http.StatusConflict},
		{"own", `{"action":"discover","site_id":"` + ownSite + `","targets":["127.0.0.1"]}`, http.StatusForbidden},
		{"own", `{"action":"discovery","site_id":"` + ownSite + `"}`, http.StatusForbidden},
		{"own", `{"action":"add_devices","site_id":"` + ownSite + `"}`, http.StatusForbidden},
	} {
		if r := w.as(q.as, http.MethodPost, api.PathGateways, q.body); r.Code != q.code {
			t.Errorf("%s %s: HTTP %d, want %d: %s", q.as, q.body, r.Code, q.code, r.Body)
		}
	}
	if want := []string{"discover 127.0.0.1 units 1-3", "state", "stop", "add I1"}; !slices.Equal(asked, want) {
		t.Errorf("%q, want %q", asked, want)
	}
	without := newWorld(t, func(*httpapi.Deps) {})
	if r := without.as("admin", http.MethodPost, api.PathGateways, `{"action":"discover","site_id":"`+ownSite+`","targets":["127.0.0.1"]}`); r.Code != http.StatusConflict {
		t.Errorf("without sources: HTTP %d", r.Code)
	}
}
