package plant

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// Month returns a file of 33 days of hours, up to now, of two units of which
// the second is stopped for its last three days: enough for detection.
func Month(now time.Time) string {
	const hours = 33 * 24
	var b strings.Builder
	b.WriteString("timestamp,asset_id,power_kw\n")
	for h := range hours {
		at := now.Truncate(time.Hour).Add(time.Duration(h-hours) * time.Hour)
		power := 45 * max(0, math.Sin(float64(at.Hour()-4)/12*math.Pi)) * (0.7 + 0.3*math.Sin(float64(at.YearDay()*7)))
		second := power
		if h >= hours-72 {
			second = 0
		}
		fmt.Fprintf(&b, "%s,INV-1,%.2f\n%[1]s,INV-2,%.2[3]f\n", at.Format(time.RFC3339), power, second)
	}
	return b.String()
}
