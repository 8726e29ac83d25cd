package kpi

import (
	"context"
	"fmt"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/alert"
	"app.sunloop/backend/domain/finding"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// Fleet lists the day so far of the sites within the scope, by name, with what
// is wrong there.
func (s *Service) Fleet(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.FleetSite, string, error) {
	list, next, err := s.sites.Sites(ctx, scope, q)
	if err != nil {
		return nil, "", err
	}
	out := make([]api.FleetSite, 0, len(list))
	for _, site := range list {
		units, err := s.sites.SiteAssets(ctx, site.SiteID)
		if err != nil {
			return nil, "", err
		}
		f := api.FleetSite{SiteID: site.SiteID, CustomerID: site.CustomerID, Name: site.Name, Timezone: site.Timezone, CapacityKW: record.CapacityKW(site, units), Findings: map[string]int{}, AlertSeverities: map[string]int{}}
		if f.Summary, f.Hours, err = s.today(ctx, site, units); err != nil {
			return nil, "", err
		}
		f.Summary.Figures = nil // those of a site are in its summary
		if err := s.addFindings(ctx, &f); err != nil {
			return nil, "", err
		}
		out = append(out, f)
	}
	return out, next, nil
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
