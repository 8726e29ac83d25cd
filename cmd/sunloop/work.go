package main

import (
	"fmt"

	"app.sunloop/backend"
	"app.sunloop/backend/domain/maintenance"
	"app.sunloop/backend/domain/site"
)

// WorkFlags are within which times maintenance is planned and done, and in
// which money.
type WorkFlags struct {
	CrewHours   maintenance.Hours `default:"7-18" placeholder:"FROM-TO" env:"SUNLOOP_CREW_HOURS" help:"Working hours at a site, in its time zone (${default}), limited by daylight."`
	OrderLimits map[string]string `name:"order-limit" placeholder:"PRIORITY=LIMITS" mapsep:"," env:"SUNLOOP_ORDER_LIMITS" help:"Time limits of orders of a priority to be acknowledged, started and restored (emergency=30m/4h/1d, high=4h/1d/3d, medium=1d/7d/14d, low=3d/30d/60d)."`

	ExchangeRates map[string]float64 `name:"exchange-rate" placeholder:"CODE=ZAR" mapsep:"," env:"SUNLOOP_EXCHANGE_RATES" help:"Value of a currency in ZAR [EUR=20.1], for costs of parts in a site's currency and the ZAR amounts of partner snapshots."`
}

// apply writes the flags into the service's configuration.
func (f WorkFlags) apply(cfg *backend.Config) error {
	limits, err := maintenance.ParseLimits(f.OrderLimits)
	if err != nil {
		return fmt.Errorf("--order-limit: %w", err)
	}
	rates := site.Rates(f.ExchangeRates)
	if err := rates.Check(); err != nil {
		return fmt.Errorf("--exchange-rate: %w", err)
	}
	cfg.CrewHours, cfg.OrderLimits, cfg.Rates = f.CrewHours, limits, rates
	return nil
}
