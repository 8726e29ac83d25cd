package screen

import (
	"slices"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
)

// formerID stands before the serial of a component that was taken out.
const formerID = "former "

// NewComponents lists what a unit is made of, and what was taken out of it.
func NewComponents(assetID string) *Sheet {
	return &Sheet{
		title: "Components of " + assetID, query: state.QueryAssets, period: keysPeriod,
		empty: "No component of this unit is known; c installs the first: the machine itself, with its serial.",
		list:  pane.List{SortBy: -1},
		columns: []pane.Column{
			{Title: "component", Width: 14, Min: 9}, {Title: "make", Width: 14, Min: 8, Rank: 1}, {Title: "model", Min: 10}, {Title: "serial", Width: 18, Min: 10}, {Title: "since", Width: 10, Rank: 2}, {Title: "until", Width: 10, Rank: 3},
		},
		rows: func(v view.Context) []pane.Row { return componentRows(v, assetID) },
		detail: func(v view.Context, id string) []Detail {
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
		own: keymap.ComponentList,
		act: func(a keymap.Action, id string, v view.Context) view.Request {
			return manageComponent(a, assetID, id, v)
		},
		why: func(a keymap.Action, id string, v view.Context) string {
			if _, former := componentOf(v, assetID, id); former && a != keymap.InstallComponent {
				return "it was taken out"
			}
			return whyNoAssets(v)
		},
		status: func(v view.Context) status {
			if v.Site == nil {
				return status{face: state.Empty}
			}
			return statusOf(v.Site.Assets, v.Now, true)
		},
	}
}

// componentOf is the component of a row; former says that it was taken out.
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

func componentRows(v view.Context, assetID string) []pane.Row {
	unit := assetOf(v, assetID)
	if unit == nil {
		return nil
	}
	var rows []pane.Row
	for i, c := range slices.Concat(unit.Components, unit.FormerComponents) {
		id, role := c.Serial, themes.Text
		if i >= len(unit.Components) {
			id, role = formerID+c.Serial+c.RemovedDate, themes.Dim
		}
		row := pane.Row{ID: id}
		for _, text := range []string{kindOf(c), c.OEM, c.Model, c.Serial, c.InstalledDate, c.RemovedDate} {
			row.Cells, row.Sort = append(row.Cells, pane.Cell{Text: text, Role: role}), append(row.Sort, text)
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
	today := v.SiteNow.Format("2006-01-02")
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
