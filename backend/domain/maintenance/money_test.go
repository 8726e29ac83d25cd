package maintenance

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/site"
)

// A bill is in the site's currency where a rate is known, and says so where it
// is not; its total is the sum of its lines, and the price in dollars stays.
func TestBillsInTheSitesCurrency(t *testing.T) {
	for _, c := range []struct {
		site     string
		rates    site.Rates
		currency string
		rate     float64
		note     string
	}{
		{"EUR", site.Rates{"EUR": 20, "USD": 18}, "EUR", 0.9, ""},
		{"ZAR", site.Rates{"USD": 18.123}, "ZAR", 18.123, ""},
		{"USD", site.Rates{"USD": 18}, "USD", 0, ""},
		{"EUR", site.Rates{"USD": 18}, "USD", 0, "no exchange rate to EUR is known"},
		{"INR", nil, "USD", 0, "no exchange rate to INR is known"},
	} {
		d := newDesk(t, func(cfg *Config) { cfg.Rates = c.rates })
		if _, err := d.Domain.Sites.SetSite(t.Context(), boss, api.Site{SiteID: south, Currency: c.site}); err != nil {
			t.Fatal(err)
		}
		d.judge(true) // an outage takes parts
		b := d.bill(inv)
		if b.Currency != c.currency || math.Abs(b.ExchangeRate-c.rate) > 1e-12 || (b.CatalogueCurrency == "USD") != (c.rate != 0) || !strings.Contains(b.CurrencyNote, c.note) || (b.CurrencyNote == "") != (c.note == "") {
			t.Errorf("%s by %v: %s at %g of %s, %q", c.site, c.rates, b.Currency, b.ExchangeRate, b.CatalogueCurrency, b.CurrencyNote)
		}
		sum, dollars, rate := 0.0, 0.0, 1.0
		if c.rate != 0 {
			rate = c.rate
		}
		for _, i := range b.Items {
			price := d.Catalogue.byNumber[i.PartNumber].UnitCost.Amount()
			if math.Abs(i.UnitCost-price*rate) > 0.005001 || fmt.Sprintf("%.2f", i.TotalCost) != fmt.Sprintf("%.2f", float64(i.Quantity)*i.UnitCost) {
				t.Errorf("%s: %s costs %g, %g for %d; its price is %g USD", c.site, i.PartNumber, i.UnitCost, i.TotalCost, i.Quantity, price)
			}
			sum, dollars = sum+i.TotalCost, dollars+float64(i.Quantity)*price
		}
		if math.Abs(sum-b.TotalCost) > 0.001 || b.TotalCostUSD == nil || math.Abs(*b.TotalCostUSD-dollars) > 0.001 || len(b.Items) == 0 {
			t.Errorf("%s: the total is %g, the lines add up to %g; %v USD of %g", c.site, b.TotalCost, sum, b.TotalCostUSD, dollars)
		}
		if again, err := d.BOM(t.Context(), boss, b.BOMID); err != nil || again.TotalCost != b.TotalCost || again.ExchangeRate != b.ExchangeRate || again.CurrencyNote != b.CurrencyNote {
			t.Errorf("%s: read again it is %+v, %v", c.site, again, err)
		}
	}
	// A site without a currency has no other amounts.
	if seen := (bom{Currency: "EUR"}).toAPI(); seen.CurrencyNote != "" || seen.TotalCostUSD != nil {
		t.Errorf("%+v", seen)
	}
}

// What was billed stays at the rate of its day.
func TestRatesOfTheDay(t *testing.T) {
	d := newDesk(t, func(cfg *Config) { cfg.Rates = site.Rates{"EUR": 20, "USD": 18} })
	was := d.bill(inv)
	d.Rates = site.Rates{"EUR": 20, "USD": 10}
	now, err := d.BOM(t.Context(), boss, was.BOMID)
	if err != nil || now.TotalCost != was.TotalCost || now.ExchangeRate != 0.9 {
		t.Errorf("at another rate the bill is %+v, %v", now, err)
	}
	if fresh := d.bill(inv); fresh.TotalCost >= was.TotalCost {
		t.Errorf("a new bill is %g EUR, the one before %g", fresh.TotalCost, was.TotalCost)
	}
}
