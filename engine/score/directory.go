package score

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/diagnose"
	"app.sunloop/engine/series"
	"app.sunloop/engine/simulate"
	"app.sunloop/engine/solar"
)

// A directory of cases holds truth.json and the CSV files that it names: a row
// for each unit and stamp, the columns timestamp, asset_id and quantities by
// their names in engine/series.
const truthFile = "truth.json"

// caseFile is a case in truth.json.
type caseFile struct {
	Name      string                        `json:"name"`
	Files     []string                      `json:"files"`
	SiteID    string                        `json:"site_id"`
	Zone      string                        `json:"zone"`
	Latitude  *float64                      `json:"latitude_deg,omitempty"`
	Longitude *float64                      `json:"longitude_deg,omitempty"`
	Altitude  float64                       `json:"altitude_m,omitempty"`
	Now       time.Time                     `json:"now"`
	Clean     bool                          `json:"clean"`
	Units     []unitFile                    `json:"units"`
	Events    []eventFile                   `json:"events"`
	Clipped   map[string]map[string]float64 `json:"clipped_hours,omitempty"`
}

type unitFile struct {
	AssetID    string   `json:"asset_id"`
	CapacityKW float64  `json:"capacity_kw,omitempty"`
	TiltDeg    *float64 `json:"tilt_deg,omitempty"`
	AzimuthDeg *float64 `json:"azimuth_deg,omitempty"`
	Tracker    bool     `json:"tracker,omitempty"`
	Strings    int      `json:"strings,omitempty"`
}

// eventFile is a fault with what it did.
type eventFile struct {
	ID             string     `json:"id"`
	Kind           string     `json:"kind"`
	Family         string     `json:"family"`
	Units          []string   `json:"units"`
	From           time.Time  `json:"from"`
	To             *time.Time `json:"to,omitempty"`
	Severity       float64    `json:"severity"`
	Cause          string     `json:"cause,omitempty"`
	RowsAbsent     bool       `json:"rows_absent,omitempty"`
	Onset          *time.Time `json:"onset,omitempty"`
	Seen           *time.Time `json:"seen,omitempty"`
	LostKWh        float64    `json:"lost_kwh"`
	FirstDay       *time.Time `json:"first_day,omitempty"`
	DailyLostKWh   []float64  `json:"daily_lost_kwh,omitempty"`
	LossFraction   float64    `json:"loss_fraction"`
	EnergyAtRiskKW float64    `json:"energy_at_risk_kw"`
	SeverityLabel  string     `json:"severity_label"`
	ShownHours     float64    `json:"shown_hours"`
	Visible        bool       `json:"visible"`
}

// WriteDir writes cases to a directory that [InDirs] reads. It creates the
// directory if needed.
func WriteDir(dir string, cases []Case) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write labelled fleets: %w", err)
	}
	var files []caseFile
	for _, c := range cases {
		name := strings.ReplaceAll(c.Name, "/", "-") + ".csv"
		if err := writeCSV(filepath.Join(dir, name), c.Input.Units); err != nil {
			return err
		}
		files = append(files, c.file(name))
	}
	body, err := json.MarshalIndent(files, "", "  ")
	if err != nil {
		return fmt.Errorf("write the truth of labelled fleets: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, truthFile), append(body, '\n'), 0o644); err != nil {
		return fmt.Errorf("write the truth of labelled fleets: %w", err)
	}
	return nil
}

// file is the case as truth.json holds it.
func (c Case) file(csv string) caseFile {
	out := caseFile{Name: c.Name, Files: []string{csv}, SiteID: c.Input.Site.ID, Zone: c.Input.Site.Zone.String(), Now: c.Input.Now, Clean: c.Clean, Clipped: c.Clipped, Units: []unitFile{}, Events: []eventFile{}}
	if l := c.Input.Site.Location; l != nil {
		out.Latitude, out.Longitude, out.Altitude = &l.LatitudeDeg, &l.LongitudeDeg, l.AltitudeM
	}
	for _, u := range c.Input.Units {
		f := unitFile{AssetID: u.AssetID, CapacityKW: u.CapacityKW, Tracker: u.Tracker, Strings: u.Strings}
		if u.Plane != nil {
			f.TiltDeg, f.AzimuthDeg = &u.Plane.TiltDeg, &u.Plane.AzimuthDeg
		}
		out.Units = append(out.Units, f)
	}
	for _, t := range c.Truth {
		risk, severity := c.energyAtRisk(&t)
		out.Events = append(out.Events, eventFile{
			ID: t.ID, Kind: string(t.Kind), Family: t.Family, Units: t.Units, From: t.From, To: known(t.To), Severity: t.Severity, Cause: t.Cause, RowsAbsent: t.RowsAbsent,
			Onset: known(t.Onset), Seen: known(t.Seen), LostKWh: t.LostKWh, FirstDay: known(t.FirstDay), DailyLostKWh: t.DailyLostKWh, LossFraction: t.LossFraction, EnergyAtRiskKW: risk, SeverityLabel: severity.Label,
			ShownHours: t.ShownHours, Visible: t.Visible,
		})
	}
	return out
}

