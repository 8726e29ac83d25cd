package api

import (
	"encoding/json"
	"testing"
	"time"
)

// FuzzParseTime asserts that a time which was read is one that clients can
// compare as text, is in the years that the wire form has room for, and reads
// back the same, by itself and as JSON.
func FuzzParseTime(f *testing.F) {
	for _, text := range []string{"2025-10-01T00:00:00Z", "2025-10-01T00:00:00 02:00", "2025-10-01", "2025-10-01 10:00", "2025-10-01T10:00:00.123456789+0530",
		"9999-12-31T23:59:59-14:00", "0000-01-01T00:00:00+14:00", "2024-02-29", "2025-02-29", "2025-10-26T02:30", "24:00", "\x00", "２０２５-10-01"} {
		f.Add(text, 7200)
	}
	f.Fuzz(func(t *testing.T, text string, offset int) {
		zone := time.FixedZone("", offset%(14*3600))
		read, err := ParseTime(text, zone)
		if err != nil {
			return
		}
		wire := read.String()
		if len(wire) != len(TimeLayout) {
			t.Fatalf("%q is written %q", text, wire)
		}
		again, err := ParseTime(wire, zone)
		if err != nil || !again.Equal(read.Time) {
			t.Fatalf("%q is %v, and %q is %v, %v", text, read, wire, again, err)
		}
		b, err := json.Marshal(read)
		var back Time
		if err == nil {
			err = json.Unmarshal(b, &back)
		}
		if err != nil || !back.Equal(read.Time) {
			t.Fatalf("%s reads back as %v, %v", b, back, err)
		}
	})
}
