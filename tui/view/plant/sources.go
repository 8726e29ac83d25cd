package plant

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// NewSources shows the devices that the service reads, each with its state, rate, age and
// last error, the values of the selected one as read, the search for devices, the folders,
// servers and mailboxes from which it takes files, the brokers to which devices publish, and
// the gateways that send data.
func NewSources() *widget.TabView {
	return &widget.TabView{Heading: "Sources", Keys: keymap.SourceList, Act: manageSource, Reason: whyNotSource,
		Tabs: []*widget.Tab{newDevices(), newSearch(), newFileSources(), newBrokers(), newGateways()}}
}

// sourceRoles are the colours of states.
var sourceRoles = map[string]themes.Role{api.SourceReading: themes.Text, api.SourceAsleep: themes.Dim, api.SourceWaiting: themes.Dim, api.SourceUnreachable: themes.Accent, api.SourceSuspect: themes.Accent}

func newDevices() *widget.Tab {
	l := widget.NewTab("devices")
	l.Empty = "This service reads no device of the site itself. See the gateways that send its data, or start it with --sources; then d searches for devices."
	l.Needs = func(v view.Context) []state.Need {
		needs := []state.Need{{Query: state.QuerySources, Period: 5 * time.Second}}
		if id := l.List.Selected; v.Site != nil && sourceOf(v, id) != nil {
			needs = append(needs, state.Need{Query: state.QuerySource, Of: id, Period: 10 * time.Second})
		}
		return needs
	}
	l.Status = func(v view.Context) widget.ValueStatus {
		return widget.StatusOf(v.Site.Sources, v.Now, len(v.Site.Sources.Data.Sources) == 0)
	}
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{
			{Title: "device", Width: 20, Min: 10, IDs: true}, {Title: "kind", Width: 9, Rank: 3}, {Title: "state", Width: 14}, {Title: "power", Width: 9, Right: true}, {Title: "age", Width: 7, Right: true},
			{Title: "a minute", Width: 8, Right: true, Rank: 2}, {Title: "errors", Width: 6, Right: true, Rank: 1}, {Title: "last error", Min: 12, Rank: 4},
		}
	}
	l.Rows = func(v view.Context) []widget.Row {
		rows := make([]widget.Row, 0, len(v.Site.Sources.Data.Sources))
		for _, d := range v.Site.Sources.Data.Sources {
			state := widget.Text(d.State)
			if role, ok := sourceRoles[d.State]; ok {
				state.Role = role
			}
			rows = append(rows, widget.Row{ID: d.AssetID, Sort: []any{d.AssetID, d.Kind, d.State, known(d.PowerKW), known(d.AgeS), known(d.PerMinute), float64(d.Errors), d.Error}, Cells: []widget.Cell{
				widget.Text(d.AssetID), widget.QuietText(d.Kind), state, widget.Text(display.Power(known(d.PowerKW))), widget.Text(age(d.AgeS)), widget.QuietText(display.Significant(known(d.PerMinute))),
				widget.QuietText(fmt.Sprint(d.Errors)), widget.QuietText(cmp.Or(d.Error, "-")),
			}})
		}
		return rows
	}
	l.Detail = sourceDetail
	return l
}

