package screen

import (
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
)

// NewAssets lists the units of the site with what they are made of, and what
// the detector knows of the chosen one.
func NewAssets() *Sheet {
	return &Sheet{
		title: "Assets", query: state.QueryAssets, period: keysPeriod, opens: "take in hand",
		empty: "This site has no unit yet. A file of its production brings them; c adds one.",
		list:  pane.List{SortBy: -1},
		columns: []pane.Column{
			{Title: "unit", Min: 10, IDs: true}, {Title: "type", Width: 16, Min: 8, Rank: 2}, {Title: "make and model", Width: 20, Min: 14, Rank: 1}, {Title: "rated", Width: 8, Right: true},
			{Title: "tilt", Width: 5, Right: true, Rank: 4}, {Title: "azimuth", Width: 7, Right: true, Rank: 4}, {Title: "strings", Width: 7, Right: true, Rank: 3}, {Title: "finding", Width: 16},
		},
		rows: assetRows, detail: assetDetail, own: keymap.AssetList, part: 62, leaves: true, act: manageAsset,
		why: func(_ keymap.Action, _ string, v view.Context) string { return whyNoAssets(v) },
		more: func(id string) []state.Need {
			return []state.Need{{Query: state.QueryRuns, Of: id, Period: 6 * keysPeriod, Focused: true}, {Query: state.QueryFindings, Period: keysPeriod, Focused: true}}
		},
		status: func(v view.Context) status {
			if v.Site == nil {
				return status{face: state.Empty}
			}
			return statusOf(v.Site.Assets, v.Now, len(v.Site.Assets.Data) == 0)
		},
	}
}

// whyNoAssets is why the person may not change units, empty if they may.
func whyNoAssets(v view.Context) string {
	if v.User != nil && v.User.ApplicationPermissions != nil && !slices.Contains(v.User.ApplicationPermissions, string(api.PermissionAssets)) {
		return "your role does not change units"
	}
	return ""
}

// assetOf is the unit of that id; nil for none.
func assetOf(v view.Context, id string) *api.Asset {
	if v.Site == nil {
		return nil
	}
	return itemOf(v.Site.Assets.Data, func(a api.Asset) bool { return a.AssetID == id })
}

func manageAsset(a keymap.Action, id string, v view.Context) view.Request {
	if v.Site == nil {
		return nil
	}
	if a == keymap.AddAsset {
		return view.OpenDialog{Dialog: NewAssetForm(v.Site.Site)}
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

// worst is the active finding with the most at risk at a unit; nil for none.
func worst(v view.Context, id string) *api.Finding {
	var of *api.Finding
	for i, f := range v.Site.Findings.Data {
		if f.Active && (f.AssetID == id || slices.Contains(f.AssetIDs, id)) && (of == nil || f.EnergyAtRiskKW > of.EnergyAtRiskKW) {
			of = &v.Site.Findings.Data[i]
		}
	}
	return of
}

// rated is a unit's rated power: on its plate, or else as it was added.
func rated(a api.Asset) float64 {
	if a.RatedPowerKW > 0 {
		return a.RatedPowerKW
	}
	return a.CapacityKW
}

// machine is make and model of a unit: of its first component.
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

func assetRows(v view.Context) []pane.Row {
	if v.Site == nil {
		return nil
	}
	rows := make([]pane.Row, 0, len(v.Site.Assets.Data))
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
			standing, role = pane.Family(f.FaultFamily), pane.SeverityRole(f.SeverityLabel)
		}
		rows = append(rows, pane.Row{
			ID: a.AssetID, Sort: []any{a.AssetID, a.Type, machine(a), rated(a), tiltSort, azimuthSort, float64(a.StringCount), standing},
			Cells: []pane.Cell{
				{Text: a.AssetID, Role: themes.Text}, {Text: a.Type, Role: themes.Text}, {Text: machine(a), Role: themes.Text}, {Text: pane.Power(rated(a)), Role: themes.Text},
				{Text: tilt, Role: themes.Text}, {Text: azimuth, Role: themes.Text}, {Text: strings, Role: themes.Text}, {Text: standing, Role: role},
			},
		})
	}
	return rows
}

func assetDetail(v view.Context, id string) []Detail {
	a := assetOf(v, id)
	if a == nil {
		return nil
	}
	lines := []Detail{{Heading: a.AssetID}}
	add := factsOf(&lines)
	add("name", a.Name)
	add("type", a.Type)
	add("rated", pane.Power(rated(*a)))
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
		add("added", a.CreatedAt.In(v.Zone()).Format("2006-01-02 15:04"))
	}
	if a.Version > 0 {
		add("version", fmt.Sprint(a.Version))
	}
	lines = append(lines, componentLines("Components", a.Components)...)
	lines = append(lines, componentLines("Taken out", a.FormerComponents)...)
	return append(lines, knownOf(v, id)...)
}

// componentLines are a few components in words.
func componentLines(title string, list []api.Component) []Detail {
	if len(list) == 0 {
		return nil
	}
	lines := []Detail{{Heading: title}}
	for _, c := range list {
		words := c.OEM + " " + c.Model + ", serial " + c.Serial
		switch {
		case c.RemovedDate != "":
			words += ", until " + c.RemovedDate
		case c.InstalledDate != "":
			words += ", since " + c.InstalledDate
		}
		lines = append(lines, Detail{Label: kindOf(c), Words: words, Role: themes.Text})
	}
	return lines
}

// kindOf is what a component is, in a word.
func kindOf(c api.Component) string {
	if c.Kind == "" {
		return "component"
	}
	return c.Kind
}

// knownOf is what the detector knows of a unit: what it found, and its last
// runs.
func knownOf(v view.Context, id string) []Detail {
	lines := []Detail{{Heading: "What the detector knows"}}
	found := 0
	for _, f := range v.Site.Findings.Data {
		if f.AssetID != id && !slices.Contains(f.AssetIDs, id) {
			continue
		}
		found++
		since, role := "since "+pane.When(f.StartedAt.Time, v.SiteNow, v.Site.Zone), pane.SeverityRole(f.SeverityLabel)
		if !f.Active {
			since, role = "over, from "+pane.When(f.StartedAt.Time, v.SiteNow, v.Site.Zone)+" to "+pane.When(f.EndedAt.Time, v.SiteNow, v.Site.Zone), themes.Dim
		}
		lines = append(lines, Detail{Label: pane.Family(f.FaultFamily), Words: fmt.Sprintf("%s, confidence %s, %s lost", since, pane.Percent(f.Confidence), pane.Energy(f.LostKWh)), Role: role})
	}
	if found == 0 {
		lines = append(lines, Detail{Words: "Nothing was found at this unit.", Role: themes.Dim})
	}
	if v.Site.Wanted(state.QueryRuns) != id {
		return lines
	}
	for _, run := range v.Site.Runs.Data {
		words := "nothing abnormal"
		if run.AnomaliesDetected > 0 {
			words = fmt.Sprintf("%d abnormal, %s", run.AnomaliesDetected, run.Severity)
		}
		lines = append(lines, Detail{Label: "run " + pane.When(run.DetectedAt.Time, v.SiteNow, v.Site.Zone), Words: words, Role: themes.Dim})
	}
	return lines
}
