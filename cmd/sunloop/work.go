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
	CrewHours   maintenance.Hours `default:"7-18" placeholder:"FROM-TO" env:"SUNLOOP_CREW_HOURS" help:"Hours of the day in which crews work at a site, by its clock (${default}); daylight bounds them."`
	OrderLimits map[string]string `name:"order-limit" placeholder:"PRIORITY=LIMITS" mapsep:"," env:"SUNLOOP_ORDER_LIMITS" help:"How long orders of a priority may take to be acknowledged, started and restored: emergency=30m/4h/1d, high=4h/1d/3d, medium=1d/7d/14d and low=3d/30d/60d unless said otherwise."`

	ExchangeRates map[string]float64 `name:"exchange-rate" placeholder:"CODE=ZAR" mapsep:"," env:"SUNLOOP_EXCHANGE_RATES" help:"What one unit of a currency is in ZAR, as in EUR=20.1: for costs of parts in a site's currency, and the amounts in ZAR of partner snapshots."`
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
