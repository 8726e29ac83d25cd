package ingest

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseStamp(t *testing.T) {
	const local = -1 // no offset written
	var days wallClock
	for cell, want := range map[string]struct {
		text   string // with the day first where that is open
		offset int
	}{
		"2024-06-15T04:00:00Z":                {"2024-06-15 04:00:00", 0},
		"2024-06-15 04:00:00+02:00":           {"2024-06-15 04:00:00", 7200},
		"2024-06-15T04:00:00.250-0730":        {"2024-06-15 04:00:00", -27000},
		"2024-06-01 00:00:00 CEST+0200":       {"2024-06-01 00:00:00", 7200},
		"2024-06-01 00:00:00 MESZ":            {"2024-06-01 00:00:00", 7200},
		"2024-06-01 00:00 UTC+5":              {"2024-06-01 00:00:00", 18000},
		"2024-06-01T00:00+10:00[Australia]":   {"2024-06-01 00:00:00", 36000},
		"18.05.2024 06:15":                    {"2024-05-18 06:15:00", local},
		"3/4/24 6:15":                         {"2024-04-03 06:15:00", local},
		"6/14/2024 12:00 PM":                  {"", local},
		"14/6/2024 12:00 PM":                  {"2024-06-14 12:00:00", local},
		"14/6/2024 12:30 a.m.":                {"2024-06-14 00:30:00", local},
		"14/6/2024 1:05:09 p. m.":             {"2024-06-14 13:05:09", local},
		"2022/07/01 24:00":                    {"2022-07-02 00:00:00", local},
		"01-Mär-2023 00:00":                   {"2023-03-01 00:00:00", local},
		"1 août 2023 9h30":                    {"2023-08-01 09:30:00", local},
		"Jun 14, 2024 11:00":                  {"2024-06-14 11:00:00", local},
		"Friday, June 14, 2024 11:00:00 PM":   {"2024-06-14 23:00:00", local},
		"Fri., Jun. 14, 2024 11:00":           {"2024-06-14 11:00:00", local},
		"Sat 15.06.2024 11:00":                {"2024-06-15 11:00:00", local},
		"20240615":                            {"2024-06-15 00:00:00", local},
		"20120401 01:00":                      {"2012-04-01 01:00:00", local},
		"20051231:2310":                       {"2005-12-31 23:10:00", local},
		"202406150930":                        {"2024-06-15 09:30:00", local},
		"20240615093015":                      {"2024-06-15 09:30:15", local},
		"2024年5月6日 9:15":                      {"2024-05-06 09:15:00", local},
		"2024年5月6日09:15":                      {"2024-05-06 09:15:00", local},
		"2024-06-01 00:00 - 00:15":            {"2024-06-01 00:00:00", local},
		"01.06.2024 00:00 - 01.06.2024 00:15": {"2024-06-01 00:00:00", local},
		"2024-02-30":                          {"", local},
	} {
		s, ok := parseStamp([]byte(cell))
		if !ok {
			t.Errorf("%q is not read", cell)
			continue
		}
		wall, exists := days.wall(&s)
		if got := time.Unix(wall, 0).UTC().Format(time.DateTime); exists != (want.text != "") || exists && got != want.text {
			t.Errorf("%q is %s (%t), want %s", cell, got, exists, want.text)
		}
		if s.zone.known != (want.offset != local) || s.zone.known && s.zone.offset != want.offset {
			t.Errorf("%q has zone %+v, want %d", cell, s.zone, want.offset)
		}
	}
	for _, cell := range []string{"", "12", "1234", "Summe", "1.234", "12,5", "2024", "2024-13-01", "2024-06", "32.01.2024", "13/13/2024", "25:00", "2024-06-01 25:00", "2024-06-01 10:61",
		"Total 2024", "INV-01", "65535", "10:15", "n/a", "2024-06-01 abc:10", "99999999"} {
		if s, ok := parseStamp([]byte(cell)); ok {
			t.Errorf("%q is read as %+v", cell, s)
		}
	}
}

