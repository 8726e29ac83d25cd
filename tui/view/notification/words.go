package notification

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

func itoa(n int) string { return strconv.Itoa(n) }

// onOff is whether an item is used.
func onOff(disabled bool) widget.Cell {
	if disabled {
		return widget.Cell{Text: "disabled", Role: themes.Notice}
	}
	return widget.Cell{Text: "in use", Role: themes.Dim}
}

// selection writes which alarms a route selects.
func selection(r api.NotificationRoute) string {
	parts := []string{widget.AlarmPriority(cmp.Or(r.Priority, api.AlertModerate)) + " and above"}
	for _, one := range []struct {
		what string
		ids  []string
	}{{"customers", r.CustomerIDs}, {"sites", r.SiteIDs}} {
		if len(one.ids) > 0 {
			parts = append(parts, one.what+" "+strings.Join(one.ids, ", "))
		}
	}
	var families []string
	for _, f := range r.Families {
		families = append(families, widget.Family(f))
	}
	if len(families) > 0 {
		parts = append(parts, strings.Join(families, ", "))
	}
	if r.MinKW > 0 {
		parts = append(parts, "from "+display.Power(r.MinKW))
	}
	if r.MinKWh > 0 {
		parts = append(parts, "from "+display.Energy(r.MinKWh)+" lost")
	}
	if r.MinMoney > 0 {
		parts = append(parts, "from "+display.Significant(r.MinMoney)+" a day")
	}
	if len(r.Hours) > 0 {
		parts = append(parts, withZone(hoursText(r.Hours), r.Timezone))
	}
	return strings.Join(parts, "; ")
}

// withZone adds a time zone to hours; empty without hours.
func withZone(hours, zone string) string {
	if hours == "" {
		return ""
	}
	return hours + " " + cmp.Or(zone, "UTC")
}

// recipientWords writes a recipient: the name of a person, else its kind and id.
func recipientWords(c api.NotificationConfig, to string) string {
	kind, id, ok := strings.Cut(to, ":")
	switch {
	case !ok:
		return to
	case kind == api.NotificationPersonKind:
		return personName(c, id)
	}
	return kind + " " + id
}

func personName(c api.NotificationConfig, id string) string {
	if p := widget.Find(c.People, func(p api.NotificationPerson) bool { return p.PersonID == id }); p != nil {
		return cmp.Or(p.Name, id)
	}
	return id
}

func recipients(c api.NotificationConfig, to []string) string {
	var out []string
	for _, one := range to {
		out = append(out, recipientWords(c, one))
	}
	return strings.Join(out, ", ")
}

// stepsWords writes the steps of a route in one line.
func stepsWords(c api.NotificationConfig, r api.NotificationRoute) string {
	var out []string
	for _, s := range r.Steps {
		text := recipients(c, s.To)
		if s.AfterMinutes > 0 {
			text = fmt.Sprintf("after %d min %s", s.AfterMinutes, text)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

func stepWords(c api.NotificationConfig, n int, s api.NotificationStep) string {
	switch {
	case s.AfterMinutes == 0:
		return recipients(c, s.To) + ", at once"
	case n == 0:
		return fmt.Sprintf("%s, %d min after the alarm", recipients(c, s.To), s.AfterMinutes)
	}
	return fmt.Sprintf("%s, %d min later, unless acknowledged", recipients(c, s.To), s.AfterMinutes)
}

// repeatWords says how the last step repeats.
func repeatWords(r api.NotificationRoute) string {
	minutes := r.RepeatMinutes
	if n := len(r.Steps); minutes == 0 && n > 0 {
		minutes = r.Steps[n-1].AfterMinutes
	}
	if minutes <= 0 {
		return "the last step does not repeat"
	}
	return fmt.Sprintf("the last step repeats every %d min until acknowledged", minutes)
}

func secretWords(c api.NotificationChannel) string {
	switch {
	case c.HasURL && c.HasSecret:
		return "URL and secret"
	case c.HasURL:
		return "URL"
	case c.HasSecret:
		return "secret"
	case c.Kind == "email":
		return "mail server"
	}
	return "none"
}

func addressWords(a api.NotificationAddress) string {
	text := cmp.Or(a.Address, "the address of the channel")
	if a.Priority != "" {
		text += ", from " + widget.AlarmPriority(a.Priority)
	}
	return text
}

func changedWords(v view.Context, at api.Time, by string, version int) string {
	if at.IsZero() {
		return ""
	}
	text := display.When(at.Time, v.Now, v.Zone())
	if by != "" {
		text += " by " + by
	}
	return fmt.Sprintf("%s, version %d", text, version)
}
