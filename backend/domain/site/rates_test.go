package site

import (
	"math"
	"strings"
	"testing"
)

func TestRates(t *testing.T) {
	r := Rates{"EUR": 20, "USD": 18}
	for _, c := range []struct {
		from, to string
		want     float64
	}{{"EUR", "ZAR", 20}, {"ZAR", "EUR", 0.05}, {"USD", "EUR", 0.9}, {"EUR", "USD", 20.0 / 18}, {"INR", "INR", 1}, {"INR", "EUR", 0}, {"EUR", "INR", 0}, {"INR", "KES", 0}, {"USD", "", 0}, {"ZAR", "ZAR", 1}} {
		if got := r.Between(c.from, c.to); math.Abs(got-c.want) > 1e-12 {
			t.Errorf("one %s is %g %s, want %g", c.from, got, c.to, c.want)
		}
	}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	for name, wrong := range map[string]Rates{"EUR=0": {"EUR": 0}, "EUR=-1": {"EUR": -1}, "EUR=NaN": {"EUR": math.NaN()}, "EUR=+Inf": {"EUR": math.Inf(1)},
		"eur=20": {"eur": 20}, "EURO=20": {"EURO": 20}, "ZAR=2": {"ZAR": 2, "EUR": 20}} {
		if err := wrong.Check(); err == nil || !strings.Contains(err.Error(), "unlike "+name) {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}