// TestStampLikeGo compares with time.Parse over instants and layouts.
func TestStampLikeGo(t *testing.T) {
	var days wallClock
	rapid.Check(t, func(t *rapid.T) {
		at := time.Unix(rapid.Int64Range(631152000, 4102444800).Draw(t, "unix"), 0).UTC()
		layout := rapid.SampledFrom([]string{time.RFC3339, time.DateTime, "02.01.2006 15:04:05", "02/01/2006 03:04:05 PM", "2 January 2006 15:04:05", "Mon Jan 2, 2006 15:04:05"}).Draw(t, "layout")
		cell := at.Format(layout)
		if layout == "Mon Jan 2, 2006 15:04:05" {
			cell = cell[4:]
		}
		s, ok := parseStamp([]byte(cell))
		wall, exists := days.wall(&s)
		if !ok || !exists || wall != at.Unix() {
			t.Fatalf("%q: %t %t %d, want %d", cell, ok, exists, wall, at.Unix())
		}
	})
}

func TestEpochAndSerial(t *testing.T) {
	var days wallClock
	for cell, want := range map[string]int64{"1722589200": 1722589200, "1722589200000": 1722589200, "1722589200123456": 1722589200, "1722589200.25": 1722589200} {
		if s, ok := parseEpoch([]byte(cell)); !ok || s.unix != want {
			t.Errorf("%q is %d %t", cell, s.unix, ok)
		}
	}
	for cell, want := range map[string]string{"45458.25": "2024-06-15 06:00:00", "45458,260417": "2024-06-15 06:15:00", "36526": "2000-01-01 00:00:00"} {
		s, ok := parseSerial([]byte(cell))
		wall, _ := days.wall(&s)
		if got := time.Unix(wall, 0).UTC().Format(time.DateTime); !ok || got != want {
			t.Errorf("%q is %s %t, want %s", cell, got, ok, want)
		}
	}
	for _, cell := range []string{"12345", "999999999999999999999", "0", "17225892x0"} {
		if _, ok := parseEpoch([]byte(cell)); ok {
			t.Errorf("%q is a Unix time", cell)
		}
	}
}

// TestCivilClock asserts that wall times find their instant again, in zones
// with odd offsets and odd nights.
func TestCivilClock(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "America/Sao_Paulo", "Asia/Kathmandu", "Africa/Casablanca", "Pacific/Apia"}
	rapid.Check(t, func(t *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom(zones).Draw(t, "zone"))
		if err != nil {
			t.Fatal(err)
		}
		c := civilClock{zone: zone}
		at := rapid.Int64Range(946684800, 1900000000).Draw(t, "from")
		for range 40 {
			at += rapid.Int64Range(0, 40*day).Draw(t, "step")
			_, off := time.Unix(at, 0).In(zone).Zone()
			early, late, ok := c.utc(at + int64(off))
			if !ok || at != early && at != late {
				t.Fatalf("%d in %s is %d or %d (%t)", at, zone, early, late, ok)
			}
		}
	})
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	c := civilClock{zone: berlin}
	wall := func(text string) int64 {
		at, err := time.Parse(time.DateTime, text)
		if err != nil {
			t.Fatal(err)
		}
		return at.Unix()
	}
	if _, _, ok := c.utc(wall("2024-03-31 02:30:00")); ok {
		t.Error("the hour that spring skips exists")
	}
	if early, late, _ := c.utc(wall("2024-10-27 02:30:00")); late-early != hour {
		t.Errorf("the hour that autumn doubles is %d s apart", late-early)
	}
}

func TestZoneNamedIn(t *testing.T) {
	for text, want := range map[string]string{"Time (UTC)": "UTC", "Zeit [MEZ]": "MEZ", "UTC+8": "UTC+8", "Time (GMT -03:00)": "GMT", "Europe/Berlin": "Europe/Berlin", "Time": "", "Datum": "", "Date/Time": "", "(local)": ""} {
		loc := zoneNamedIn(text)
		got := ""
		if loc != nil {
			got = loc.String()
		}
		if got != want {
			t.Errorf("%q is in %q, want %q", text, got, want)
		}
	}
}
