package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/gateway"
	"app.sunloop/backend/listener"
	"app.sunloop/backend/store"
)

// mostFindings is how many findings are counted for Home Assistant.
const mostFindings = 200

// siteFacts returns what the service knows of a site: power, energy, forecast, KPIs and
// findings.
func siteFacts(service *backend.Service) func(context.Context, gateway.Site) (gateway.Facts, error) {
	return func(ctx context.Context, site gateway.Site) (f gateway.Facts, err error) {
		scope := api.Unlimited("gateway")
		d := service.Domain()
		s, err := d.KPIs.SiteSummary(ctx, scope, site.ID)
		if err != nil {
			return f, fmt.Errorf("summarize site %s: %w", site.ID, err)
		}
		if s.HasPower() {
			f.PowerKW = &s.TotalPowerKW
		}
		if s.HasEnergy() {
			f.EnergyTodayKWh = &s.TotalKWhToday
		}
		f.ExpectedPowerKW, f.ExpectedTodayKWh, f.PerformanceRatioPct, f.AvailabilityPct = s.ExpectedPowerKW, s.ExpectedKWhToday, s.FleetPRPct, s.FleetAvailabilityPct
		zone, err := time.LoadLocation(site.Timezone)
		if err != nil {
			return f, fmt.Errorf("site %s: %w", site.ID, err)
		}
		now := s.ServiceTime.In(zone)
		tomorrow := time.Date(now.Year(), now.Month(), now.Day()+1, 12, 0, 0, 0, zone)
		switch day, err := d.Forecasts.Day(ctx, site.ID, tomorrow, zone); {
		case err == nil:
			kWh := day.EnergyKWh(day.Start, day.End())
			f.ExpectedTomorrowKWh = &kWh
		case !errors.Is(err, store.ErrNotFound):
			return f, err
		}
		list, _, err := d.Findings.Findings(ctx, scope, api.ListQuery{SiteID: site.ID, CustomerID: site.Customer, Page: api.Page{Limit: mostFindings}})
		if err != nil && !errors.Is(err, api.ErrNoSummaries) {
			return f, err
		}
		for _, is := range list {
			if !is.Active {
				continue
			}
			if f.Findings == 0 {
				f.WorstFinding = is.Summary
			}
			f.Findings++
			f.EnergyAtRiskKW += is.EnergyAtRiskKW
		}
		return f, nil
	}
}

// checkPlantMetrics checks the address of the exporter.
func checkPlantMetrics(address string) error {
	if address == "" {
		return nil
	}
	if i := strings.LastIndexByte(address, ':'); i < 1 || !isPort(address[i+1:]) {
		return wrong("--plant-metrics: invalid address %q; example: 127.0.0.1:9465", address)
	}
	return nil
}

// openPlantMetrics opens the socket of the values of devices; nil without an address.
func openPlantMetrics(ctx context.Context, address string, p *gateway.Poller, log *slog.Logger) (*listener.Listeners, error) {
	if address == "" {
		return nil, nil
	}
	l, err := listener.Open(ctx, listener.Config{
		Addresses: []listener.Address{{Address: address}}, Handler: func([]api.Host) http.Handler { return p.Exporter() }, Now: time.Now, Log: log,
		Limits: listener.Limits{Connections: watchConnections, Unauthenticated: watchConnections, Network: watchConnections, Drain: 2 * time.Second},
	})
	if err != nil {
		return nil, fmt.Errorf("--plant-metrics: %w", err)
	}
	at := l.Addresses()[0].Address
	log.Info("serving plant metrics", "address", at)
	if !loopback(at) {
		log.Warn("plant metrics are served without authentication on an address that other machines can reach", "address", at)
	}
	return l, nil
}
