package notify

import (
	"strings"
	"testing"
	"time"
)

// FuzzCalendar reads any text as a calendar, and what was read as a calendar again.
func FuzzCalendar(f *testing.F) {
	f.Add("BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;TZID=Europe/Vienna:20260616T080000\r\nDTEND:20260618T000000Z\r\nSUMMARY:Away\\, far\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n")
	f.Add("BEGIN:VCALENDAR\nBEGIN:VEVENT\nDTSTART;VALUE=DATE:20260616\nBEGIN:VALARM\nEND:VALARM\nEND:VEVENT\nEND:VCALENDAR")
	f.Add("begin:vcalendar\nBEGIN:VEVENT\nDTSTART:20260616T000000Z\nDTEND:20260617T000000Z\nSTATUS:CANCELLED\nEND:VEVENT")
	f.Fuzz(func(t *testing.T, text string) {
		list, err := ParseCalendar(text, "anna", time.UTC)
		if err != nil {
			return
		}
		var shifts []Shift
		for _, o := range list {
			if !o.To.After(o.From) {
				t.Fatalf("%s until %s", o.From, o.To)
			}
			shifts = append(shifts, Shift{o.Person, o.Reason, o.From, o.To})
		}
		out := Calendar(Rotation{ID: "r"}, shifts, nil, twoYears)
		for line := range strings.SplitSeq(out, "\r\n") {
			if len(line) > 75 {
				t.Fatalf("a line of %d bytes", len(line))
			}
		}
		again, err := ParseCalendar(out, "anna", time.UTC)
		if err != nil || len(again) != len(list) {
			t.Fatalf("%d events, read back %d: %v", len(list), len(again), err)
		}
	})
}
