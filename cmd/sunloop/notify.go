package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/tui/plain"
)

// NotifyCmd tests and explains notifications.
type NotifyCmd struct {
	Test     NotifyTestCmd     `cmd:"" help:"Send a test message to a person or a channel, and print the result of each address."`
	Explain  NotifyExplainCmd  `cmd:"" help:"Print the notifications of an alarm: recipients, and why any were held or suppressed."`
	Simulate NotifySimulateCmd `cmd:"" help:"Print who would be notified if an alarm were raised."`
	OnCall   NotifyOnCallCmd   `cmd:"" name:"on-call" help:"Print who is on call."`
	Absences NotifyAbsencesCmd `cmd:"" help:"Read the absences of a person in a rotation from an iCalendar file."`
}

// NotifyFlags are the flags of all commands of notifications.
type NotifyFlags struct {
	Customer string `help:"Customer that the configuration belongs to (the operator of the service)."`
	JSON     bool   `name:"json" help:"Print JSON in the format of the API."`
	RemoteFlags
}

// call makes one request, and prints its response as JSON or by print.
func (f NotifyFlags) call(ctx context.Context, g *Globals, std streams, e api.Endpoint[api.NotificationsRequest, api.NotificationsResponse], r api.NotificationsRequest,
	print func(*api.NotificationsResponse) error) error {
	r.CustomerID = f.Customer
	return FactFlags{RemoteFlags: f.RemoteFlags}.ask(ctx, g, WorkFlags{}, func(c *client.Client) error {
		out, err := client.Call(ctx, c, e, r)
		if err != nil {
			return &failure{statusUntold, clientError(err)}
		}
		if f.JSON {
			return json.NewEncoder(std.out).Encode(out)
		}
		return print(out)
	})
}

// NotifyTestCmd sends a test message.
type NotifyTestCmd struct {
	NotifyFlags
	Person  string `xor:"to" required:"" help:"Person to whom the message is sent, at each address."`
	Channel string `xor:"to" required:"" help:"Channel to whose own address the message is sent."`
}

// Run sends the message; exit status 1 if an address did not take it.
func (c *NotifyTestCmd) Run(ctx context.Context, g *Globals, std streams) error {
	failed := false
	err := c.call(ctx, g, std, api.TestNotification, api.NotificationsRequest{PersonID: c.Person, ChannelID: c.Channel}, func(r *api.NotificationsResponse) error {
		t := plain.NewTable("channel", "kind", "address", "result", "detail")
		for _, v := range r.Results {
			result, detail := "delivered", v.Detail
			if !v.Delivered {
				result, detail, failed = "failed", v.Failure, true
			}
			t.Add(v.ChannelID, v.Kind, v.Address, result, detail)
		}
		return t.Write(std.out, "")
	})
	if err == nil && failed {
		return exitStatus(1)
	}
	return err
}

// NotifyExplainCmd explains the notifications of an alarm.
type NotifyExplainCmd struct {
	NotifyFlags
	Alert  string `arg:"" help:"Id of the alarm, as sunloop alerts --json prints it."`
	Person string `help:"Only messages to this person."`
}

// Run prints deliveries and decisions.
func (c *NotifyExplainCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return c.call(ctx, g, std, api.ExplainNotification, api.NotificationsRequest{AlertID: c.Alert, PersonID: c.Person}, func(r *api.NotificationsResponse) error {
		return printNotifications(std, r)
	})
}

// NotifySimulateCmd simulates an alarm.
type NotifySimulateCmd struct {
	NotifyFlags
	Site     string `required:"" help:"Site of the alarm."`
	Unit     string `help:"Unit of the alarm."`
	Family   string `default:"inverter_outage" help:"Family of the fault."`
	Priority string `enum:"critical,major,moderate,minor,normal" default:"major" help:"Priority of the alarm: critical, major, moderate, minor, normal."`
	At       string `placeholder:"TIME" help:"Time of the alarm, ISO 8601, UTC without an offset (now)."`
}

