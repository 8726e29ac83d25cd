package screen

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
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

// SheetForm is a form of the service's fields below a few words.
type SheetForm struct {
	asking
	title, words, verb string
	accept             func() view.Request
}

// Title names the form.
func (d *SheetForm) Title() string { return d.title }

// Size fits the form.
func (d *SheetForm) Size(w, h int) (int, int) { return min(76, w-4), min(len(d.fields)+9, h-2) }

// Draw draws the form.
func (d *SheetForm) Draw(r terminal.Region, v view.Context) {
	_, h := r.Size()
	y := 0
	if h > len(d.fields)+4 {
		y = v.Paragraph(r, 0, 0, d.words, themes.Dim) + 1
	}
	d.drawForm(r, y, v)
	keyLine(r, h-1, v, d.keyWords(d.verb, v)...)
}

// Key edits or sends.
func (d *SheetForm) Key(k tea.KeyMsg, v view.Context) view.Request { return d.key(k, v, d.accept) }

// number reads the field of that name: nil when it is empty. ok is false for
// what is no number, which the field then says.
func (a *asking) number(name string) (v *float64, ok bool) {
	text := strings.ReplaceAll(a.value(name), ",", ".")
	if text == "" {
		return nil, true
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		a.refuse(slices.Index(a.names, name), "That is no number.")
		return nil, false
	}
	return &n, true
}

// typed writes a number for a field, nothing for none.
func typed(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', -1, 64)
}

// above writes a number for a field, nothing for zero, which stands for none.
func above(v float64) string {
	if v == 0 {
		return ""
	}
	return typed(&v)
}

// figures of a unit that are numbers, by the names of their fields.
var assetNumbers = []string{"capacity_kw", "rated_power_kw", "tilt_deg", "azimuth_deg", "string_count"}

// assetFields are the form of a unit, and the names of its fields.
func assetFields(a api.Asset) ([]string, []Field) {
	return []string{"name", "type", "capacity_kw", "rated_power_kw", "location", "tilt_deg", "azimuth_deg", "string_count", "warranty_expiry_date"}, []Field{
		NewField("Name", "", a.Name), NewField("Type", "as Solar Inverter", a.Type), NewField("Capacity kW", "AC", above(a.CapacityKW)), NewField("Plate kW", "rated power; empty: the capacity", above(a.RatedPowerKW)),
		NewField("Place", "", a.Location), NewField("Tilt", "degrees from level", typed(a.TiltDeg)), NewField("Azimuth", "degrees from north, clockwise", typed(a.AzimuthDeg)), NewField("Strings", "", above(float64(a.StringCount))), NewField("Warranty", "until, as 2031-06-30", a.WarrantyExpiryDate),
	}
}

