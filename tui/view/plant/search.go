package plant

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// Names of tabs of the sources.
const (
	searchTab   = "search"
	gatewaysTab = "gateways"
)

// newSearch shows the search for devices: how far it is, and what it found.
func newSearch() *widget.Tab {
	l := widget.NewTab(searchTab)
	l.Empty = "Nothing was searched yet. d searches an address or a private network for devices; they are only read."
	l.Needs = func(v view.Context) []state.Need {
		period := 30 * time.Second
		if v.Site.Discovery.Data.State == api.DiscoveryRunning {
			period = 2 * time.Second
		}
		return []state.Need{{Query: state.QueryDiscovery, Period: period}}
	}
	l.Status = func(v view.Context) widget.ValueStatus {
		return widget.StatusOf(v.Site.Discovery, v.Now, v.Site.Discovery.Data.State == "")
	}
	l.Head = drawSearch
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{
			{Title: "device", Width: 18, Min: 10, IDs: true}, {Title: "kind", Width: 9}, {Title: "manufacturer", Width: 14, Rank: 3}, {Title: "model", Min: 10, Width: 16, Rank: 2},
			{Title: "rating", Width: 9, Right: true}, {Title: "power", Width: 9, Right: true, Rank: 1}, {Title: "address", Min: 14, Width: 24, Rank: 4}, {Title: "unit", Width: 4, Right: true}, {Title: "read", Width: 9},
		}
	}
	l.Rows = func(v view.Context) []widget.Row {
		rows := make([]widget.Row, 0, len(v.Site.Discovery.Data.Devices))
		for _, d := range v.Site.Discovery.Data.Devices {
			power, rating, is := math.NaN(), math.NaN(), widget.QuietText("no")
			if d.PowerW != nil {
				power = *d.PowerW / 1000
			}
			if d.RatingKW > 0 {
				rating = d.RatingKW
			}
			switch {
			case d.Added:
				is = widget.Text("yes")
			case !d.Readable:
				is = widget.QuietText("not able")
			}
			rows = append(rows, widget.Row{ID: d.AssetID, Sort: []any{d.AssetID, d.Kind, d.Manufacturer, d.Model, rating, power, d.Address, float64(d.Unit), is.Text}, Cells: []widget.Cell{
				widget.Text(d.AssetID), widget.QuietText(d.Kind), widget.QuietText(cmp.Or(d.Manufacturer, "-")), widget.QuietText(cmp.Or(d.Model, "-")), widget.Text(display.Power(rating)), widget.Text(display.Power(power)),
				widget.QuietText(strings.TrimPrefix(d.Address, "tcp://")), widget.QuietText(strconv.Itoa(d.Unit)), is,
			}})
		}
		return rows
	}
	l.Detail = foundDetail
	return l
}

// drawSearch draws how far the search is.
func drawSearch(r terminal.Region, v view.Context, _ string) int {
	d := v.Site.Discovery.Data
	w, h := r.Size()
	if d.State == "" || h < 3 {
		return 0
	}
	text, role := fmt.Sprintf("%s: %s, %d of %s, %s", strings.Join(d.Targets, " "), d.State, d.Searched, display.CountOf(d.Addresses, "address", "addresses"), display.CountOf(len(d.Devices), "device", "devices")), themes.Text
	if d.Units != "" {
		text += ", unit ids " + d.Units
	}
	switch {
	case d.State == api.DiscoveryRunning && d.At != "":
		text += ". Now " + strings.TrimPrefix(d.At, "tcp://")
		if d.AtUnit >= 0 {
			text += fmt.Sprintf(", unit %d", d.AtUnit)
		}
	case d.Error != "":
		text, role = text+". "+d.Error, themes.Warning
	case len(d.Missed) > 0 && len(d.Devices) == 0:
		text += ". " + d.Missed[0]
	}
	return min(v.Paragraph(r.Region(terminal.Rect{W: w, H: 2}), 0, 0, terminal.Printable(text)+".", role), 2)
}