func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// energyAtRisk is what a fault puts at risk and how severe that is, by the one
// definition of engine/diagnose.
func (c Case) energyAtRisk(t *simulate.Truth) (riskKW float64, s diagnose.Severity) {
	family := detect.Family(t.Family)
	some, site := c.rating(t.Units)
	riskKW = diagnose.EnergyAtRiskKW(family, t.LossFraction, some, diagnose.TypicalShare*some)
	return riskKW, diagnose.SeverityOf(diagnose.Exposure{
		Family: family, LossFraction: t.LossFraction, RatingKW: some, SiteKW: site, SiteUnits: len(c.Input.Units),
		EnergyAtRiskKW: riskKW, Lasted: endOf(t, c.Input.Now).Sub(t.From), Confidence: 1,
	})
}

// writeCSV writes the units' frames in the long format, ordered by time.
func writeCSV(path string, units []detect.Unit) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write telemetry: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	frames := map[string]series.Frame{}
	for _, u := range units {
		frames[u.AssetID] = u.Frame
	}
	return simulate.WriteFrames(f, frames)
}

// InDirs reads the cases of directories one by one, because the telemetry of all
// of them may not fit in memory. It ends with the first error.
func InDirs(dirs ...string) iter.Seq2[Case, error] {
	return func(yield func(Case, error) bool) {
		for _, dir := range dirs {
			files, err := readTruth(dir)
			if err != nil {
				yield(Case{}, err)
				return
			}
			for _, f := range files {
				c, err := f.read(dir)
				if err != nil {
					err = fmt.Errorf("read case %s: %w", f.Name, err)
				}
				if !yield(c, err) || err != nil {
					return
				}
			}
		}
	}
}

func readTruth(dir string) (files []caseFile, err error) {
	body, err := os.ReadFile(filepath.Join(dir, truthFile))
	if err != nil {
		return nil, fmt.Errorf("read the truth of labelled fleets: %w", err)
	}
	if err := json.Unmarshal(body, &files); err != nil {
		return nil, fmt.Errorf("read the truth of labelled fleets: %s: %w", truthFile, err)
	}
	return files, nil
}

func (f caseFile) read(dir string) (Case, error) {
	c, err := f.described()
	if err != nil {
		return Case{}, err
	}
	frames := map[string]series.Frame{}
	for _, name := range f.Files {
		if name != filepath.Base(name) {
			return Case{}, fmt.Errorf("file %q is not in the folder of %s", name, truthFile)
		}
		some, err := readCSV(filepath.Join(dir, name))
		if err != nil {
			return Case{}, err
		}
		for id, frame := range some {
			frames[id] = series.Merge(frames[id], frame)
		}
	}
	if len(c.Input.Units) == 0 {
		return Case{}, errors.New("it names no unit")
	}
	for i := range c.Input.Units {
		c.Input.Units[i].Frame = frames[c.Input.Units[i].AssetID]
	}
	return c, nil
}

