package main

import (
	"context"
	"fmt"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/tui/plain"
	"app.sunloop/tui/view/widget"
)

// AlertsCmd prints the alerts.
type AlertsCmd struct {
	FactFlags
	ListFlags
	State    string `enum:",unack,ack,rtn-unack,shelved,suppressed,cleared" default:"" help:"Only alarms in this state: unack, ack, rtn-unack, shelved, suppressed, cleared (all except cleared)."`
	Severity string `enum:",critical,high,medium,low,journal,major,moderate,minor,normal" default:"" help:"Only alarms of this priority, as the table prints it [critical, high, medium, low, journal], or of this severity of the API: major, moderate, minor, normal."`
}

// Run prints the alerts; exit status 1 when a critical one is not
// acknowledged.
func (c *AlertsCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.report(ctx, g, std, func(ctx context.Context, f *facts) (bool, error) {
		all, counts, err := f.Alerts(ctx, c.State)
		if err != nil {
			return false, untold(err)
		}
		return list[plain.Sited[api.Alert]]{
			all: all,
			wanted: func(v plain.Sited[api.Alert]) bool {
				a := v.Fact
				var units []string
				if a.Metadata != nil {
					units = a.Metadata.AssetIDs
				}
				return c.matches(a.AlertType, a.AssetID, units) && (c.Severity == "" || a.AlertSeverity == c.Severity || widget.AlarmPriority(a.AlertSeverity) == c.Severity)
			},
			critical: func(v plain.Sited[api.Alert]) bool {
				return v.Fact.AlertSeverity == api.AlertCritical && plain.AlertOpen(v.Fact)
			},
			table: plain.Alerts,
			sum: func(wanted []plain.Sited[api.Alert]) string {
				if c.Family+c.Unit+c.Severity+c.State == "" {
					return alertSum(counts)
				}
				return count(len(wanted), "alert", "alerts") + " of these; of all, " + alertSum(counts)
			},
			json: func(listed []plain.Sited[api.Alert]) any {
				return api.AlertsResponse{Success: true, Alerts: plain.Facts(listed), Counts: &counts, Count: len(listed)}
			},
		}.print(f, c.Limit)
	})
}

// alertSum is how many alerts wait, in a line.
func alertSum(c api.AlertCounts) string {
	var waiting []string
	for _, s := range api.AlertSeverities() {
		if n := c.Unacknowledged[s]; n > 0 {
			waiting = append(waiting, fmt.Sprintf("%d %s", n, widget.AlarmPriority(s)))
		}
	}
	if len(waiting) == 0 {
		waiting = []string{"none"}
	}
	return fmt.Sprintf("not acknowledged: %s; acknowledged: %d; shelved: %d; suppressed: %d", strings.Join(waiting, ", "), c.Acknowledged, c.Shelved, c.Suppressed)
}
