package compat

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"app.sunloop/backend/openapi"
)

// The clients of a release list a fleet page by page, read telemetry and report a refusal.
func TestGeneratedClients(t *testing.T) {
	dir := t.TempDir()
	for name, text := range openapi.Clients() {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	certificate := filepath.Join(shared.dir, "tls", "certificate.pem")
	units := len(terminal(t, "/terminal/assets", "action", "list", "customer_id", secondCustomer, "limit", 1000).elements("assets"))
	want := fmt.Sprintf("%d\n5 5\n404 asset_not_found\n400 unknown_field\n", units)
	scripts := map[string][2]string{
		"python3": {"try.py", fmt.Sprintf(`import ssl
from sunloop import Client, SunloopError
client = Client(%q, %q, context=ssl.create_default_context(cafile=%q))
print(len(list(client.pages(client.assets_list, "assets", customer_id=%q, limit=7))))
records = client.inverter(site_id=%q, asset_id=%q, start="2025-10-01", end="2025-12-01", limit=5)["records"]
print(len(records), len(client.forecast(customer_id=%q, site_id=%[5]q, horizon_hours=5)["forecasts"]))
for call in (lambda: client.assets_get(asset_id="INV-0"), lambda: client._call("POST", "/terminal/assets", "list", {"siteId": "x"})):
    try:
        call()
    except SunloopError as e:
        print(e.status, e.code)
`, shared.url, shared.key, certificate, secondCustomer, site, asset, customer)},
		"node": {"try.mjs", fmt.Sprintf(`import { Client, SunloopError } from "./sunloop.mjs";
const client = new Client(%q, %q);
let n = 0;
for await (const asset of client.pages((f) => client.assetsList(f), "assets", { customer_id: %q, limit: 7 })) n++;
console.log(n);
const { records } = await client.inverter({ site_id: %q, asset_id: %q, start: "2025-10-01", end: "2025-12-01", limit: 5 });
console.log(records.length, (await client.forecast({ customer_id: %q, site_id: %[4]q, horizon_hours: 5 })).forecasts.length);
for (const call of [() => client.assetsGet({ asset_id: "INV-0" }), () => client.assetsList({ siteId: "x" })])
  await call().catch((e) => console.log(e.status, e.code));
`, shared.url, shared.key, secondCustomer, site, asset, customer)},
	}
	for program, script := range scripts {
		if _, err := exec.LookPath(program); err != nil {
			t.Logf("skipped: there is no %s", program)
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, script[0]), []byte(script[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		run := exec.CommandContext(t.Context(), program, script[0])
		run.Dir, run.Env = dir, append(os.Environ(), "NODE_EXTRA_CA_CERTS="+certificate, "PYTHONDONTWRITEBYTECODE=1")
		if out, err := run.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%s prints %q, %v; want %q", program, out, err, want)
		}
	}
	var collection struct {
		Item []struct{ Item []any }
	}
	if err := json.Unmarshal(openapi.Clients()["sunloop.postman_collection.json"], &collection); err != nil || len(collection.Item) != 6 || len(collection.Item[0].Item) < 50 {
		t.Errorf("the collection has %d folders, %v", len(collection.Item), err)
	}
}
