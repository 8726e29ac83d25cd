package kpi

import (
	"context"
	"fmt"
	"runtime/debug"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/alert"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// Fleet lists the day so far of the sites within the scope, by name, with what
// is wrong there.
func (s *Service) Fleet(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.FleetSite, string, error) {
	list, next, err := s.sites.SitesAlone(ctx, scope, q)
	if err != nil {
		return nil, "", err
	}
	out := make([]api.FleetSite, len(list))
	for from := 0; from < len(list); from += fleetAtOnce {
		part := list[from:min(from+fleetAtOnce, len(list))]
		err := s.records.Together(ctx, len(part), func(ctx context.Context, i int) (err error) {
			out[from+i], err = s.fleetSite(ctx, part[i])
			return err
		})
		if err != nil {
			return nil, "", err
		}
	}
	return out, next, nil
}

// fleetAtOnce is how many sites of a fleet are read together.
const fleetAtOnce = 100

// fleetSite sums up a site. A panic is an error, as it would end the process in a goroutine of the list.
func (s *Service) fleetSite(ctx context.Context, site api.Site) (f api.FleetSite, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("sum up site %s: panic: %v\n%s", site.SiteID, p, debug.Stack())
		}
	}()
	f = api.FleetSite{SiteID: site.SiteID, CustomerID: site.CustomerID, Name: site.Name, Timezone: site.Timezone, Findings: map[string]int{}, AlertSeverities: map[string]int{}}
	units, err := s.sites.SiteAssets(ctx, site.SiteID)
	if err != nil {
		return f, err
	}
	f.CapacityKW = record.CapacityKW(site, units)
	if f.Summary, f.Hours, err = s.today(ctx, site, units); err != nil {
		return f, err
	}
	f.Summary.Figures = nil // those of a site are in its summary
	return f, s.addFindings(ctx, &f)
}

// addFindings fills in the active findings of a site and its unacknowledged alerts.
func (s *Service) addFindings(ctx context.Context, f *api.FleetSite) error {
	err := s.records.View(ctx, func(tx store.Tx) error {
		clear(f.Findings)
		clear(f.AlertSeverities)
		f.EnergyAtRiskKW, f.Unacknowledged = 0, 0
		err := finding.EachActive(tx, f.SiteID, func(l finding.Finding) error {
			f.Findings[l.SeverityLabel]++
			f.AlertSeverities[finding.AlertSeverity(l)]++
			f.EnergyAtRiskKW += l.EnergyAtRiskKW
			return nil
		})
		if err != nil {
			return err
		}
		return alert.EachOpen(tx, f.SiteID, s.now(), func(a alert.Alert) {
			if a.State == api.AlertUnacknowledged || a.State == api.AlertReturned {
				f.Unacknowledged++
			}
		})
	})
	if err != nil {
		return fmt.Errorf("count the findings and alerts of site %s: %w", f.SiteID, err)
	}
	return nil
}
