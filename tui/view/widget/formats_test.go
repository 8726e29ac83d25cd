package widget

import (
	"math"
	"testing"
)

func TestPowerAndEnergy(t *testing.T) {
	tests := []struct {
		v             float64
		power, energy string
	}{
		{0, "0 kW", "0 kWh"},
		{3412, "3.41 MW", "3.41 MWh"},
		{999.4, "999 kW", "999 kWh"},
		{999.6, "1.00 MW", "1.00 MWh"},
		{12.345, "12.3 kW", "12.3 kWh"},
		{0.94, "0.94 kW", "0.94 kWh"},
		{0.0052, "5.20 W", "5.20 Wh"},
		{-0.003, "-3.00 W", "-3.00 Wh"},
		{2.5e6, "2.50 GW", "2.50 GWh"},
		{math.NaN(), "– kW", "– kWh"},
	}
	for _, tt := range tests {
		if got := Power(tt.v); got != tt.power {
			t.Errorf("Power(%v) = %q, want %q", tt.v, got, tt.power)
		}
		if got := Energy(tt.v); got != tt.energy {
			t.Errorf("Energy(%v) = %q, want %q", tt.v, got, tt.energy)
		}
	}
}

func TestPercentAndMoney(t *testing.T) {
	for v, want := range map[float64]string{0.968: "97 %", 1: "100 %", 0: "0 %", -0.001: "0 %", -0.011: "-1 %", math.Inf(1): "–"} {
		if got := Percent(v); got != want {
			t.Errorf("Percent(%v) = %q, want %q", v, got, want)
		}
	}
	for _, tt := range []struct {
		v    float64
		c    string
		want string
	}{{12.5, "EUR", "EUR 12.50"}, {312.4, "ZAR", "ZAR 312"}, {5, "", ""}} {
		if got := Money(tt.v, tt.c); got != tt.want {
			t.Errorf("Money(%v) = %q, want %q", tt.v, got, tt.want)
		}
	}
}
