package plant

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// sendAsset makes a change of a unit for the dialog that asks for it.
func sendAsset(from view.Caller, do func(ctx context.Context, c *client.Client) (*api.AssetsResponse, error)) view.Request {
	return view.Call{From: from, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		answer, err := do(ctx, c)
		if err != nil {
			return view.Result{}, err
		}
		return view.Result{Notice: view.Notice(answer.Message + ": " + terminal.Printable(answer.AssetID) + "."), Row: answer.AssetID, Refresh: []state.Query{state.QueryAssets, state.QueryActivities}}, nil
	}}
}

// typed writes a number for a field, nothing for none.
func typed(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}

// above writes a number for a field, nothing for zero, which means none.
func above(v float64) string {
	if v == 0 {
		return ""
	}
	return typed(&v)
}

// assetNumbers are the fields of a unit that are numbers.
var assetNumbers = []string{"capacity_kw", "rated_power_kw", "tilt_deg", "azimuth_deg", "string_count", "dc_rating_kw", "ac_rating_kw", "module_temp_coefficient_pct_per_k", "irradiance_tilt_deg", "irradiance_azimuth_deg"}

// assetFields returns the form of a unit, and the names of its fields.
func assetFields(a api.Asset) ([]string, []widget.Field) {
	return []string{"name", "type", "capacity_kw", "rated_power_kw", "location", "tilt_deg", "azimuth_deg", "string_count", "warranty_expiry_date",
			"dc_rating_kw", "ac_rating_kw", "module_temp_coefficient_pct_per_k", "mounting", "irradiance_role", "irradiance_tilt_deg", "irradiance_azimuth_deg", "irradiance_class"}, []widget.Field{
			widget.NewField("Name", "", a.Name), widget.NewField("Type", "as Solar Inverter", a.Type), widget.NewField("Capacity kW", "AC", above(a.CapacityKW)), widget.NewField("Plate kW", "rated power; empty: the capacity", above(a.RatedPowerKW)),
			widget.NewField("Place", "", a.Location), widget.NewField("Tilt", "degrees from level", typed(a.TiltDeg)), widget.NewField("Azimuth", "degrees from north, clockwise", typed(a.AzimuthDeg)), widget.NewField("Strings", "", above(float64(a.StringCount))), widget.NewField("Warranty", "until, as 2031-06-30", a.WarrantyExpiryDate),
			widget.NewField("DC kW", "modules, standard test conditions", above(a.DCRatingKW)), widget.NewField("AC kW", "inverter; empty: the capacity", above(a.ACRatingKW)),
			widget.NewField("Module %/K", "of power, as -0.35", typed(a.ModuleTempCoefficientPctPerK)), widget.NewField("Mounting", strings.Join(api.Mountings(), ", "), a.Mounting),
			widget.NewField("Irradiance", strings.Join(api.IrradianceRoles(), ", "), a.IrradianceRole), widget.NewField("Sensor tilt", "degrees; empty: that of the modules", typed(a.IrradianceTiltDeg)),
			widget.NewField("Sensor azim.", "degrees from north, clockwise", typed(a.IrradianceAzimuthDeg)), widget.NewField("Sensor class", "A or B (IEC 61724-1)", a.IrradianceClass),
		}
}

// readAsset reads the form; ok is false when a field is no number.
func readAsset(d *widget.FieldsForm) (a api.Asset, ok bool) {
	var numbers [10]*float64
	for i, name := range assetNumbers {
		if numbers[i], ok = d.Number(name); !ok {
			return a, false
		}
	}
	plain := func(v *float64) float64 {
		if v == nil {
			return 0
		}
		return *v
	}
	a = api.Asset{
		Name: d.Value("name"), Type: d.Value("type"), Location: d.Value("location"), WarrantyExpiryDate: d.Value("warranty_expiry_date"),
		CapacityKW: plain(numbers[0]), RatedPowerKW: plain(numbers[1]), TiltDeg: numbers[2], AzimuthDeg: numbers[3], StringCount: int(plain(numbers[4])),
		DCRatingKW: plain(numbers[5]), ACRatingKW: plain(numbers[6]), ModuleTempCoefficientPctPerK: numbers[7], Mounting: d.Value("mounting"),
		IrradianceRole: d.Value("irradiance_role"), IrradianceTiltDeg: numbers[8], IrradianceAzimuthDeg: numbers[9], IrradianceClass: d.Value("irradiance_class"),
	}
	if plain(numbers[4]) != float64(a.StringCount) {
		d.Refuse(slices.Index(d.Names, "string_count"), "Strings are counted in whole numbers.")
		return a, false
	}
	return a, true
}

