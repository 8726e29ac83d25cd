package notify

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// icalUTC and icalLocal are the forms of times in RFC 5545.
const (
	icalUTC   = "20060102T150405Z"
	icalLocal = "20060102T150405"
	icalDate  = "20060102"
)

// Calendar returns the shifts of a rotation as iCalendar (RFC 5545). now is the time at
// which it was made.
func Calendar(r Rotation, shifts []Shift, names map[string]string, now time.Time) string {
	var b strings.Builder
	line := func(text string) {
		// Lines have at most 75 bytes; a continued line begins with a space.
		for len(text) > 74 {
			cut := 74
			for cut > 1 && !utf8.RuneStart(text[cut]) {
				cut--
			}
			b.WriteString(text[:cut] + "\r\n")
			text = " " + text[cut:]
		}
		b.WriteString(text + "\r\n")
	}
	line("BEGIN:VCALENDAR")
	line("VERSION:2.0")
	line("PRODID:-//Sunloop//On call//EN")
	line("NAME:" + escapeText(nameOr(r.Name, r.ID)))
	for _, s := range shifts {
		sum := sha256.Sum256([]byte(r.ID + "\x00" + s.Person + "\x00" + s.From.UTC().Format(icalUTC)))
		line("BEGIN:VEVENT")
		line("UID:" + hex.EncodeToString(sum[:16]) + "@sunloop")
		line("DTSTAMP:" + now.UTC().Format(icalUTC))
		line("DTSTART:" + s.From.UTC().Format(icalUTC))
		line("DTEND:" + s.To.UTC().Format(icalUTC))
		line("SUMMARY:" + escapeText("On call: "+nameOr(names[s.Person], s.Person)))
		line("DESCRIPTION:" + escapeText(s.Why))
		line("END:VEVENT")
	}
	line("END:VCALENDAR")
	return b.String()
}

func nameOr(name, id string) string {
	if name == "" {
		return id
	}
	return name
}

var textEscapes = strings.NewReplacer(`\`, `\\`, ";", `\;`, ",", `\,`, "\r\n", `\n`, "\n", `\n`, "\r", "")

func escapeText(text string) string { return textEscapes.Replace(text) }

var textUnescapes = strings.NewReplacer(`\\`, `\`, `\;`, ";", `\,`, ",", `\n`, " ", `\N`, " ")

// maxAbsences bounds the events of a calendar.
const maxAbsences = 1000

// ParseCalendar reads the events of an iCalendar text as absences of a person. Times
// without a zone, and dates, are in zone. Cancelled events are left out; recurring events
// are refused, because their times would be guessed.
func ParseCalendar(text, person string, zone *time.Location) (list []Override, err error) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	text = strings.NewReplacer("\n ", "", "\n\t", "").Replace(text)
	if first, _, _ := strings.Cut(strings.TrimSpace(text), "\n"); !strings.EqualFold(strings.TrimSpace(first), "BEGIN:VCALENDAR") {
		return nil, fmt.Errorf("read calendar: it does not begin with BEGIN:VCALENDAR")
	}
	var event *Override
	cancelled, days, number, nested := false, 0, 0, 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		name, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if !ok {
			continue
		}
		key, parameters, _ := strings.Cut(name, ";")
		key = strings.ToUpper(key)
		switch {
		case key == "BEGIN" && strings.EqualFold(value, "VEVENT"):
			event, cancelled, days = &Override{Person: person}, false, 0
			continue
		case event == nil:
			continue
		case key == "BEGIN":
			nested++ // such as an alarm
			continue
		case key == "END" && nested > 0:
			nested--
			continue
		case nested > 0:
			continue
		}
		switch key {
		case "DTSTART", "DTEND":
			at, date, err := icalTime(parameters, value, zone)
			if err != nil {
				return nil, fmt.Errorf("read calendar: line %d: %w", number, err)
			}
			if key == "DTEND" {
				event.To = at
				continue
			}
			event.From = at
			if date {
				days = 1
			}
		case "DURATION":
			return nil, fmt.Errorf("read calendar: line %d: DURATION is not supported; use DTEND", number)
		case "RRULE", "RDATE":
			return nil, fmt.Errorf("read calendar: line %d: recurring events are not supported", number)
		case "STATUS":
			cancelled = strings.EqualFold(value, "CANCELLED")
		case "SUMMARY":
			event.Reason = clip(textUnescapes.Replace(value), 200)
		case "END":
			if event.To.IsZero() && !event.From.IsZero() {
				event.To = event.From.AddDate(0, 0, days)
			}
			if event.From.IsZero() || !event.To.After(event.From) {
				return nil, fmt.Errorf("read calendar: line %d: the event has no times, or ends before it begins", number)
			}
			if !cancelled {
				list = append(list, *event)
			}
			if event = nil; len(list) > maxAbsences {
				return nil, fmt.Errorf("read calendar: it has more than %d events", maxAbsences)
			}
		}
	}
	return list, nil
}

// clip cuts a text to a number of characters.
func clip(text string, most int) string {
	n := 0
	for i := range text {
		if n == most {
			return text[:i]
		}
		n++
	}
	return text
}

// icalTime reads a time: in UTC, in the zone of its parameters, or in zone. date reports
// that it has no time of day.
func icalTime(parameters, value string, zone *time.Location) (at time.Time, date bool, err error) {
	for p := range strings.SplitSeq(parameters, ";") {
		key, name, _ := strings.Cut(p, "=")
		if strings.EqualFold(key, "TZID") {
			name = strings.Trim(name, `"`)
			if zone, err = time.LoadLocation(name); err != nil || name == "" || name == "Local" {
				return at, false, fmt.Errorf("time zone %q is not an IANA name", name)
			}
		}
	}
	for _, layout := range []string{icalUTC, icalLocal, icalDate} {
		if at, err = time.ParseInLocation(layout, value, zone); err == nil {
			if y := at.UTC().Year(); y < 1970 || y > 9998 {
				return at, false, fmt.Errorf("%q is not within the years 1970 to 9998", value)
			}
			return at.UTC(), layout == icalDate, nil
		}
	}
	return at, false, fmt.Errorf("%q is not a time of RFC 5545", value)
}
