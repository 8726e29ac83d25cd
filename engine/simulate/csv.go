package simulate

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"app.sunloop/engine/series"
)

// Header is the first line that [Site.WriteCSV] writes for the usual portal.
const Header = "timestamp,asset_id,power_kw,energy_counter_kwh,irradiance_wm2,temperature_c,inverter_state,run_state,error_code\n"

// WriteCSV writes the site's telemetry in the long format that an upload
// takes: a row for each unit and stamp, ordered by time, then asset; times in
// UTC with Z; an empty cell where there is no reading. Without asset ids it
// writes every unit. A row is about 75 bytes, so a file under 10 MB holds some
// 130,000 rows: callers split long spans by time.
func (s *Site) WriteCSV(w io.Writer, from, to time.Time, step time.Duration, assetIDs ...string) error {
	frames := s.Frames(from, to, step)
	if len(assetIDs) > 0 {
		some := map[string]series.Frame{}
		for _, id := range assetIDs {
			f, ok := frames[id]
			if !ok {
				return fmt.Errorf("write telemetry of site %s: it has no asset %s", s.ID, id)
			}
			some[id] = f
		}
		frames = some
	}
	if err := WriteFrames(w, frames); err != nil {
		return fmt.Errorf("write telemetry of site %s: %w", s.ID, err)
	}
	return nil
}

// WriteFrames writes frames by asset id in the format of [Site.WriteCSV]. All
// must hold the same quantities, by whose names the columns go.
func WriteFrames(w io.Writer, frames map[string]series.Frame) error {
	out := bufio.NewWriter(w)
	assetIDs := slices.Sorted(maps.Keys(frames))
	header := []string{"timestamp", "asset_id"}
	for i, id := range assetIDs {
		for k, c := range frames[id].Columns {
			if i == 0 {
				header = append(header, c.Quantity.String())
			} else if k+2 >= len(header) || header[k+2] != c.Quantity.String() {
				return fmt.Errorf("asset %s holds other quantities than %s", id, assetIDs[0])
			}
		}
	}
	if _, err := out.WriteString(strings.Join(header, ",") + "\n"); err != nil {
		return err
	}
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
			return out.Flush()
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
				return err
			}
		}
	}
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