func known(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// age writes an age in seconds that may be unknown.
func age(s *float64) string {
	if s == nil {
		return "–"
	}
	return display.Age(time.Duration(*s * float64(time.Second)))
}

// lastReading says when a device was last read.
func lastReading(s *float64) string {
	switch a := age(s); a {
	case "–":
		return "last reading unknown"
	case "now":
		return "last reading just now"
	default:
		return "last reading " + a + " ago"
	}
}

func sourceOf(v view.Context, id string) *api.SourceDevice {
	return widget.Find(v.Site.Sources.Data.Sources, func(d api.SourceDevice) bool { return d.AssetID == id })
}

func sourceDetail(v view.Context, id string) []widget.Detail {
	d := sourceOf(v, id)
	if d == nil {
		return nil
	}
	lines := []widget.Detail{{Heading: strings.TrimSpace(strings.Join([]string{d.Manufacturer, d.Model, d.Serial}, " "))}}
	if lines[0].Heading == "" {
		lines[0].Heading = d.AssetID
	}
	add := widget.FormatsOf(&lines)
	add("connection", "%s, %s", d.Connection, d.Protocol)
	if b := brokerOf(v, d); b != nil {
		add("broker", "%s, %s", brokerConnection(*b), display.CountOf(b.Messages, "message", "messages"))
	}
	add("state", "%s; %s; %s readings a minute", d.State, lastReading(d.AgeS), display.Significant(known(d.PerMinute)))
	add("readings", "%d, and %s", d.Readings, display.CountOf(d.Errors, "error", "errors"))
	if d.Error != "" {
		add("last error", "%s: %s", display.When(d.ErrorAt.Time, v.SiteNow, v.Site.Zone), d.Error)
	}
	if len(d.Dropped) > 0 {
		var words []string
		for _, name := range widget.SortedKeys(d.Dropped) {
			words = append(words, fmt.Sprintf("%s %d", name, d.Dropped[name]))
		}
		add("dropped", "%s", strings.Join(words, ", "))
	}
	if !d.Stored {
		add("stored", "not as a unit: its power is that of the inverters, or it measures none")
	}
	if v.Site.Wanted(state.QuerySource) != id || len(v.Site.Source.Data.Values) == 0 {
		return lines
	}
	lines = append(lines, widget.Detail{Heading: "Values as read"})
	for _, value := range v.Site.Source.Data.Values {
		if value.Value == nil {
			add(value.Name, "not there")
			continue
		}
		add(value.Name, "%.10g", *value.Value)
	}
	if len(v.Site.Source.Data.Registers) > 0 {
		lines = append(lines, widget.Detail{Heading: "Registers"})
		for _, r := range v.Site.Source.Data.Registers {
			add(fmt.Sprint(r.Address), "%s", strings.Trim(fmt.Sprintf("%04x", r.Words), "[]"))
		}
	}
	return lines
}

// newSourcesTab is a tab of what the service reads itself; count returns how many rows it has.
func newSourcesTab(name string, count func(api.SourcesResponse) int) *widget.Tab {
	l := widget.NewTab(name)
	l.Needs = func(view.Context) []state.Need {
		return []state.Need{{Query: state.QuerySources, Period: 5 * time.Second}}
	}
	l.Status = func(v view.Context) widget.ValueStatus {
		return widget.StatusOf(v.Site.Sources, v.Now, count(v.Site.Sources.Data) == 0)
	}
	return l
}

// newFileSources lists folders, SFTP servers and mailboxes.
func newFileSources() *widget.Tab {
	l := newSourcesTab("files", func(s api.SourcesResponse) int { return len(s.Files) })
	l.Empty = "This service takes no files of the site from a folder, an SFTP server or a mailbox. The sources file can have them: [[folder]], [[sftp]], [[imap]]."
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{
			{Title: "source", Width: 18, Min: 10, IDs: true}, {Title: "kind", Width: 6, Rank: 3}, {Title: "state", Width: 14}, {Title: "files", Width: 6, Right: true}, {Title: "refused", Width: 7, Right: true},
			{Title: "waiting", Width: 7, Right: true, Rank: 1}, {Title: "last read", Width: 12, Rank: 2}, {Title: "error", Min: 12, Rank: 4},
		}
	}
	l.Rows = func(v view.Context) []widget.Row {
		rows := make([]widget.Row, 0, len(v.Site.Sources.Data.Files))
		for _, f := range v.Site.Sources.Data.Files {
			state, refused := widget.Text(f.State), widget.Text(fmt.Sprint(f.Refused))
			if role, ok := sourceRoles[f.State]; ok {
				state.Role = role
			}
			if f.Refused > 0 {
				refused.Role = themes.Accent
			}
			read := "-"
			if !f.LastReadAt.IsZero() {
				read = display.When(f.LastReadAt.Time, v.SiteNow, v.Site.Zone)
			}
			rows = append(rows, widget.Row{ID: f.Name, Sort: []any{f.Name, f.Kind, f.State, float64(f.Taken), float64(f.Refused), float64(f.Waiting), f.LastReadAt.String(), f.Error}, Cells: []widget.Cell{
				widget.Text(f.Name), widget.QuietText(f.Kind), state, widget.Text(fmt.Sprint(f.Taken)), refused, widget.QuietText(fmt.Sprint(f.Waiting)), widget.QuietText(read), widget.QuietText(cmp.Or(f.Error, "-")),
			}})
		}
		return rows
	}
	l.Detail = filesDetail
	return l
}

