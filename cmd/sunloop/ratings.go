package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/tui/plain"
)

// RatingsCmd prints and sets what KPIs are made with.
type RatingsCmd struct {
	FactFlags
	Unit            string   `help:"Set the values of this unit instead of the site's."`
	DC              float64  `name:"dc" placeholder:"KW" help:"DC rating to set: modules, standard test conditions."`
	AC              float64  `name:"ac" placeholder:"KW" help:"AC rating to set: inverters."`
	Coefficient     *float64 `name:"module-temp-coefficient" placeholder:"PERCENT" help:"Change of module power in percent per kelvin to set, such as =-0.35."`
	Mounting        string   `help:"Mounting to set: open_rack, open_rack_glass, close_roof, insulated, tracker."`
	Irradiance      string   `placeholder:"ROLE" help:"Role of the irradiance to set: plane_of_array, reference_cell, horizontal, satellite."`
	IrradianceClass string   `placeholder:"CLASS" help:"Monitoring class of the irradiance to set: A, B."`
	SensorTilt      *float64 `placeholder:"DEGREES" help:"Tilt of the irradiance sensor to set."`
	SensorAzimuth   *float64 `placeholder:"DEGREES" help:"Azimuth of the irradiance sensor to set, from north clockwise."`
	Clear           []string `placeholder:"FIELD" help:"Remove the values of these fields: dc_rating_kw, ac_rating_kw, module_temp_coefficient_pct_per_k, mounting, irradiance_role, irradiance_class, irradiance_tilt_deg, irradiance_azimuth_deg."`
}

// siteRatings are the settings of a site and its units, as they are printed.
type siteRatings struct {
	Site   api.Site    `json:"site"`
	Assets []api.Asset `json:"assets"`
}

// asset is the change that the flags give.
func (c *RatingsCmd) asset() api.Asset {
	return api.Asset{DCRatingKW: c.DC, ACRatingKW: c.AC, ModuleTempCoefficientPctPerK: c.Coefficient, Mounting: c.Mounting, IrradianceRole: c.Irradiance,
		IrradianceClass: c.IrradianceClass, IrradianceTiltDeg: c.SensorTilt, IrradianceAzimuthDeg: c.SensorAzimuth}
}

// changes reports whether a value is to be set or cleared.
func (c *RatingsCmd) changes() bool {
	return c.DC != 0 || c.AC != 0 || c.Coefficient != nil || c.Mounting != "" || c.Irradiance != "" || c.IrradianceClass != "" || c.SensorTilt != nil || c.SensorAzimuth != nil || len(c.Clear) > 0
}

// Run sets the given values, and prints those of the sites and their units.
func (c *RatingsCmd) Run(ctx context.Context, g *Globals, std streams) error {
	switch {
	case c.Unit != "" && !c.changes():
		return wrong("--unit: a value to set is required, such as --dc 60")
	case c.changes() && c.Site == "":
		return wrong("--site is required to set or clear a value")
	case slices.ContainsFunc(c.Clear, func(name string) bool { return !slices.Contains(api.ClearableSettings(), name) }):
		return wrong("--clear: invalid value %q; it is a list of %s", strings.Join(c.Clear, ","), strings.Join(api.ClearableSettings(), ", "))
	}
	return c.report(ctx, g, std, func(ctx context.Context, f *facts) (bool, error) {
		return false, each(ctx, f, func(ctx context.Context, site api.Site) (*siteRatings, error) {
			if c.changes() {
				if err := c.set(ctx, f, site); err != nil {
					return nil, err
				}
			}
			return readRatings(ctx, f, site)
		}, func(_ api.Site, r *siteRatings) error { return printRatings(f, *r) })
	})
}

// set sets the given values of the site, or of the unit.
func (c *RatingsCmd) set(ctx context.Context, f *facts, site api.Site) error {
	a := c.asset()
	if c.Unit != "" {
		a.AssetID, a.SiteID, a.CustomerID = c.Unit, site.SiteID, site.CustomerID
		_, err := f.Client.SetAsset(ctx, a, c.Clear...)
		return err
	}
	_, err := f.Client.SetSite(ctx, api.Site{SiteID: site.SiteID, CustomerID: site.CustomerID, DCRatingKW: a.DCRatingKW, ACRatingKW: a.ACRatingKW,
		ModuleTempCoefficientPctPerK: a.ModuleTempCoefficientPctPerK, Mounting: a.Mounting, IrradianceRole: a.IrradianceRole, IrradianceClass: a.IrradianceClass,
		IrradianceTiltDeg: a.IrradianceTiltDeg, IrradianceAzimuthDeg: a.IrradianceAzimuthDeg}, c.Clear...)
	return err
}

// readRatings reads a site and its units.
func readRatings(ctx context.Context, f *facts, site api.Site) (*siteRatings, error) {
	out := &siteRatings{Site: site}
	q := api.ListQuery{CustomerID: site.CustomerID, SiteID: site.SiteID, Page: api.Page{Limit: 1000}}
	sites, err := f.Client.Sites(ctx, api.ListQuery{CustomerID: site.CustomerID, SiteID: site.SiteID})
	if err != nil {
		return nil, err
	}
	for _, s := range sites.Sites {
		if s.SiteID == site.SiteID && s.CustomerID == site.CustomerID {
			out.Site = s
		}
	}
	for {
		answer, err := f.Client.Assets(ctx, q)
		if err != nil {
			return nil, err
		}
		out.Assets = append(out.Assets, answer.Assets...)
		if q.Cursor = answer.NextCursor; q.Cursor == "" {
			return out, nil
		}
	}
}

// printRatings prints the settings of a site and its units; what is not set is
// empty.
func printRatings(f *facts, r siteRatings) error {
	fmt.Fprintf(f.out, "%s\n", f.Zones.Label(r.Site.Ref()))
	t := plain.NewTable("unit", "#DC kW", "#AC kW", "#capacity kW", "#module %/K", "mounting", "irradiance", "#sensor tilt", "#sensor azimuth", "class")
	kW := func(v float64) string {
		if v == 0 {
			return ""
		}
		return plain.Number(v)
	}
	number := func(v *float64) string {
		if v == nil {
			return ""
		}
		return plain.Number(*v)
	}
	s := r.Site
	t.Add("(site)", kW(s.DCRatingKW), kW(s.ACRatingKW), kW(s.CapacityKW), number(s.ModuleTempCoefficientPctPerK), plain.Label(s.Mounting), plain.Label(s.IrradianceRole), number(s.IrradianceTiltDeg), number(s.IrradianceAzimuthDeg), s.IrradianceClass)
	for _, a := range r.Assets {
		t.Add(a.AssetID, kW(a.DCRatingKW), kW(a.ACRatingKW), kW(a.CapacityKW), number(a.ModuleTempCoefficientPctPerK), plain.Label(a.Mounting), plain.Label(a.IrradianceRole), number(a.IrradianceTiltDeg), number(a.IrradianceAzimuthDeg), a.IrradianceClass)
	}
	return t.Write(f.out, "  ")
}
