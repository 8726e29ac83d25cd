package notification

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"app.sunloop/backend/api"
)

// Lists of the configuration are edited as one line of text: items between semicolons.

// items are the parts of a text between semicolons, without the empty ones.
func items(text string) []string {
	var out []string
	for part := range strings.SplitSeq(text, ";") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out
}

// stepsText writes steps of escalation: person:anna; 30 rotation:solar, channel:hook.
func stepsText(steps []api.NotificationStep) string {
	var out []string
	for _, s := range steps {
		text := strings.Join(s.To, ", ")
		if s.AfterMinutes > 0 {
			text = fmt.Sprintf("%d %s", s.AfterMinutes, text)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// parseSteps reads what stepsText writes. A recipient without a kind is the person, the
// rotation or the channel of that id.
func parseSteps(text string, c api.NotificationConfig) ([]api.NotificationStep, error) {
	var out []api.NotificationStep
	for _, part := range items(text) {
		s := api.NotificationStep{}
		first, rest, _ := strings.Cut(part, " ")
		if n, err := strconv.Atoi(first); err == nil {
			if n < 0 {
				return nil, fmt.Errorf("%q: minutes are a number from 0", part)
			}
			s.AfterMinutes, part = n, rest
		}
		for to := range strings.SplitSeq(part, ",") {
			to = strings.TrimSpace(to)
			switch {
			case to == "":
				continue
			case strings.Contains(to, " "):
				return nil, fmt.Errorf("%q: write recipients between commas, and steps between semicolons", to)
			case !strings.Contains(to, ":"):
				to = kindOf(to, c) + ":" + to
			}
			s.To = append(s.To, to)
		}
		if len(s.To) == 0 {
			return nil, fmt.Errorf("step %d has no recipient", len(out)+1)
		}
		out = append(out, s)
	}
	return out, nil
}

// kindOf is the kind of recipient that an id names: person if none is known.
func kindOf(id string, c api.NotificationConfig) string {
	switch {
	case slices.ContainsFunc(c.People, func(p api.NotificationPerson) bool { return p.PersonID == id }):
	case slices.ContainsFunc(c.Rotations, func(r api.NotificationRotation) bool { return r.RotationID == id }):
		return api.NotificationRotationKind
	case slices.ContainsFunc(c.Channels, func(ch api.NotificationChannel) bool { return ch.ChannelID == id }):
		return api.NotificationChannelKind
	}
	return api.NotificationPersonKind
}

var weekdays = []string{"mon", "tue", "wed", "thu", "fri", "sat", "sun"}

// hoursText writes hours: mon-fri 08:00-17:00; 22:00-06:00.
func hoursText(list []api.NotificationHours) string {
	var out []string
	for _, h := range list {
		text := h.From + "-" + h.To
		if len(h.Days) > 0 {
			text = daysText(h.Days) + " " + text
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// daysText writes days of the week, a run of three and more as mon-fri.
func daysText(days []string) string {
	n := len(days)
	from := slices.Index(weekdays, days[0])
	if n >= 3 && from >= 0 && from+n <= len(weekdays) && slices.Equal(days, weekdays[from:from+n]) {
		return days[0] + "-" + days[n-1]
	}
	return strings.Join(days, ",")
}

// parseHours reads what hoursText writes.
func parseHours(text string) ([]api.NotificationHours, error) {
	var out []api.NotificationHours
	for _, part := range items(text) {
		words := strings.Fields(strings.ReplaceAll(strings.ToLower(part), ", ", ","))
		h := api.NotificationHours{}
		if len(words) == 2 {
			for day := range strings.SplitSeq(words[0], ",") {
				first, last, isRun := strings.Cut(day, "-")
				from, to := slices.Index(weekdays, first), slices.Index(weekdays, last)
				if !isRun {
					to = from
				}
				if from < 0 || to < from {
					return nil, fmt.Errorf("%q: days are mon to sun, such as mon-fri or sat,sun", day)
				}
				h.Days = append(h.Days, weekdays[from:to+1]...)
			}
			words = words[1:]
		}
		if len(words) != 1 {
			return nil, fmt.Errorf("%q: hours are written as mon-fri 08:00-17:00", part)
		}
		var ok bool
		if h.From, h.To, ok = strings.Cut(words[0], "-"); !ok {
			return nil, fmt.Errorf("%q: hours are written as 22:00-06:00", part)
		}
		out = append(out, h)
	}
	return out, nil
}

// addressesText writes addresses of a person: mail anna@example.com; push; sms +43660123 critical.
func addressesText(list []api.NotificationAddress) string {
	var out []string
	for _, a := range list {
		out = append(out, strings.Join(strings.Fields(a.ChannelID+" "+a.Address+" "+a.Priority), " "))
	}
	return strings.Join(out, "; ")
}

// parseAddresses reads what addressesText writes.
func parseAddresses(text string) ([]api.NotificationAddress, error) {
	var out []api.NotificationAddress
	for _, part := range items(text) {
		words := strings.Fields(part)
		a := api.NotificationAddress{ChannelID: words[0]}
		words = words[1:]
		if n := len(words); n > 0 && slices.Contains(api.AlertSeverities(), words[n-1]) {
			a.Priority, words = words[n-1], words[:n-1]
		}
		switch len(words) {
		case 0:
		case 1:
			a.Address = words[0]
		default:
			return nil, fmt.Errorf("%q: an address is written as mail anna@example.com, with a priority after it if only urgent alarms are sent to it", part)
		}
		out = append(out, a)
	}
	return out, nil
}