// described returns the case without telemetry.
func (f caseFile) described() (Case, error) {
	zone, err := time.LoadLocation(f.Zone)
	if err != nil {
		return Case{}, fmt.Errorf("zone %q is not known", f.Zone)
	}
	c := Case{Name: f.Name, Clean: f.Clean, Clipped: f.Clipped, Input: detect.Input{Site: detect.Site{ID: f.SiteID, Zone: zone}, Now: f.Now}}
	if f.Latitude != nil && f.Longitude != nil {
		c.Input.Site.Location = &solar.Location{LatitudeDeg: *f.Latitude, LongitudeDeg: *f.Longitude, AltitudeM: f.Altitude}
	}
	for _, u := range f.Units {
		unit := detect.Unit{AssetID: u.AssetID, CapacityKW: u.CapacityKW, Tracker: u.Tracker, Strings: u.Strings}
		if u.TiltDeg != nil && u.AzimuthDeg != nil {
			unit.Plane = &solar.Plane{TiltDeg: *u.TiltDeg, AzimuthDeg: *u.AzimuthDeg}
		}
		c.Input.Units = append(c.Input.Units, unit)
	}
	for _, e := range f.Events {
		c.Truth = append(c.Truth, e.truth())
	}
	return c, nil
}

func (e eventFile) truth() simulate.Truth {
	when := func(t *time.Time) time.Time {
		if t == nil {
			return time.Time{}
		}
		return *t
	}
	t := simulate.Truth{
		Fault:  simulate.Fault{ID: e.ID, Kind: simulate.Kind(e.Kind), Units: e.Units, From: e.From, To: when(e.To), Severity: e.Severity, Cause: e.Cause, RowsAbsent: e.RowsAbsent},
		Family: e.Family, Onset: when(e.Onset), Seen: when(e.Seen), LostKWh: e.LostKWh, FirstDay: when(e.FirstDay), DailyLostKWh: e.DailyLostKWh, LossFraction: e.LossFraction, ShownHours: e.ShownHours, Visible: e.Visible,
	}
	if t.Family == "" {
		t.Family = t.Kind.Family()
	}
	return t
}

// readCSV reads a long file into frames by asset id.
func readCSV(path string) (map[string]series.Frame, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read telemetry: %w", err)
	}
	defer f.Close()
	frames, err := parse(f)
	if err != nil {
		return nil, fmt.Errorf("read telemetry: %s: %w", filepath.Base(path), err)
	}
	return frames, nil
}

// column collects what one asset reported.
type column struct {
	times  []int64
	values [][]float64
}

// parse reads the long format. Rows of an asset must ascend in time.
func parse(r io.Reader) (map[string]series.Frame, error) {
	lines := bufio.NewScanner(r)
	if !lines.Scan() {
		return nil, errors.Join(errors.New("it is empty"), lines.Err())
	}
	names := strings.Split(strings.TrimSpace(lines.Text()), ",")
	if len(names) < 3 || names[0] != "timestamp" || names[1] != "asset_id" {
		return nil, errors.New("line 1: the columns must be timestamp, asset_id and quantities")
	}
	quantities := make([]series.Quantity, len(names)-2)
	for i, name := range names[2:] {
		q, err := series.ParseQuantity(name)
		if err != nil {
			return nil, fmt.Errorf("line 1: %w", err)
		}
		quantities[i] = q
	}
	assets := map[string]*column{}
	for n := 2; lines.Scan(); n++ {
		cells := strings.Split(lines.Text(), ",")
		if len(cells) != len(names) {
			return nil, fmt.Errorf("line %d: %d cells for %d columns", n, len(cells), len(names))
		}
		t, err := time.Parse(time.RFC3339, cells[0])
		if err != nil {
			return nil, fmt.Errorf("line %d: %q is not a time such as 2026-01-31T12:00:00Z", n, cells[0])
		}
		a := assets[cells[1]]
		if a == nil {
			a = &column{values: make([][]float64, len(quantities))}
			assets[strings.Clone(cells[1])] = a
		}
		if k := len(a.times); k > 0 && t.Unix() <= a.times[k-1] {
			return nil, fmt.Errorf("line %d: the time of %s does not follow its last", n, cells[1])
		}
		a.times = append(a.times, t.Unix())
		for i, cell := range cells[2:] {
			v := math.NaN()
			if cell != "" {
				if v, err = strconv.ParseFloat(cell, 64); err != nil {
					return nil, fmt.Errorf("line %d: %q is not a number", n, cell)
				}
			}
			a.values[i] = append(a.values[i], v)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	out := map[string]series.Frame{}
	for _, id := range slices.Sorted(maps.Keys(assets)) {
		f := series.Frame{Times: assets[id].times}
		for i, q := range quantities {
			f.Set(q, assets[id].values[i])
		}
		out[id] = f
	}
	return out, nil
}
