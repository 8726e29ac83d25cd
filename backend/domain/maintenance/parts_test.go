package maintenance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/site"
)

func TestCentsAreExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		units, cents := rapid.Int64Range(0, 1e10).Draw(t, "units"), rapid.Int64Range(0, 99).Draw(t, "cents")
		var c Cents
		if err := c.UnmarshalText(fmt.Appendf(nil, "%d.%02d", units, cents)); err != nil || c != Cents(units*100+cents) {
			t.Fatalf("%d.%02d is read as %d, %v", units, cents, c, err)
		}
		if got := fmt.Sprintf("%.2f", c.Amount()); got != fmt.Sprintf("%d.%02d", units, cents) {
			t.Fatalf("%d cents are shown as %s", c, got)
		}
	})
	for _, bad := range []string{"", "1.234", "-1", "1,50", "1e3", ".", "12345678901234", "one"} {
		var c Cents
		if err := c.UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is read as %d", bad, c)
		}
	}
}

// The sum of a bill is the sum of its lines in cents, whatever they cost.
func TestBillAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, sum := bom{Currency: "USD"}, int64(0)
		for range rapid.IntRange(0, 30).Draw(t, "lines") {
			i := item{Quantity: rapid.IntRange(1, 999).Draw(t, "quantity"), UnitCost: Cents(rapid.Int64Range(0, 1e8).Draw(t, "cost"))}
			sum += int64(i.Quantity) * int64(i.UnitCost)
			b.Items = append(b.Items, i)
		}
		if got := fmt.Sprintf("%.2f", b.toAPI().TotalCost); got != fmt.Sprintf("%d.%02d", sum/100, sum%100) {
			t.Fatalf("%s, want %d cents", got, sum)
		}
	})
}

func TestOwnCatalogue(t *testing.T) {
	const good = `currency = "EUR"
part = [ { part_number = "FAN", description = "Fan", unit_cost = "10", on_hand = 4 },
  { part_number = "FAN-ACME", description = "Fan of Acme", unit_cost = "12.50", instead_of = "FAN", oem = "acme", model = "x5" } ]
kit = [ { hours = 1, items = [ { part = "FAN", quantity = 1, own_make = true } ] } ]
`
	write := func(text string) string {
		path := filepath.Join(t.TempDir(), "parts.toml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	c, err := LoadCatalogue(write(good))
	if err != nil {
		t.Fatal(err)
	}
	s := &Service{Config: Config{Catalogue: c}}
	b := bom{MaintenanceType: api.MaintenanceCorrective}
	s.fill(&b, api.Asset{Type: "inverter", Components: []api.Component{{OEM: "Acme", Model: "X50"}}}, 1)
	if len(b.Items) != 1 || b.Items[0].PartNumber != "FAN-ACME" || b.Items[0].UnitCost != 1250 {
		t.Errorf("a unit of Acme takes %+v", b.Items)
	}
	b = bom{MaintenanceType: api.MaintenanceCorrective}
	if s.fill(&b, api.Asset{Type: "inverter", Components: []api.Component{{OEM: "Bolt", Model: "X50"}}}, 1); b.Items[0].PartNumber != "FAN" {
		t.Errorf("a unit of Bolt takes %+v", b.Items)
	}
	for what, change := range map[string][2]string{
		"line 2":                             {`unit_cost = "10"`, `unit_cost = "10.999"`},
		`there is no field "colour"`:         {`description = "Fan",`, `description = "Fan", colour = "red",`},
		"part FAN is there twice":            {"FAN-ACME", "FAN"},
		`instead of "FUN"`:                   {`instead_of = "FAN"`, `instead_of = "FUN"`},
		`1 of part "FUN"`:                    {`{ part = "FAN"`, `{ part = "FUN"`},
		"currency":                           {"EUR", "euro"},
		"no kit for preventive work":         {"{ hours = 1", `{ family = "soiling", hours = 1`},
		`per "roof"`:                         {"own_make = true", `per = "roof"`},
		"hours 0":                            {"hours = 1", "hours = 0"},
		`"magic" is no type of maintenance`:  {"{ hours", `{ maintenance = ["magic"], hours`},
		"part FAN: a stock below 0":          {"on_hand = 4", "on_hand = -4"},
		"has no part_number or no descripti": {`description = "Fan",`, `description = "",`},
	} {
		if _, err := LoadCatalogue(write(strings.Replace(good, change[0], change[1], 1))); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("with %s: %v, want a word of %q", change[1], err, what)
		}
	}
	if _, err := LoadCatalogue(filepath.Join(t.TempDir(), "none.toml")); err == nil || !strings.Contains(err.Error(), "none.toml") {
		t.Errorf("a file that is not there: %v", err)
	}
}

func TestPriorityOfAFinding(t *testing.T) {
	c := &Catalogue{Currency: "USD", TruckRoll: 42000}
	for want, findings := range map[string][]api.Finding{
		api.PriorityHigh: {{SeverityLabel: api.SeverityCritical}, {SeverityLabel: api.SeverityNormal, RevenueAtRisk: 60, Currency: "USD"}},
		api.PriorityMedium: {{SeverityLabel: api.SeverityWarning, RevenueAtRisk: 59, Currency: "USD"}, {SeverityLabel: api.SeverityNormal, RevenueAtRisk: 14, Currency: "USD"},
			{SeverityLabel: api.SeverityWarning}, {SeverityLabel: api.SeverityWarning, RevenueAtRisk: 1, Currency: "INR"}, {SeverityLabel: api.SeverityNormal, RevenueAtRisk: 252, Currency: "ZAR"}},
		api.PriorityLow: {{SeverityLabel: api.SeverityWarning, RevenueAtRisk: 13, Currency: "USD"}, {SeverityLabel: api.SeverityNormal}, {SeverityLabel: api.SeverityWarning, RevenueAtRisk: 251, Currency: "ZAR"}},
	} {
		for _, f := range findings {
			if got := c.priority(f, site.Rates{"USD": 18}); got != want {
				t.Errorf("%s, %g %s a day: %s, want %s", f.SeverityLabel, f.RevenueAtRisk, f.Currency, got, want)
			}
		}
	}
}
