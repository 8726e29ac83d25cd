package simulate

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"app.sunloop/engine/series"
)

// Header is the first line that [WriteCSV] writes.
const Header = "timestamp,asset_id,power_kw,energy_counter_kwh,irradiance_wm2,temperature_c,inverter_state,run_state,error_code\n"

// WriteCSV writes the site's telemetry in the long format that an upload
// takes: a row for each unit and stamp, ordered by time, then asset; times in
// UTC with Z; an empty cell where there is no reading. Without asset ids it
// writes every unit. A row is about 75 bytes, so a file under 10 MB holds some
// 130,000 rows: callers split long spans by time.
func (s *Site) WriteCSV(w io.Writer, from, to time.Time, step time.Duration, assetIDs ...string) error {
	frames := s.Frames(from, to, step)
	if len(assetIDs) == 0 {
		for _, u := range s.Units {
			assetIDs = append(assetIDs, u.AssetID)
		}
	}
	for _, id := range assetIDs {
		if _, ok := frames[id]; !ok {
			return fmt.Errorf("write telemetry of site %s: it has no asset %s", s.ID, id)
		}
	}
	out := bufio.NewWriter(w)
	if _, err := out.WriteString(Header); err != nil {
		return fmt.Errorf("write telemetry of site %s: %w", s.ID, err)
	}
	assetIDs = slices.Sorted(slices.Values(assetIDs))
	next := make([]int, len(assetIDs)) // row of each asset's frame that is due
	var line []byte
	for {
		due := int64(math.MaxInt64)
		for k, id := range assetIDs {
			if f := frames[id]; next[k] < f.Len() {
				due = min(due, f.Times[next[k]])
			}
		}
		if due == math.MaxInt64 {
			break
		}
		stamp := time.Unix(due, 0).UTC().AppendFormat(nil, "2006-01-02T15:04:05Z")
		for k, id := range assetIDs {
			f := frames[id]
			if next[k] == f.Len() || f.Times[next[k]] != due {
				continue
			}
			line = appendRow(line[:0], stamp, id, f, next[k])
			next[k]++
			if _, err := out.Write(line); err != nil {
				return fmt.Errorf("write telemetry of site %s: %w", s.ID, err)
			}
		}
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("write telemetry of site %s: %w", s.ID, err)
	}
	return nil
}

func appendRow(line, stamp []byte, id string, f series.Frame, row int) []byte {
	line = append(line, stamp...)
	line = append(line, ',')
	line = append(line, id...)
	for _, c := range f.Columns {
		line = append(line, ',')
		if v := c.Values[row]; !math.IsNaN(v) {
			line = strconv.AppendFloat(line, v, 'f', -1, 64)
		}
	}
	return append(line, '\n')
}
