package api

import (
	"fmt"
	"strings"
	"time"
)

// TimeLayout is the one width of every time the service sends: clients
// compare them as text.
const TimeLayout = "2006-01-02T15:04:05Z"

// Time is an instant on the wire, in UTC and without fractions. The zero Time
// is left out by fields tagged omitzero.
type Time struct{ time.Time }

// At makes a Time of t, cut to the second.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Second)} }

// LastBefore makes a Time of the last second before t: the End of a query, which is
// inclusive, of a span that t is not in.
func LastBefore(t time.Time) Time {
	return Time{t.UTC().Add(time.Second - time.Nanosecond).Truncate(time.Second).Add(-time.Second)}
}

// Unix makes a Time of Unix seconds.
func Unix(s int64) Time { return Time{time.Unix(s, 0).UTC()} }

// String is the wire form.
func (t Time) String() string { return t.UTC().Format(TimeLayout) }

// MarshalText writes the wire form.
func (t Time) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// MarshalJSON writes the wire form as a JSON string.
func (t Time) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }

// Instant is a time on the wire to the millisecond. It is read as [Time] is, but keeps the
// milliseconds; the zero Instant is left out by fields tagged omitzero.
type Instant struct{ time.Time }

// instantLayout is the wire form of an Instant.
const instantLayout = "2006-01-02T15:04:05.000Z"

// InstantOf makes an Instant of t, cut to the millisecond.
func InstantOf(t time.Time) Instant { return Instant{t.UTC().Truncate(time.Millisecond)} }

// String is the wire form.
func (t Instant) String() string { return t.UTC().Format(instantLayout) }

// MarshalText writes the wire form.
func (t Instant) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// MarshalJSON writes the wire form as a JSON string.
func (t Instant) MarshalJSON() ([]byte, error) { return []byte(`"` + t.String() + `"`), nil }

// UnmarshalText reads any form that [ParseTime] takes, naive times as UTC.
func (t *Instant) UnmarshalText(b []byte) error {
	p, err := parseTime(string(b), time.UTC)
	if err != nil {
		return err
	}
	*t = InstantOf(p)
	return nil
}

// UnmarshalJSON reads a JSON string as UnmarshalText does; null leaves t as it is.
func (t *Instant) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return fmt.Errorf("time %s is not a string", b)
	}
	return t.UnmarshalText(b[1 : len(b)-1])
}

// NullTime is a Time whose zero value is null on the wire.
type NullTime Time

// String is the wire form.
func (t NullTime) String() string { return Time(t).String() }

// MarshalJSON writes the wire form as a JSON string, and the zero NullTime as null.
func (t NullTime) MarshalJSON() ([]byte, error) {
	if t.IsZero() {
		return []byte("null"), nil
	}
	return Time(t).MarshalJSON()
}

// UnmarshalJSON reads a JSON string as [Time.UnmarshalJSON] does; null leaves t as it is.
func (t *NullTime) UnmarshalJSON(b []byte) error { return (*Time)(t).UnmarshalJSON(b) }

// UnmarshalText reads any form that [ParseTime] takes, naive times as UTC.
func (t *Time) UnmarshalText(b []byte) error {
	p, err := ParseTime(string(b), time.UTC)
	if err != nil {
		return err
	}
	*t = p
	return nil
}

// UnmarshalJSON reads a JSON string as UnmarshalText does; null leaves t as it is.
func (t *Time) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		return nil
	}
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return fmt.Errorf("time %s is not a string", b)
	}
	return t.UnmarshalText(b[1 : len(b)-1])
}

var timeLayouts = []string{
	time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02T15:04",
	"2006-01-02 15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999", "2006-01-02 15:04", "2006-01-02",
	"2006-01-02T15:04:05.999999999-0700",
}

// ParseTime reads an ISO 8601 time as clients send it: with Z, an offset or
// neither (then it is in zone), or a date alone. A plus sign that a query
// string turned into a space is taken for the plus it was.
func ParseTime(s string, zone *time.Location) (Time, error) {
	t, err := parseTime(s, zone)
	if err != nil {
		return Time{}, err
	}
	return At(t), nil
}

// parseTime is ParseTime to the nanosecond.
func parseTime(s string, zone *time.Location) (time.Time, error) {
	s = strings.TrimSpace(s)
	if zone == nil {
		zone = time.UTC
	}
	for _, layout := range timeLayouts {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return inYears(s, t)
		}
	}
	if i := strings.LastIndexByte(s, ' '); i > len("2006-01-02T") && !strings.Contains(s[:i], " ") {
		if t, err := time.ParseInLocation(time.RFC3339Nano, s[:i]+"+"+s[i+1:], zone); err == nil {
			return inYears(s, t)
		}
	}
	return time.Time{}, fmt.Errorf("%q is not an ISO 8601 time", s)
}

// inYears is t if it is in the years that [TimeLayout] has room for: an offset may
// lead out of them.
func inYears(text string, t time.Time) (time.Time, error) {
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		return time.Time{}, fmt.Errorf("%q is not within the years 0000 to 9999 of UTC", text)
	}
	return t, nil
}
