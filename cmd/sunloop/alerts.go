package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
)

// AlertsCmd prints the alerts.
type AlertsCmd struct {
	Site  string `help:"Only this site."`
	State string `enum:",unack,ack,rtn-unack,shelved,suppressed,cleared" default:"" help:"Only those in this state (unack, ack, rtn-unack, shelved, suppressed, cleared); without it all but cleared ones."`
	JSON  bool   `name:"json" help:"As JSON."`
	Service
}

// Run prints the alerts; exit status 1 when a critical one is unacknowledged.
func (c *AlertsCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return c.ask(ctx, g, func(cl *client.Client) error { return c.print(ctx, cl, std.out) })
}

func (c *AlertsCmd) print(ctx context.Context, cl *client.Client, out io.Writer) error {
	all := api.AlertsResponse{Success: true, Alerts: []api.Alert{}}
	for q := (api.ListQuery{SiteID: c.Site, Page: api.Page{Limit: api.MaxLimit}}); ; {
		part, err := cl.Alerts(ctx, q, c.State)
		if err != nil {
			return inWords(err)
		}
		all.Alerts, all.Counts = append(all.Alerts, part.Alerts...), part.Counts
		if q.Cursor = part.NextCursor; q.Cursor == "" {
			break
		}
	}
	all.Count = len(all.Alerts)
	if c.JSON {
		e := json.NewEncoder(out)
		e.SetIndent("", "  ")
		if err := e.Encode(all); err != nil {
			return err
		}
	} else {
		printAlerts(out, all)
	}
	if all.Counts.Unacknowledged[api.AlertCritical] > 0 {
		return exitStatus(1)
	}
	return nil
}

// alertStates in words.
var alertStates = map[string]string{
	api.AlertUnacknowledged: "not acknowledged", api.AlertAcknowledged: "acknowledged", api.AlertReturned: "over, not acknowledged",
	api.AlertShelved: "shelved", api.AlertSuppressed: "suppressed", api.AlertCleared: "cleared",
}

// printAlerts prints one line each, that reads well aloud.
func printAlerts(out io.Writer, all api.AlertsResponse) {
	for _, a := range all.Alerts {
		unit := a.AssetID
		if n := len(a.Metadata.AssetIDs); n > 0 {
			unit = fmt.Sprintf("%d units", n)
		}
		state := alertStates[a.State]
		switch {
		case a.State == api.AlertShelved:
			state += " until " + a.ShelvedUntil.String()
		case a.State == api.AlertSuppressed && !a.SuppressedTo.IsZero():
			state += " until " + a.SuppressedTo.String()
		case a.AcknowledgedBy != "":
			state += " by " + a.AcknowledgedBy
		}
		fmt.Fprintf(out, "%s: %s, %s, %s since %s, %.1f kW at risk, %s (%s)\n", a.AlertSeverity, a.SiteID, unit,
			strings.ReplaceAll(a.AlertType, "_", " "), a.Timestamp, a.EnergyAtRiskKW, state, a.AlertID)
	}
	var waiting []string
	for _, s := range api.AlertSeverities() {
		if n := all.Counts.Unacknowledged[s]; n > 0 {
			waiting = append(waiting, fmt.Sprintf("%d %s", n, s))
		}
	}
	if len(waiting) == 0 {
		waiting = []string{"none"}
	}
	fmt.Fprintf(out, "not acknowledged: %s; acknowledged: %d; shelved: %d; suppressed: %d\n", strings.Join(waiting, ", "), all.Counts.Acknowledged, all.Counts.Shelved, all.Counts.Suppressed)
}