// NewAssetForm asks for a new unit of a site.
func NewAssetForm(site api.Site) *widget.FieldsForm {
	names, fields := assetFields(api.Asset{Type: "Solar Inverter", Location: site.Location, TiltDeg: site.TiltDeg, AzimuthDeg: site.AzimuthDeg})
	d := &widget.FieldsForm{Heading: "Add a unit", Verb: "add", Intro: "Units of imported files are added automatically. Add a unit here before its data arrive, or one without data.",
		ServerForm: widget.ServerForm{Names: append([]string{"asset_id"}, names...), Form: widget.Form{Fields: append([]widget.Field{widget.NewField("Id", "as files and loggers name it", "")}, fields...)}}}
	d.Accept = func() view.Request {
		a, ok := readAsset(d)
		if !ok {
			return nil
		}
		a.AssetID, a.SiteID, a.CustomerID = d.Value("asset_id"), site.SiteID, site.CustomerID
		d.Busy, d.Wrong = true, ""
		return sendAsset(d, func(ctx context.Context, c *client.Client) (*api.AssetsResponse, error) { return c.AddAsset(ctx, a) })
	}
	return d
}

// NewAssetChange asks for changes of a unit. It is refused if
// another user has changed the unit meanwhile.
func NewAssetChange(was api.Asset) *widget.FieldsForm {
	names, fields := assetFields(was)
	d := &widget.FieldsForm{Heading: "Change " + was.AssetID, Verb: "change", Intro: "Empty fields stay unchanged. Detection and forecast use capacity and orientation.",
		ServerForm: widget.ServerForm{Names: names, Form: widget.Form{Fields: fields}}}
	d.Accept = func() view.Request {
		a, ok := readAsset(d)
		if !ok {
			return nil
		}
		a.AssetID, a.SiteID, a.CustomerID, a.Version = was.AssetID, was.SiteID, was.CustomerID, was.Version
		d.Busy, d.Wrong = true, ""
		return sendAsset(d, func(ctx context.Context, c *client.Client) (*api.AssetsResponse, error) { return c.SetAsset(ctx, a) })
	}
	return d
}

// siteNumbers are the fields of the site that are numbers.
var siteNumbers = []string{"site.dc_rating_kw", "site.ac_rating_kw", "site.module_temp_coefficient_pct_per_k", "site.irradiance_tilt_deg", "site.irradiance_azimuth_deg"}

