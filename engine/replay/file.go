package replay

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"app.sunloop/engine/forecast"
	"app.sunloop/engine/solar"
)

// File is a site file as written.
type File struct {
	Site     SiteTable               `toml:"site"`
	Data     DataTable               `toml:"data"`
	Weather  map[string]WeatherTable `toml:"weather"` // by the column's name in the data
	Backtest BacktestTable           `toml:"backtest"`
}

// SiteTable describes the site.
type SiteTable struct {
	Name       string   `toml:"name"`
	Latitude   *float64 `toml:"latitude"`  // degrees, north positive
	Longitude  *float64 `toml:"longitude"` // degrees, east positive
	AltitudeM  float64  `toml:"altitude_m"`
	Timezone   string   `toml:"timezone"` // of the site's days and the issue; IANA name
	CapacityKW float64  `toml:"capacity_kw"`
	TiltDeg    *float64 `toml:"tilt_deg"`    // both or neither: an unknown plane is fitted
	AzimuthDeg *float64 `toml:"azimuth_deg"` // from north through east
}

// DataTable is where the power is and what it means.
type DataTable struct {
	Files      []string          `toml:"files"`
	Time       string            `toml:"time"`        // column of the stamps
	TimeFormat string            `toml:"time_format"` // such as "DD.MM.YYYY HH:mm"; found out if empty
	TimeZone   string            `toml:"time_zone"`   // of stamps that carry none; IANA name
	Label      string            `toml:"label"`       // what a stamp is of its interval: start or end
	Power      string            `toml:"power"`       // column of the power or energy
	Unit       string            `toml:"unit"`
	Where      map[string]string `toml:"where"` // only rows with these cells, by column
}

// WeatherTable is one column of weather. Its files, time, label and zone are
// those of the data where it names none.
type WeatherTable struct {
	Quantity    string   `toml:"quantity"`
	Kind        string   `toml:"kind"` // forecast or measured
	Unit        string   `toml:"unit"`
	Accumulated string   `toml:"accumulated"` // "day": counted from midnight of the time zone
	Files       []string `toml:"files"`
	Time        string   `toml:"time"`
	TimeFormat  string   `toml:"time_format"`
	TimeZone    string   `toml:"time_zone"`
	Label       string   `toml:"label"`
}

// BacktestTable is the protocol.
type BacktestTable struct {
	Issue             string `toml:"issue"` // site clock
	HorizonHours      int    `toml:"horizon_hours"`
	ResolutionMinutes int    `toml:"resolution_minutes"`
	FirstTest         string `toml:"first_test"` // site's days, both included
	LastTest          string `toml:"last_test"`
	Refit             string `toml:"refit"`
	HistoryDays       int    `toml:"history_days"` // 0 is all
	Quantiles         int    `toml:"quantiles"`
	Score             string `toml:"score"`
	Actuals           string `toml:"actuals"`

	// Fleet names site files, in the same directory, of the same owner's
	// sites: their whole history is used to train the site while its own is
	// too short.
	Fleet []string `toml:"fleet"`
}

// Defaults for keys that are omitted.
var defaults = File{
	Site:     SiteTable{Timezone: "UTC"},
	Data:     DataTable{TimeZone: "UTC", Label: "start", Unit: "kW"},
	Backtest: BacktestTable{Issue: "00:00", HorizonHours: 24, ResolutionMinutes: 60, Refit: "monthly", Quantiles: 19, Score: "daylight", Actuals: "issue"},
}

// Plan is a checked [File].
type Plan struct {
	Site     forecast.Site
	Protocol Protocol
	Fleet    []string // site files

	power   source
	weather []weatherSource // ascending by column
}

// Protocol is a checked [BacktestTable].
type Protocol struct {
	Issue       time.Duration // after the site's midnight
	Horizon     time.Duration
	Resolution  time.Duration
	First, Last time.Time // midnights of the first and last tested day; Last is zero for the end of the data
	Refit       Refit
	HistoryDays int
	Levels      []float64 // probabilities that are forecast
	AllHours    bool      // the night is scored too
	PastOnly    bool      // power after the last refit is not seen: actuals = "refit"
}

