package compat

import (
	"net/http"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

var oneAsset = object(fields{
	"asset_id": text, "name": text, "type": text, "capacity_kw": number, "location": text, "created_at": instant,
	"components?": some(object(fields{"oem": text, "model": text, "serial": text})),
	"site_id?":    text, "customer_id?": text, "timezone?": text, "latitude?": number, "longitude?": number, "rated_power_kw?": number, "azimuth_deg?": number, "tilt_deg?": number,
	"warranty_expiry_date?": matches(`^\d{4}-\d\d-\d\d$`),
})

func TestAssets(t *testing.T) {
	units := len(shared.fleet.Sites[0].Units)
	listed := object(fields{"success": exactly(true), "assets": count(units, oneAsset), "count": exactly(float64(units))})
	terminal(t, "/terminal/assets", "action", "list", "customer_id", customer, "site_id", site).is(listed)
	if a := terminal(t, "/terminal/assets", "action", "list", "customer_id", secondCustomer).is(object(fields{"assets": some(oneAsset), "count": integer})); len(a.elements("assets")) != 16 {
		t.Errorf("%d units of %s", len(a.elements("assets")), secondCustomer)
	}
	// The specification's form has no ids: everything that the key has access to.
	terminal(t, "/terminal/assets", "action", "list").is(object(fields{"success": exactly(true), "assets": some(oneAsset), "count": integer}))
	for _, more := range [][]any{nil, {"customer_id", customer}, {"customer_id", customer, "site_id", site}} {
		a := terminal(t, "/terminal/assets", append([]any{"action", "get", "asset_id", asset}, more...)...).is(object(fields{"success": exactly(true), "asset": oneAsset}))
		if a.text("asset.asset_id") != asset || a.text("asset.site_id") != site || a.text("asset.customer_id") != customer {
			t.Errorf("%s", a.body)
		}
	}
	terminal(t, "/terminal/assets", "action", "get", "asset_id", "INV-0", "customer_id", customer).refused(http.StatusNotFound, "Asset not found")
	terminal(t, "/terminal/assets", "action", "get").refused(http.StatusBadRequest, "Missing required field: asset_id")
	terminal(t, "/terminal/assets", "action", "get", "customer_id", customer).refused(http.StatusBadRequest, "Missing required field: asset_id")
	terminal(t, "/terminal/assets", "action", "drop", "asset_id", asset).refused(http.StatusBadRequest, "Invalid action")
	terminal(t, "/terminal/assets").refused(http.StatusBadRequest, "Invalid action")
}

func TestAssetsAreAdded(t *testing.T) {
	// A key of one customer says whose an asset in the specification's form is.
	key, _, err := shared.service.Auth().CreateKey(t.Context(), auth.NewKey{Name: "assets", Role: api.RoleOperator, Customers: []string{"compat-customer"}})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(form ...any) answer {
		t.Helper()
		return postAs(t, bearer, key, shared.url, "/terminal/assets", bodyOf(form...))
	}
	postAs(t, bearer, shared.key, shared.url, "/terminal/sites", bodyOf("action", "set", "site", map[string]any{"site_id": "Compat-Assets", "customer_id": "compat-customer", "location": "Umhlanga"})).is(object(fields{"success": exactly(true)}))
	plain := []any{"action", "add", "asset_id", "INV-COMPAT-1", "name", "Roof east", "type", "solar_inverter", "capacity_kw", 50, "location", "Durban"}
	rich := []any{"action", "add", "asset_id", "INV-COMPAT-2", "name", "Roof west", "type", "solar_inverter", "capacity_kw", 62.5, "location", "Durban",
		"components", []any{map[string]any{"oem": "SMA", "model": "STP 62", "serial": "1"}}, "site_id", "Compat-Assets", "customer_id", "compat-customer", "timezone", "Africa/Johannesburg",
		"latitude", -29.65, "longitude", 31.06, "rated_power_kw", 60, "azimuth_deg", 0, "tilt_deg", 22, "warranty_expiry_date", "2031-06-30"}
	for _, form := range [][]any{plain, rich} {
		id := form[3]
		ask(form...).is(object(fields{"message": text, "asset_id": exactly(id)}))
		ask(form...).refused(http.StatusConflict, "Asset "+id.(string)+" exists already")
		a := ask("action", "get", "asset_id", id).is(object(fields{"asset": oneAsset}))
		for i := 2; i+1 < len(form); i += 2 {
			name := form[i].(string)
			switch want := form[i+1].(type) {
			case int:
				if got := a.at("asset." + name); got != float64(want) {
					t.Errorf("%s is %v, not %v", name, got, want)
				}
			case []any:
				if got := a.text("asset.components.0.model"); got != "STP 62" {
					t.Errorf("%s is %v", name, got)
				}
			default:
				if got := a.at("asset." + name); got != want {
					t.Errorf("%s is %v, not %v", name, got, want)
				}
			}
		}
	}
	for _, name := range []string{"asset_id", "name", "type", "capacity_kw", "location"} {
		var form []any
		for i := 0; i+1 < len(plain); i += 2 {
			if plain[i] != name {
				form = append(form, plain[i], plain[i+1])
			}
		}
		ask(form...).refused(http.StatusBadRequest, "Missing required field: "+name)
	}
	ask(append([]any{"site_id", "Compat-Nowhere"}, plain...)...).refused(http.StatusNotFound, "Site not found")
	lame := append([]any{"components", []any{map[string]any{"oem": "SMA", "model": "STP"}}}, plain...)
	ask(lame...).refused(http.StatusBadRequest, "Missing required field: components[0].serial")
}

// TestAssetsInParts is of lists longer than a part.
func TestAssetsInParts(t *testing.T) {
	seen := map[string]bool{}
	body := map[string]any{"action": "list", "customer_id": secondCustomer, "limit": 5}
	for {
		a := post(t, xAPIKey, shared.url, "/terminal/assets", body).is(object(fields{"assets": array(oneAsset, 1, 5), "count": integer, "next_cursor?": text}))
		for _, e := range a.elements("assets") {
			id := e.(map[string]any)["asset_id"].(string)
			if seen[id] {
				t.Errorf("%s is there twice", id)
			}
			seen[id] = true
		}
		next, more := a.value.(map[string]any)["next_cursor"]
		if !more {
			break
		}
		body["cursor"] = next
	}
	if len(seen) != 16 {
		t.Errorf("%d units in parts", len(seen))
	}
	terminal(t, "/terminal/assets", "action", "list", "customer_id", secondCustomer, "limit", 1000).is(object(fields{"assets": count(16, oneAsset)}))
	terminal(t, "/terminal/assets", "action", "list", "customer_id", secondCustomer, "limit", 1001).refused(http.StatusBadRequest, "Invalid field: limit")
}