// NewSiteChange asks for the inputs of a site's KPIs: ratings, modules and
// irradiance.
func NewSiteChange(was api.Site) *widget.FieldsForm {
	unset := func(words string) func(string) string {
		return func(value string) string {
			if value == "" {
				return words
			}
			return strings.ReplaceAll(value, "_", " ")
		}
	}
	choice := func(label string, values []string, value string) widget.Field {
		return widget.ChoiceField(label, append([]string{""}, values...), unset("as it is"), value)
	}
	d := &widget.FieldsForm{Heading: "Change the site " + was.SiteID, Verb: "change", Intro: "Ratings, modules and irradiance of the whole site, for units that have none. Empty fields stay unchanged.",
		ServerForm: widget.ServerForm{
			Names: []string{siteNumbers[0], siteNumbers[1], siteNumbers[2], "site.mounting", "site.irradiance_role", siteNumbers[3], siteNumbers[4], "site.irradiance_class"},
			Form: widget.Form{Fields: []widget.Field{
				widget.NewField("DC kW", "all modules, standard test conditions", above(was.DCRatingKW)), widget.NewField("AC kW", "all inverters", above(was.ACRatingKW)),
				widget.NewField("Module %/K", "of power, as -0.35", typed(was.ModuleTempCoefficientPctPerK)), choice("Mounting", api.Mountings(), was.Mounting),
				choice("Irradiance", api.IrradianceRoles(), was.IrradianceRole), widget.NewField("Sensor tilt", "degrees; empty: that of the modules", typed(was.IrradianceTiltDeg)),
				widget.NewField("Sensor azim.", "degrees from north, clockwise", typed(was.IrradianceAzimuthDeg)), choice("Class", api.IrradianceClasses(), was.IrradianceClass),
			}}}}
	d.Accept = func() view.Request {
		var numbers [5]*float64
		for i, name := range siteNumbers {
			var ok bool
			if numbers[i], ok = d.Number(name); !ok {
				return nil
			}
		}
		site := api.Site{SiteID: was.SiteID, CustomerID: was.CustomerID, ModuleTempCoefficientPctPerK: numbers[2], Mounting: d.Value("site.mounting"),
			IrradianceRole: d.Value("site.irradiance_role"), IrradianceTiltDeg: numbers[3], IrradianceAzimuthDeg: numbers[4], IrradianceClass: d.Value("site.irradiance_class")}
		for i, rating := range []*float64{&site.DCRatingKW, &site.ACRatingKW} {
			if numbers[i] != nil {
				*rating = *numbers[i]
			}
		}
		d.Busy, d.Wrong = true, ""
		return widget.SendSite(d, site)
	}
	return d
}

// NewComponentForm asks for a component of a unit, which replaces another
// unless that is nil.
func NewComponentForm(unit api.Asset, former *api.Component, today string) *widget.FieldsForm {
	first := api.Component{}
	d := &widget.FieldsForm{Heading: "Install a component", Verb: "install", Intro: "Name what it is and its serial, so that a later fault finds its history."}
	serial := ""
	if former != nil {
		first, serial = *former, former.Serial
		d.Heading, d.Verb, d.Intro = "Replace a component", "replace", "The new component replaces "+former.OEM+" "+former.Model+", serial "+former.Serial+", which stays in the list of removed components."
	}
	d.ServerForm = widget.ServerForm{
		Names: []string{"component.kind", "component.oem", "component.model", "component.serial", "component.installed_date"},
		Form: widget.Form{Fields: []widget.Field{
			widget.NewField("What", "as inverter, string box, fan", first.Kind), widget.NewField("Make", "", first.OEM), widget.NewField("Model", "", first.Model), widget.NewField("Serial", "", ""), widget.NewField("On", "the day, as 2026-06-30", today),
		}},
	}
	if former != nil {
		d.At = 3 // usually only the serial number differs
	}
	d.Accept = func() view.Request {
		r := api.AssetsRequest{Asset: api.Asset{AssetID: unit.AssetID, SiteID: unit.SiteID, CustomerID: unit.CustomerID, Version: unit.Version}, FormerSerial: serial,
			Component: &api.Component{Kind: d.Value("component.kind"), OEM: d.Value("component.oem"), Model: d.Value("component.model"), Serial: d.Value("component.serial"), InstalledDate: d.Value("component.installed_date")}}
		d.Busy, d.Wrong = true, ""
		return sendAsset(d, func(ctx context.Context, c *client.Client) (*api.AssetsResponse, error) {
			return c.InstallComponent(ctx, r)
		})
	}
	return d
}

// NewComponentRemoval asks whether a component is taken out.
func NewComponentRemoval(unit api.Asset, former api.Component) *widget.Confirm {
	return &widget.Confirm{
		Heading: "Remove a component", No: "Leave it", Yes: "Remove",
		Question: "Take " + former.OEM + " " + former.Model + ", serial " + former.Serial + ", out of " + unit.AssetID + " today? It stays in the list of removed components.",
		Send: func(from view.Caller) view.Request {
			r := api.AssetsRequest{Asset: api.Asset{AssetID: unit.AssetID, SiteID: unit.SiteID, CustomerID: unit.CustomerID, Version: unit.Version}, FormerSerial: former.Serial}
			return sendAsset(from, func(ctx context.Context, c *client.Client) (*api.AssetsResponse, error) {
				return c.RemoveComponent(ctx, r)
			})
		},
	}
}