// Refit is when a new model is fitted: always at the first test, then
// at the first issue of each month, before each issue, or not again.
type Refit string

// The ways to refit.
const (
	Monthly Refit = "monthly"
	Daily   Refit = "daily"
	Never   Refit = "never"
)

// Parse reads and checks the text of a site file. Errors name the file and the
// key or the line.
func Parse(name string, text []byte) (*Plan, error) {
	f := defaults
	if err := toml.NewDecoder(strings.NewReader(string(text))).DisallowUnknownFields().Decode(&f); err != nil {
		return nil, fmt.Errorf("%s: %w", name, explain(err))
	}
	p, err := f.plan()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// explain turns a TOML error into words with the unknown key or the position.
func explain(err error) error {
	var strict *toml.StrictMissingError
	if errors.As(err, &strict) && len(strict.Errors) > 0 {
		e := strict.Errors[0]
		row, _ := e.Position()
		return fmt.Errorf("line %d: %s is not a known key", row, strings.Join(e.Key(), "."))
	}
	var at *toml.DecodeError
	if errors.As(err, &at) {
		row, column := at.Position()
		key := strings.Join(at.Key(), ".")
		if key != "" {
			key += ": "
		}
		return fmt.Errorf("line %d, column %d: %s%s", row, column, key, strings.TrimPrefix(at.Error(), "toml: "))
	}
	return err
}

func (f *File) plan() (*Plan, error) {
	p := &Plan{}
	var err error
	if p.Site, err = f.Site.site(); err != nil {
		return nil, err
	}
	if p.power, err = f.Data.source(f.Site.CapacityKW); err != nil {
		return nil, err
	}
	for _, column := range slices.Sorted(maps.Keys(f.Weather)) {
		w, err := f.Weather[column].source(column, f.Data)
		if err != nil {
			return nil, err
		}
		p.weather = append(p.weather, w)
	}
	p.Fleet = f.Backtest.Fleet
	p.Protocol, err = f.Backtest.protocol(p.Site.Zone)
	return p, err
}

func (s SiteTable) site() (forecast.Site, error) {
	zone, err := zoneOf("site.timezone", s.Timezone)
	switch {
	case err != nil:
		return forecast.Site{}, err
	case s.Name == "":
		return forecast.Site{}, missing("site.name")
	case s.Latitude == nil:
		return forecast.Site{}, missing("site.latitude")
	case s.Longitude == nil:
		return forecast.Site{}, missing("site.longitude")
	case !(math.Abs(*s.Latitude) <= 90):
		return forecast.Site{}, fmt.Errorf("site.latitude is %g; it lies within -90 and 90", *s.Latitude)
	case !(math.Abs(*s.Longitude) <= 180):
		return forecast.Site{}, fmt.Errorf("site.longitude is %g; it lies within -180 and 180", *s.Longitude)
	case !(s.CapacityKW > 0) || math.IsInf(s.CapacityKW, 0):
		return forecast.Site{}, fmt.Errorf("site.capacity_kw is %g; it must be above 0", s.CapacityKW)
	case (s.TiltDeg == nil) != (s.AzimuthDeg == nil):
		return forecast.Site{}, errors.New("site.tilt_deg and site.azimuth_deg are only valid together")
	}
	site := forecast.Site{ID: s.Name, Zone: zone, CapacityKW: s.CapacityKW,
		Location: solar.Location{LatitudeDeg: *s.Latitude, LongitudeDeg: *s.Longitude, AltitudeM: s.AltitudeM}}
	if s.TiltDeg != nil {
		if !(*s.TiltDeg >= 0 && *s.TiltDeg <= 90) || !(math.Abs(*s.AzimuthDeg) <= 360) {
			return forecast.Site{}, fmt.Errorf("site.tilt_deg is %g and site.azimuth_deg %g; they lie within 0 and 90, and 0 and 360", *s.TiltDeg, *s.AzimuthDeg)
		}
		site.Plane = &solar.Plane{TiltDeg: *s.TiltDeg, AzimuthDeg: *s.AzimuthDeg}
	}
	return site, nil
}

// maximumHistoryDays bounds history_days: more is no limit.
const maximumHistoryDays = 36500

func (b BacktestTable) protocol(zone *time.Location) (Protocol, error) {
	p := Protocol{Refit: Refit(b.Refit), HistoryDays: b.HistoryDays, Horizon: time.Duration(b.HorizonHours) * time.Hour,
		Resolution: time.Duration(b.ResolutionMinutes) * time.Minute, AllHours: b.Score == "all", PastOnly: b.Actuals == "refit"}
	issue, err := time.Parse("15:04", b.Issue)
	if err != nil {
		return p, fmt.Errorf("backtest.issue is %q; it is a time of the day such as \"00:00\"", b.Issue)
	}
	p.Issue = issue.Sub(issue.Truncate(24 * time.Hour))
	switch {
	case b.HorizonHours < 1 || p.Horizon > forecast.MaximumHorizon:
		return p, fmt.Errorf("backtest.horizon_hours is %d; it lies within 1 and %.0f", b.HorizonHours, forecast.MaximumHorizon.Hours())
	case !slices.Contains([]int{15, 30, 60}, b.ResolutionMinutes):
		return p, fmt.Errorf("backtest.resolution_minutes is %d; it is 15, 30 or 60", b.ResolutionMinutes)
	case b.HistoryDays < 0 || b.HistoryDays > maximumHistoryDays:
		return p, fmt.Errorf("backtest.history_days is %d; it lies within 0, which is all, and %d", b.HistoryDays, maximumHistoryDays)
	}
	for _, c := range []struct {
		key, value string
		may        []string
	}{
		{"refit", b.Refit, []string{string(Monthly), string(Daily), string(Never)}},
		{"score", b.Score, []string{"daylight", "all"}},
		{"actuals", b.Actuals, []string{"issue", "refit"}},
	} {
		if err := oneOf("backtest."+c.key, c.value, c.may); err != nil {
			return p, err
		}
	}
	if p.Levels = levels(b.Quantiles); p.Levels == nil {
		return p, fmt.Errorf("backtest.quantiles is %d; it is 3, 9, 19 or 99", b.Quantiles)
	}
	if p.First, err = dayOf("backtest.first_test", b.FirstTest, zone); err != nil {
		return p, err
	}
	if b.LastTest != "" {
		if p.Last, err = dayOf("backtest.last_test", b.LastTest, zone); err != nil {
			return p, err
		}
		if p.Last.Before(p.First) {
			return p, fmt.Errorf("backtest.last_test is %s, before first_test, %s", b.LastTest, b.FirstTest)
		}
	}
	return p, nil
}

// levels are the probabilities a model is asked for. Between them quantiles
// are straight lines: in the middle of a distribution ten to the hundred are
// enough, a fit of each costs its time.
func levels(count int) []float64 {
	switch count {
	case 3:
		return []float64{0.1, 0.5, 0.9}
	case 9:
		return []float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9}
	case 19:
		return []float64{0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95}
	case 99:
		return []float64{0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99}
	}
	return nil
}

func missing(key string) error { return fmt.Errorf("%s is missing", key) }

func oneOf(key, value string, may []string) error {
	if slices.Contains(may, value) {
		return nil
	}
	return fmt.Errorf("%s is %q; it is one of %s", key, value, strings.Join(may, ", "))
}

func zoneOf(key, name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "Local" {
		return nil, fmt.Errorf("%s: there is no time zone %q; they are named as in Europe/Berlin", key, name)
	}
	return cmp.Or(zone, time.UTC), nil
}

func dayOf(key, text string, zone *time.Location) (time.Time, error) {
	if text == "" {
		return time.Time{}, missing(key)
	}
	t, err := time.ParseInLocation(time.DateOnly, text, zone)
	if err != nil {
		return t, fmt.Errorf("%s is %q; it is a day such as 2019-04-01", key, text)
	}
	return t, nil
}