func filesDetail(v view.Context, id string) []widget.Detail {
	f := widget.Find(v.Site.Sources.Data.Files, func(f api.SourceFiles) bool { return f.Name == id })
	if f == nil {
		return nil
	}
	lines := []widget.Detail{{Heading: f.Name}}
	add := widget.FormatsOf(&lines)
	add("place", "%s", f.Place)
	add("files", "%d taken in since the start of the service, %d of them refused", f.Taken, f.Refused)
	if f.Waiting > 0 {
		add("waiting", "%s that may still be written, or whose import has not ended", display.CountOf(f.Waiting, "file", "files"))
	}
	if f.Skipped > 0 {
		add("skipped", "%s of other senders", display.CountOf(f.Skipped, "message", "messages"))
	}
	if f.Error != "" {
		lines = append(lines, widget.Detail{Label: "error", Text: display.When(f.ErrorAt.Time, v.SiteNow, v.Site.Zone) + ": " + f.Error, Role: themes.Warning})
	}
	if !f.RetryAt.IsZero() {
		add("next try", "%s", display.When(f.RetryAt.Time, v.SiteNow, v.Site.Zone))
	}
	if s := f.Sending; s != nil {
		add("sending", "%s; %s waiting", s.State, display.CountOf(s.Waiting, "file", "files"))
		if s.Error != "" {
			lines = append(lines, widget.Detail{Label: "", Text: s.Error, Role: themes.Warning})
		}
		if !s.RetryAt.IsZero() {
			add("", "next try %s", display.When(s.RetryAt.Time, v.SiteNow, v.Site.Zone))
		}
	}
	for _, r := range f.Refusals {
		lines = append(lines, widget.Detail{Label: "not taken", Text: fmt.Sprintf("%s, %s, by the %s: %s", r.File, display.When(r.At.Time, v.SiteNow, v.Site.Zone), r.By, r.Reason), Role: themes.Warning})
	}
	if f.LastFile != "" {
		add("last file", "%s, upload %s", f.LastFile, f.LastUploadID)
		add("", "the list of uploads has the outcome of each file")
	}
	return lines
}

// newGateways lists the gateways that send numbered batches.
func newGateways() *widget.Tab {
	l := widget.NewTab("gateways")
	l.Empty = "No gateway has sent data of this site. i makes a code with which one joins."
	l.Needs = func(view.Context) []state.Need {
		return []state.Need{{Query: state.QueryGateways, Period: 30 * time.Second}}
	}
	l.Status = func(v view.Context) widget.ValueStatus {
		return widget.StatusOf(v.Site.Gateways, v.Now, len(v.Site.Gateways.Data) == 0)
	}
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{{Title: "gateway", Width: 24, Min: 10, IDs: true}, {Title: "seen", Width: 14}, {Title: "newest data", Width: 14}, {Title: "to send", Width: 9, Right: true}, {Title: "refused", Width: 8, Right: true, Rank: 1}, {Title: "clock", Width: 14, Min: 12, Rank: 2}}
	}
	l.Rows = func(v view.Context) []widget.Row {
		rows := make([]widget.Row, 0, len(v.Site.Gateways.Data))
		for _, g := range v.Site.Gateways.Data {
			clock := widget.QuietText("right")
			if g.ClockWrong {
				clock = widget.Text(fmt.Sprintf("off by %s s", display.Significant(g.ClockOffsetS)))
				clock.Role = themes.Accent
			}
			newest := "-"
			if !g.LastPointAt.IsZero() {
				newest = display.When(g.LastPointAt.Time, v.SiteNow, v.Site.Zone)
			}
			rows = append(rows, widget.Row{ID: g.GatewayID + " " + g.Epoch, Sort: []any{g.GatewayID, g.LastSeenAt.String(), g.LastPointAt.String(), float64(g.Backlog), float64(g.Refused), g.ClockOffsetS}, Cells: []widget.Cell{
				widget.Text(g.GatewayID), widget.Text(display.When(g.LastSeenAt.Time, v.SiteNow, v.Site.Zone)), widget.Text(newest), widget.Text(fmt.Sprint(g.Backlog)), widget.QuietText(fmt.Sprint(g.Refused)), clock,
			}})
		}
		return rows
	}
	return l
}
