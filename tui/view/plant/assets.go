package plant

import (
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// NewAssets lists the units of the site with what they are made of, and what
// the detector knows of the chosen one.
func NewAssets() *widget.TableView {
	return &widget.TableView{
		Heading: "Assets", Query: state.QueryAssets, Period: widget.ListPeriod, Enter: "select",
		Empty: "This site has no units. Import a file of its production, or press c to add one.",
		List:  widget.List{SortBy: -1},
		Columns: []widget.Column{
			{Title: "unit", Min: 10, IDs: true}, {Title: "type", Width: 16, Min: 8, Rank: 2}, {Title: "make and model", Width: 20, Min: 14, Rank: 1}, {Title: "rated", Width: 8, Right: true},
			{Title: "tilt", Width: 5, Right: true, Rank: 4}, {Title: "azimuth", Width: 7, Right: true, Rank: 4}, {Title: "strings", Width: 7, Right: true, Rank: 3}, {Title: "finding", Width: 16},
		},
		Rows: assetRows, Detail: assetDetail, Keys: keymap.AssetList, Leaves: true, Act: manageAsset,
		Reason: func(_ keymap.Action, _ string, v view.Context) string { return whyNoAssets(v) },
		More: func(_ view.Context, id string) []state.Need {
			return []state.Need{{Query: state.QueryRuns, Of: id, Period: 6 * widget.ListPeriod, Focused: true}, {Query: state.QueryFindings, Period: widget.ListPeriod, Focused: true}}
		},
		Status: func(v view.Context) widget.ValueStatus {
			if v.Site == nil {
				return widget.ValueStatus{Status: state.Empty}
			}
			return widget.StatusOf(v.Site.Assets, v.Now, len(v.Site.Assets.Data) == 0)
		},
	}
}

// findingsNeed is what says whether a unit has findings.
var findingsNeed = state.Need{Query: state.QueryFindings, Period: widget.ListPeriod}

// whyNoAssets returns why the user may not change units, empty if they may.
func whyNoAssets(v view.Context) string {
	if v.User != nil && v.User.ApplicationPermissions != nil && !slices.Contains(v.User.ApplicationPermissions, string(api.PermissionAssets)) {
		return "your role does not change units"
	}
	return ""
}

// assetOf returns the unit of that id; nil for none.
func assetOf(v view.Context, id string) *api.Asset {
	if v.Site == nil {
		return nil
	}
	return widget.Find(v.Site.Assets.Data, func(a api.Asset) bool { return a.AssetID == id })
}

func manageAsset(a keymap.Action, id string, v view.Context) view.Request {
	if v.Site == nil {
		return nil
	}
	if a == keymap.AddAsset {
		return view.OpenDialog{Dialog: NewAssetForm(v.Site.Site)}
	}
	if a == keymap.EditSite {
		return view.OpenDialog{Dialog: NewSiteChange(v.Site.Site)}
	}
	unit := assetOf(v, id)
	switch {
	case unit == nil: // nothing is chosen
	case a == keymap.Open:
		return view.Select{Selection: view.Selection{AssetID: id}, Focus: view.Observe}
	case a == keymap.EditAsset:
		return view.OpenDialog{Dialog: NewAssetChange(*unit)}
	case a == keymap.Components:
		return view.OpenScreen{Screen: NewComponents(id), Over: true}
	}
	return nil
}

// worst returns the active finding with the most at risk at a unit; nil for none.
func worst(v view.Context, id string) *api.Finding {
	var of *api.Finding
	for i, f := range v.Site.Findings.Data {
		if f.Affects(id) && (of == nil || f.EnergyAtRiskKW > of.EnergyAtRiskKW) {
			of = &v.Site.Findings.Data[i]
		}
	}
	return of
}

// rated returns a unit's rated power: on its plate, or else as it was added.
func rated(a api.Asset) float64 {
	if a.RatedPowerKW > 0 {
		return a.RatedPowerKW
	}
	return a.CapacityKW
}

// machine returns make and model of a unit's first component.
func machine(a api.Asset) string {
	if len(a.Components) == 0 {
		return ""
	}
	return strings.TrimSpace(a.Components[0].OEM + " " + a.Components[0].Model)
}

// degrees writes an angle, nothing for none.
func degrees(v *float64) (string, any) {
	if v == nil {
		return "", nil
	}
	return fmt.Sprintf("%.0f°", *v), *v
}

func assetRows(v view.Context) []widget.Row {
	if v.Site == nil {
		return nil
	}
	rows := make([]widget.Row, 0, len(v.Site.Assets.Data))
	for _, a := range v.Site.Assets.Data {
		tilt, tiltSort := degrees(a.TiltDeg)
		azimuth, azimuthSort := degrees(a.AzimuthDeg)
		if v.ASCII {
			tilt, azimuth = strings.TrimSuffix(tilt, "°"), strings.TrimSuffix(azimuth, "°")
		}
		strings, standing, role := "", "none", themes.Dim
		if a.StringCount > 0 {
			strings = fmt.Sprint(a.StringCount)
		}
		if f := worst(v, a.AssetID); f != nil {
			standing, role = widget.Family(f.FaultFamily), widget.FindingRole(*f)
		} else if v.Know(findingsNeed).Missing() {
			standing, role = "unknown", themes.Muted
		}
		rows = append(rows, widget.Row{
			ID: a.AssetID, Sort: []any{a.AssetID, a.Type, machine(a), rated(a), tiltSort, azimuthSort, float64(a.StringCount), standing},
			Cells: []widget.Cell{
				{Text: a.AssetID, Role: themes.Text}, {Text: widget.Spaced(a.Type), Role: themes.Text}, {Text: machine(a), Role: themes.Text}, {Text: display.Power(rated(a)), Role: themes.Text},
				{Text: tilt, Role: themes.Text}, {Text: azimuth, Role: themes.Text}, {Text: strings, Role: themes.Text}, {Text: standing, Role: role},
			},
		})
	}
	return rows
}

func assetDetail(v view.Context, id string) []widget.Detail {
	a := assetOf(v, id)
	if a == nil {
		return nil
	}
	lines := []widget.Detail{{Heading: a.AssetID}}
	add := widget.FactsOf(&lines)
	add("name", a.Name)
	add("type", widget.Spaced(a.Type))
	add("rated", display.Power(rated(*a)))
	add("place", a.Location)
	if a.Latitude != nil && a.Longitude != nil {
		add("position", fmt.Sprintf("%.4f, %.4f", *a.Latitude, *a.Longitude))
	}
	if a.TiltDeg != nil {
		add("tilt", fmt.Sprintf("%g degrees from level", *a.TiltDeg))
	}
	if a.AzimuthDeg != nil {
		add("azimuth", fmt.Sprintf("%g degrees from north, clockwise", *a.AzimuthDeg))
	}
	if a.StringCount > 0 {
		add("strings", fmt.Sprint(a.StringCount))
	}
	add("warranty", a.WarrantyExpiryDate)
	add("device", a.TerminalDeviceID)
	if !a.CreatedAt.IsZero() {
		add("added", display.DateTime(a.CreatedAt.In(v.Zone())))
	}
	if a.Version > 0 {
		add("version", fmt.Sprint(a.Version))
	}
	lines = append(lines, componentLines("Components", a.Components)...)
	lines = append(lines, componentLines("Taken out", a.FormerComponents)...)
	return append(lines, knownOf(v, id)...)
}

// componentLines describe a few components.
func componentLines(title string, list []api.Component) []widget.Detail {
	if len(list) == 0 {
		return nil
	}
	lines := []widget.Detail{{Heading: title}}
	for _, c := range list {
		words := c.OEM + " " + c.Model + ", serial " + c.Serial
		switch {
		case c.RemovedDate != "":
			words += ", until " + c.RemovedDate
		case c.InstalledDate != "":
			words += ", since " + c.InstalledDate
		}
		lines = append(lines, widget.Detail{Label: kindOf(c), Text: words, Role: themes.Text})
	}
	return lines
}

// kindOf returns what a component is, in a word.
func kindOf(c api.Component) string {
	if c.Kind == "" {
		return "component"
	}
	return c.Kind
}

// knownOf returns the findings and the last runs of the detector for a unit.
func knownOf(v view.Context, id string) []widget.Detail {
	lines := []widget.Detail{{Heading: "What the detector knows"}}
	found := 0
	for _, f := range v.Site.Findings.Data {
		if f.AssetID != id && !slices.Contains(f.AssetIDs, id) {
			continue
		}
		found++
		part := f.Part(id)
		since, role := "since "+display.When(part.StartedAt.Time, v.SiteNow, v.Site.Zone), widget.FindingRole(f)
		if !f.Affects(id) {
			since, role = "over, from "+display.When(part.StartedAt.Time, v.SiteNow, v.Site.Zone)+" to "+display.When(part.EndedAt.Time, v.SiteNow, v.Site.Zone), themes.Dim
		}
		lines = append(lines, widget.Detail{Label: widget.Family(f.FaultFamily), Text: fmt.Sprintf("%s, confidence %s, lost %s", since, display.Percent(f.Confidence), widget.LostEnergy(f)), Role: role})
	}
	if found == 0 {
		words, role := widget.NoneKnown(v, findingsNeed, "findings", "Nothing was found at this unit.")
		lines = append(lines, widget.Detail{Text: words, Role: role})
	}
	if v.Site.Wanted(state.QueryRuns) != id {
		return lines
	}
	for _, run := range v.Site.Runs.Data {
		words := "nothing abnormal"
		if run.AnomaliesDetected > 0 {
			words = fmt.Sprintf("%d abnormal, %s", run.AnomaliesDetected, run.Severity)
		}
		lines = append(lines, widget.Detail{Label: "run " + display.When(run.DetectedAt.Time, v.SiteNow, v.Site.Zone), Text: words, Role: themes.Dim})
	}
	return lines
}

// formerID precedes the serial of a removed component.
const formerID = "former "

// NewComponents lists what a unit is made of, and what was taken out of it.
func NewComponents(assetID string) *widget.TableView {
	return &widget.TableView{
		Heading: "Components of " + assetID, Query: state.QueryAssets, Period: widget.ListPeriod,
		Empty: "No components. Press c to add the first, such as the inverter with its serial number.",
		List:  widget.List{SortBy: -1},
		Columns: []widget.Column{
			{Title: "component", Width: 14, Min: 9}, {Title: "make", Width: 14, Min: 8, Rank: 1}, {Title: "model", Min: 10}, {Title: "serial", Width: 18, Min: 10}, {Title: "since", Width: 10, Rank: 2}, {Title: "until", Width: 10, Rank: 3},
		},
		Rows: func(v view.Context) []widget.Row { return componentRows(v, assetID) },
		Detail: func(v view.Context, id string) []widget.Detail {
			c, former := componentOf(v, assetID, id)
			if c == nil {
				return nil
			}
			title := "Fitted now"
			if former {
				title = "Taken out"
			}
			return componentLines(title, []api.Component{*c})
		},
		Keys: keymap.ComponentList,
		Act: func(a keymap.Action, id string, v view.Context) view.Request {
			return manageComponent(a, assetID, id, v)
		},
		Reason: func(a keymap.Action, id string, v view.Context) string {
			if _, former := componentOf(v, assetID, id); former && a != keymap.InstallComponent {
				return "it was removed"
			}
			return whyNoAssets(v)
		},
		Status: func(v view.Context) widget.ValueStatus {
			if v.Site == nil {
				return widget.ValueStatus{Status: state.Empty}
			}
			return widget.StatusOf(v.Site.Assets, v.Now, true)
		},
	}
}

// componentOf returns the component of a row; former says that it was taken out.
func componentOf(v view.Context, assetID, id string) (c *api.Component, former bool) {
	unit := assetOf(v, assetID)
	if unit == nil {
		return nil, false
	}
	for i := range unit.Components {
		if unit.Components[i].Serial == id {
			return &unit.Components[i], false
		}
	}
	for i, c := range unit.FormerComponents {
		if formerID+c.Serial+c.RemovedDate == id {
			return &unit.FormerComponents[i], true
		}
	}
	return nil, false
}

func componentRows(v view.Context, assetID string) []widget.Row {
	unit := assetOf(v, assetID)
	if unit == nil {
		return nil
	}
	var rows []widget.Row
	for i, c := range slices.Concat(unit.Components, unit.FormerComponents) {
		id, role := c.Serial, themes.Text
		if i >= len(unit.Components) {
			id, role = formerID+c.Serial+c.RemovedDate, themes.Dim
		}
		row := widget.Row{ID: id}
		for _, text := range []string{kindOf(c), c.OEM, c.Model, c.Serial, c.InstalledDate, c.RemovedDate} {
			row.Cells, row.Sort = append(row.Cells, widget.Cell{Text: text, Role: role}), append(row.Sort, text)
		}
		rows = append(rows, row)
	}
	return rows
}

func manageComponent(a keymap.Action, assetID, id string, v view.Context) view.Request {
	unit := assetOf(v, assetID)
	if unit == nil {
		return nil
	}
	today := display.Date(v.SiteNow)
	c, _ := componentOf(v, assetID, id)
	switch {
	case a == keymap.InstallComponent:
		return view.OpenDialog{Dialog: NewComponentForm(*unit, nil, today)}
	case c == nil: // nothing is chosen
	case a == keymap.ReplaceComponent:
		return view.OpenDialog{Dialog: NewComponentForm(*unit, c, today)}
	case a == keymap.RemoveComponent:
		return view.OpenDialog{Dialog: NewComponentRemoval(*unit, *c)}
	}
	return nil
}