// readAsset reads the form; ok is false when a field is no number.
func readAsset(d *SheetForm) (a api.Asset, ok bool) {
	var numbers [5]*float64
	for i, name := range assetNumbers {
		if numbers[i], ok = d.number(name); !ok {
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
		Name: d.value("name"), Type: d.value("type"), Location: d.value("location"), WarrantyExpiryDate: d.value("warranty_expiry_date"),
		CapacityKW: plain(numbers[0]), RatedPowerKW: plain(numbers[1]), TiltDeg: numbers[2], AzimuthDeg: numbers[3], StringCount: int(plain(numbers[4])),
	}
	if plain(numbers[4]) != float64(a.StringCount) {
		d.refuse(slices.Index(d.names, "string_count"), "Strings are counted in whole numbers.")
		return a, false
	}
	return a, true
}

// NewAssetForm asks for a new unit of a site.
func NewAssetForm(site api.Site) *SheetForm {
	names, fields := assetFields(api.Asset{Type: "Solar Inverter", Location: site.Location, TiltDeg: site.TiltDeg, AzimuthDeg: site.AzimuthDeg})
	d := &SheetForm{title: "Add a unit", verb: "add", words: "A unit that a file brings is there by itself; add one before its data come, or one without data.",
		asking: asking{names: append([]string{"asset_id"}, names...), form: form{fields: append([]Field{NewField("Id", "as files and loggers name it", "")}, fields...)}}}
	d.accept = func() view.Request {
		a, ok := readAsset(d)
		if !ok {
			return nil
		}
		a.AssetID, a.SiteID, a.CustomerID = d.value("asset_id"), site.SiteID, site.CustomerID
		d.busy, d.wrong = true, ""
		return sendAsset(d, func(ctx context.Context, c *client.Client) (*api.AssetsResponse, error) { return c.AddAsset(ctx, a) })
	}
	return d
}

// NewAssetChange asks what becomes another of a unit. It is refused when
// somebody else has changed the unit meanwhile.
func NewAssetChange(was api.Asset) *SheetForm {
	names, fields := assetFields(was)
	d := &SheetForm{title: "Change " + was.AssetID, verb: "change", words: "What is left empty stays as it is. Capacity and orientation are what detection and forecast compare with.",
		asking: asking{names: names, form: form{fields: fields}}}
	d.accept = func() view.Request {
		a, ok := readAsset(d)
		if !ok {
			return nil
		}
		a.AssetID, a.SiteID, a.CustomerID, a.Version = was.AssetID, was.SiteID, was.CustomerID, was.Version
		d.busy, d.wrong = true, ""
		return sendAsset(d, func(ctx context.Context, c *client.Client) (*api.AssetsResponse, error) { return c.SetAsset(ctx, a) })
	}
	return d
}

// NewComponentForm asks for a component of a unit, in the place of another
// unless that is nil.
func NewComponentForm(unit api.Asset, former *api.Component, today string) *SheetForm {
	first := api.Component{}
	d := &SheetForm{title: "Install a component", verb: "install", words: "Name what it is and its serial, so that a later fault finds its history."}
	serial := ""
	if former != nil {
		first, serial = *former, former.Serial
		d.title, d.verb, d.words = "Replace a component", "replace", "The new one takes the place of "+former.OEM+" "+former.Model+", serial "+former.Serial+", which is kept among those that were taken out."
	}
	d.asking = asking{
		names: []string{"component.kind", "component.oem", "component.model", "component.serial", "component.installed_date"},
		form: form{fields: []Field{
			NewField("What", "as inverter, string box, fan", first.Kind), NewField("Make", "", first.OEM), NewField("Model", "", first.Model), NewField("Serial", "", ""), NewField("On", "the day, as 2026-06-30", today),
		}},
	}
	if former != nil {
		d.at = 3 // mostly the serial alone is another
	}
	d.accept = func() view.Request {
		r := api.AssetsRequest{Asset: api.Asset{AssetID: unit.AssetID, SiteID: unit.SiteID, CustomerID: unit.CustomerID, Version: unit.Version}, FormerSerial: serial,
			Component: &api.Component{Kind: d.value("component.kind"), OEM: d.value("component.oem"), Model: d.value("component.model"), Serial: d.value("component.serial"), InstalledDate: d.value("component.installed_date")}}
		d.busy, d.wrong = true, ""
		return sendAsset(d, func(ctx context.Context, c *client.Client) (*api.AssetsResponse, error) {
			return c.InstallComponent(ctx, r)
		})
	}
	return d
}

// NewComponentRemoval asks whether a component is taken out.
func NewComponentRemoval(unit api.Asset, former api.Component) *Confirm {
	return &Confirm{
		title: "Remove a component", keep: "Leave it", do: "Remove",
		question: "Take " + former.OEM + " " + former.Model + ", serial " + former.Serial + ", out of " + unit.AssetID + " today? It is kept among those that were taken out.",
		send: func(from view.Caller) view.Request {
			r := api.AssetsRequest{Asset: api.Asset{AssetID: unit.AssetID, SiteID: unit.SiteID, CustomerID: unit.CustomerID, Version: unit.Version}, FormerSerial: former.Serial}
			return sendAsset(from, func(ctx context.Context, c *client.Client) (*api.AssetsResponse, error) {
				return c.RemoveComponent(ctx, r)
			})
		},
	}
}
