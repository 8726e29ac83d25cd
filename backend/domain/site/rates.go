package site

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"app.sunloop/backend/api"
)

// Rates are what one unit of a currency is worth in ZAR, by its ISO 4217 code;
// one ZAR is one ZAR.
type Rates map[string]float64

// ZAR is the worth of one unit in ZAR; 0 where that is not known.
func (r Rates) ZAR(currency string) float64 {
	if currency == api.CurrencyZAR {
		return 1
	}
	return r[currency]
}

// Between is the worth of one unit of a currency in another; 0 where that is
// not known.
func (r Rates) Between(from, to string) float64 {
	if from == to {
		return 1
	}
	if to := r.ZAR(to); to > 0 {
		return r.ZAR(from) / to
	}
	return 0
}

// Check names a rate that is none, as in EUR=0; nil when all are good.
func (r Rates) Check() error {
	for _, currency := range slices.Sorted(maps.Keys(r)) {
		rate := r[currency]
		if len(currency) != 3 || strings.ToUpper(currency) != currency || !(rate > 0) || math.IsInf(rate, 0) || currency == api.CurrencyZAR && rate != 1 {
			return fmt.Errorf("an exchange rate is an ISO 4217 code and a positive number of ZAR, as in EUR=20.1, unlike %s=%g", currency, rate)
		}
	}
	return nil
}
