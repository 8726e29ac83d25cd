package ingest

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A file that begins within the hour that occurs twice, and has it once, begins
// in the second, because its next row follows that. With both hours the order
// decides.
func TestBeginsInTheHourThatComesTwice(t *testing.T) {
	zone, err := time.LoadLocation("Australia/Sydney")
	if err != nil {
		t.Fatal(err)
	}
	second := time.Unix(1396713600, 0) // 02:00 for the second time
	for _, begin := range []time.Time{second, second.Add(30 * time.Minute), second.Add(-time.Hour), second.Add(-30 * time.Minute), second.Add(-2 * time.Hour)} {
		file := "time,power_kW\n"
		var want []int64
		for at := begin; at.Before(begin.Add(30 * time.Hour)); at = at.Add(15 * time.Minute) {
			file += fmt.Sprintf("%s,%d\n", at.In(zone).Format("2006-01-02 15:04"), len(want)%7)
			want = append(want, at.Unix())
		}
		res, err := Read(strings.NewReader(file), Options{Zone: zone, Now: begin.AddDate(1, 0, 0)})
		if err != nil {
			t.Fatal(err)
		}
		f := res.Assets[0].Frame
		if len(f.Times) != len(want) {
			t.Fatalf("from %s: %d times, want %d\n%v", begin.UTC(), len(f.Times), len(want), res.Decisions)
		}
		for i, at := range want {
			if f.Times[i] != at {
				t.Fatalf("from %s: time %d is %s, want %s\n%v", begin.UTC(), i, time.Unix(f.Times[i], 0).UTC(), time.Unix(at, 0).UTC(), res.Decisions)
			}
		}
		reported := strings.Contains(fmt.Sprint(res.Decisions), "taken as the second hour")
		if reported == begin.Before(second) {
			t.Errorf("from %s it reports that the hour was chosen: %v", begin.UTC(), reported)
		}
	}
}