func foundDetail(v view.Context, id string) []widget.Detail {
	d := widget.Find(v.Site.Discovery.Data.Devices, func(d api.FoundDevice) bool { return d.AssetID == id })
	if d == nil {
		return nil
	}
	lines := []widget.Detail{{Heading: cmp.Or(strings.TrimSpace(d.Manufacturer+" "+d.Model), d.AssetID)}}
	add := widget.FormatsOf(&lines)
	add("unit", "%s, named by %s", d.AssetID, map[bool]string{true: "its serial number", false: "its address"}[d.Serial != ""])
	add("connection", "%s unit %d", d.Address, d.Unit)
	if d.Version != "" {
		add("version", "%s", d.Version)
	}
	if d.Map != "" {
		add("map", "%s", d.Map)
	} else {
		add("models", "%s", strings.Trim(strings.Join(strings.Fields(fmt.Sprint(d.Models)), ", "), "[]"))
	}
	switch {
	case d.Added:
		add("read", "from now on: see the devices")
	case d.Readable:
		add("read", "not yet: c adds it")
	default:
		add("read", "it has nothing that Sunloop reads")
	}
	return lines
}

// whyNotSource says why an action of the screen is not possible.
func whyNotSource(l *widget.Tab, a keymap.Action, v view.Context) string {
	d := v.Site.Discovery.Data
	switch a {
	case keymap.SearchDevices:
		if !v.Site.Sources.Data.Reads {
			return "this service does not read devices of the site: start it with --sources"
		}
	case keymap.StopSearch:
		if d.State != api.DiscoveryRunning {
			return "no search is running"
		}
	case keymap.AddDevice, keymap.AddDevices:
		found := widget.Find(d.Devices, func(f api.FoundDevice) bool { return f.AssetID == l.List.Current() })
		switch {
		case l.Name != searchTab || len(d.Devices) == 0:
			return "no device was found: search first"
		case a == keymap.AddDevice && found == nil:
			return "no device is selected"
		case a == keymap.AddDevice && found.Added:
			return "the device is read already"
		case a == keymap.AddDevice && !found.Readable:
			return "the device has nothing that Sunloop reads"
		}
	case keymap.RevokeGateway:
		if l.Name != gatewaysTab || gatewayOf(v, l.List.Current()) == nil {
			return "no gateway is selected"
		}
	}
	return ""
}

// manageSource does an action of the screen.
func manageSource(l *widget.Tab, a keymap.Action, v view.Context) view.Request {
	ask := api.GatewaysRequest{CustomerID: v.Site.CustomerID, SiteID: v.Site.SiteID}
	switch a {
	case keymap.SearchDevices:
		return view.OpenDialog{Dialog: NewSearchForm(ask)}
	case keymap.StopSearch:
		return view.Call{Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
			r, err := client.Call(ctx, c, api.StopDiscovery, ask)
			return searchResult(r, err, "The search has ended.")
		}}
	case keymap.AddDevice, keymap.AddDevices:
		if a == keymap.AddDevice {
			ask.AssetIDs = []string{l.List.Current()}
		}
		return view.Call{Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
			r, err := client.Call(ctx, c, api.AddDevices, ask)
			if err != nil {
				return view.Result{}, err
			}
			done, err := searchResult(r, nil, display.CountOf(r.NewDevices, "device is", "devices are")+" read from now on.")
			done.Refresh = append(done.Refresh, state.QuerySources, state.QueryAssets)
			return done, err
		}}
	case keymap.InviteGateway:
		return view.OpenDialog{Dialog: NewInvite(ask)}
	case keymap.RevokeGateway:
		if g := gatewayOf(v, l.List.Current()); g != nil {
			return view.OpenDialog{Dialog: NewGatewayRevoke(*g)}
		}
	}
	return nil
}

// searchResult shows what the service says of the search.
func searchResult(r *api.DiscoveryResponse, err error, notice string) (view.Result, error) {
	if err != nil {
		return view.Result{}, err
	}
	return view.Result{Notice: view.Notice(notice), Refresh: []state.Query{state.QueryDiscovery}, Apply: func(s *state.Site) { s.Discovery.Data = *r }}, nil
}

