package plant

import (
	"cmp"
	"fmt"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// newBrokers lists the MQTT brokers to which devices publish.
func newBrokers() *widget.Tab {
	l := newSourcesTab("brokers", func(s api.SourcesResponse) int { return len(s.Brokers) })
	l.Empty = "This service receives no messages of devices. The sources file can have brokers: [[mqtt]]."
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{
			{Title: "broker", Width: 32, Min: 27, IDs: true}, {Title: "dialect", Width: 14}, {Title: "connection", Width: 13, Min: 13}, {Title: "messages", Width: 9, Right: true, Rank: 1},
			{Title: "refused", Width: 7, Right: true, Rank: 2}, {Title: "error", Min: 12, Rank: 3},
		}
	}
	l.Rows = func(v view.Context) []widget.Row {
		rows := make([]widget.Row, 0, len(v.Site.Sources.Data.Brokers))
		for _, b := range v.Site.Sources.Data.Brokers {
			connection, refused := widget.Text(brokerConnection(b)), 0
			if !b.Connected {
				connection.Role = themes.Accent
			}
			for _, n := range b.Refused {
				refused += n
			}
			rows = append(rows, widget.Row{ID: brokerID(b), Sort: []any{b.Address, b.Dialect, connection.Text, float64(b.Messages), float64(refused), b.Error}, Cells: []widget.Cell{
				widget.Text(b.Address), widget.Text(b.Dialect), connection, widget.QuietText(fmt.Sprint(b.Messages)), widget.QuietText(fmt.Sprint(refused)), widget.QuietText(cmp.Or(b.Error, "-")),
			}})
		}
		return rows
	}
	l.Detail = brokerDetail
	return l
}

// brokerID names a broker in lists: one address may have several dialects.
func brokerID(b api.SourceBroker) string { return b.Address + " " + b.Dialect }

// brokerConnection says whether there is a connection, and by which version of MQTT.
func brokerConnection(b api.SourceBroker) string {
	switch {
	case !b.Connected:
		return "not connected"
	case b.Version == "":
		return "connected"
	}
	return "MQTT " + b.Version
}

// brokerOf returns the broker to which a device publishes; nil if it does not.
func brokerOf(v view.Context, d *api.SourceDevice) *api.SourceBroker {
	return widget.Find(v.Site.Sources.Data.Brokers, func(b api.SourceBroker) bool {
		return b.Dialect == d.Protocol && strings.HasPrefix(d.Connection, b.Address+" as ")
	})
}

func brokerDetail(v view.Context, id string) []widget.Detail {
	b := widget.Find(v.Site.Sources.Data.Brokers, func(b api.SourceBroker) bool { return brokerID(b) == id })
	if b == nil {
		return nil
	}
	lines := []widget.Detail{{Heading: b.Address}}
	add := widget.FormatsOf(&lines)
	add("dialect", "%s", b.Dialect)
	add("connection", "%s", brokerConnection(*b))
	add("messages", "%d since the start of the service", b.Messages)
	if b.Error != "" {
		lines = append(lines, widget.Detail{Label: "last error", Text: b.Error, Role: themes.Warning})
	}
	for _, reason := range widget.SortedKeys(b.Refused) {
		add("not taken", "%s: %d", reason, b.Refused[reason])
	}
	if len(b.Others) > 0 {
		add("not configured", "%s", strings.Join(b.Others, ", "))
	}
	return lines
}