// Run prints the messages of two days in which no person acknowledges the alarm.
func (c *NotifySimulateCmd) Run(ctx context.Context, g *Globals, std streams) error {
	r := api.NotificationsRequest{SiteID: c.Site, AssetID: c.Unit, Family: c.Family, Priority: c.Priority}
	if c.At != "" {
		at, err := api.ParseTime(c.At, time.UTC)
		if err != nil {
			return wrong("--at: %v", err)
		}
		r.At = at
	}
	return c.call(ctx, g, std, api.SimulateNotification, r, func(r *api.NotificationsResponse) error { return printNotifications(std, r) })
}

// printNotifications prints messages, and what routes do.
func printNotifications(std streams, r *api.NotificationsResponse) error {
	t := plain.NewTable("time", "to", "channel", "status", "message", "reason")
	for _, d := range r.Deliveries {
		reason := d.Reason
		if !d.Until.IsZero() {
			reason += ", until " + d.Until.String()
		}
		if d.Failure != "" {
			reason = fmt.Sprintf("%s (attempt %d)", d.Failure, d.Attempts)
		}
		t.Add(d.PlannedAt.String(), d.Recipient, strings.TrimSpace(d.ChannelID+" "+d.Address), d.Status, d.Title, reason)
	}
	if len(r.Deliveries) == 0 {
		fmt.Fprintln(std.out, "No messages.")
	} else if err := t.Write(std.out, ""); err != nil {
		return err
	}
	if len(r.Decisions) == 0 {
		fmt.Fprintln(std.out, "No routes.")
		return nil
	}
	fmt.Fprintln(std.out)
	t = plain.NewTable("route", "selects", "reason")
	for _, d := range r.Decisions {
		selects := "no"
		if d.Selects {
			selects = "yes"
		}
		t.Add(d.RouteID, selects, d.Reason)
	}
	return t.Write(std.out, "")
}

// NotifyOnCallCmd prints who is on call.
type NotifyOnCallCmd struct {
	NotifyFlags
	Rotation string `help:"Only this rotation."`
	Days     int    `default:"28" help:"Days from now, 1 to 400."`
	ICal     bool   `name:"ical" help:"Print iCalendar; it requires --rotation."`
}

// Run prints the shifts from now on.
func (c *NotifyOnCallCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if c.Days < 1 || c.Days > 400 {
		return wrong("--days: invalid value %d: a whole number from 1 to 400", c.Days)
	}
	now := time.Now().UTC()
	r := api.NotificationsRequest{RotationID: c.Rotation, From: api.At(now), To: api.At(now.AddDate(0, 0, c.Days))}
	if c.ICal {
		if c.Rotation == "" {
			return wrong("--ical requires --rotation")
		}
		return c.call(ctx, g, std, api.ExportOnCall, r, func(r *api.NotificationsResponse) error {
			_, err := fmt.Fprint(std.out, r.Calendar)
			return err
		})
	}
	return c.call(ctx, g, std, api.ListOnCall, r, func(r *api.NotificationsResponse) error {
		if len(r.Shifts) == 0 {
			fmt.Fprintln(std.out, "No shifts.")
			return nil
		}
		t := plain.NewTable("rotation", "person", "from", "to", "reason")
		for _, s := range r.Shifts {
			t.Add(s.RotationID, s.PersonID, s.From.String(), s.To.String(), s.Reason)
		}
		return t.Write(std.out, "")
	})
}

// NotifyAbsencesCmd reads absences from a calendar.
type NotifyAbsencesCmd struct {
	NotifyFlags
	File     string `arg:"" type:"existingfile" help:"iCalendar file; its events replace the absences of the person."`
	Rotation string `required:"" help:"Rotation whose absences are replaced."`
	Person   string `required:"" help:"Person who is absent."`
}

// Run sends the calendar, and prints how many absences it has.
func (c *NotifyAbsencesCmd) Run(ctx context.Context, g *Globals, std streams) error {
	b, err := os.ReadFile(c.File)
	if err != nil {
		return &failure{statusUsage, err}
	}
	return c.call(ctx, g, std, api.ImportAbsences, api.NotificationsRequest{RotationID: c.Rotation, PersonID: c.Person, Calendar: string(b)}, func(r *api.NotificationsResponse) error {
		_, err := fmt.Fprintf(std.out, "%s of %s in rotation %s\n", count(r.Count, "absence", "absences"), c.Person, c.Rotation)
		return err
	})
}