// NewSearchForm asks where devices are searched for.
func NewSearchForm(ask api.GatewaysRequest) *widget.FieldsForm {
	d := &widget.FieldsForm{Heading: "Search for devices", Verb: "search", Rows: 10, Intro: "Devices with SunSpec or a map of Sunloop, over Modbus. They are only read, one connection at a time, with pauses.",
		ServerForm: widget.ServerForm{Names: []string{"targets", "units", "port"}, Form: widget.Form{Fields: []widget.Field{
			widget.NewField("Where", "192.168.1.10, 192.168.1.0/24 or rtu:///dev/ttyUSB0", ""),
			widget.NewField("Unit ids", "as 1-20,126; empty: the usual ones", ""),
			widget.NewField("Port", "of addresses without one", "502"),
		}}}, Note: "Private addresses and serial ports, at most 256 addresses."}
	d.Accept = func() view.Request {
		port, err := strconv.Atoi(d.Value("port"))
		if err != nil {
			d.Refuse(2, "The port is a number from 1 to 65535.")
			return nil
		}
		r := ask
		r.Targets, r.Units, r.Port = strings.FieldsFunc(d.Value("targets"), func(c rune) bool { return c == ' ' || c == ',' }), d.Value("units"), port
		if len(r.Targets) == 0 {
			d.Refuse(0, "Name an address, a network or a serial port.")
			return nil
		}
		d.Busy, d.Wrong = true, ""
		return view.Call{From: d, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
			answer, err := client.Call(ctx, c, api.DiscoverDevices, r)
			return searchResult(answer, err, "The search has begun: see the tab search.")
		}}
	}
	return d
}

// NewInvite asks for a gateway that may join, and shows its code once.
func NewInvite(ask api.GatewaysRequest) *widget.FieldsForm {
	d := &widget.FieldsForm{Heading: "Invite a gateway", Verb: "invite", Rows: 9, Intro: "A code with which one gateway joins " + ask.SiteID + ". It gets a key that writes the telemetry of this site and does nothing else.",
		ServerForm: widget.ServerForm{Names: []string{"name", "lifetime_minutes"}, Form: widget.Form{Fields: []widget.Field{
			widget.NewField("Name", "of the gateway and its key", ""),
			widget.NewField("Valid for", "minutes, at most "+strconv.Itoa(api.MaxJoinMinutes), strconv.Itoa(api.DefaultJoinMinutes)),
		}}}}
	d.Accept = func() view.Request {
		minutes, err := strconv.Atoi(d.Value("lifetime_minutes"))
		if err != nil {
			d.Refuse(1, "The time is a whole number of minutes.")
			return nil
		}
		r := ask
		r.Name, r.LifetimeMinutes = d.Value("name"), &minutes
		d.Busy, d.Wrong = true, ""
		return view.Call{From: d, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
			answer, err := c.InviteGateway(ctx, r)
			if err != nil {
				return view.Result{}, err
			}
			return view.Result{Refresh: []state.Query{state.QueryGateways}, Open: widget.NewJoinCode(r.Name, "sunloop gateway join "+joinAddress(c.BaseURL()), answer.ExpiresAt.String(), answer.Code)}, nil
		}}
	}
	return d
}

// joinAddress is the address that a gateway joins. A console without a network has none.
func joinAddress(base string) string {
	if strings.HasPrefix(base, "https://") || strings.HasPrefix(base, "http://") {
		return strings.TrimRight(base, "/")
	}
	return "https://ADDRESS-OF-THIS-SERVICE"
}

func gatewayOf(v view.Context, id string) *api.GatewayRecord {
	return widget.Find(v.Site.Gateways.Data, func(g api.GatewayRecord) bool { return g.GatewayID+" "+g.Epoch == id })
}

// NewGatewayRevoke asks whether the key of a gateway is to end.
func NewGatewayRevoke(g api.GatewayRecord) *widget.Confirm {
	d := &widget.Confirm{
		Heading: "Revoke a gateway", No: "Keep it", Yes: "Revoke",
		Question: "Revoke the key " + g.APIKeyID + " of the gateway " + terminal.Printable(g.GatewayID) + "? What it sends is refused from now on; it keeps its data. It can join again with a new code.",
		Send: func(from view.Caller) view.Request {
			return view.Call{From: from, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
				if _, err := c.RevokeKey(ctx, g.APIKeyID); err != nil {
					return view.Result{}, err
				}
				return view.Result{Notice: view.Notice("The key of the gateway " + terminal.Printable(g.GatewayID) + " is revoked."), Refresh: []state.Query{state.QueryGateways, state.QueryKeys}}, nil
			}}
		},
	}
	if g.APIKeyID == "" {
		d.Settled = "The service does not know the key of this gateway."
	}
	return d
}
