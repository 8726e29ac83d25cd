package ingest

import (
	"time"

	"app.sunloop/engine/series"
)

// DefaultMaxBytes is the size limit of a file if [Options] has none.
const DefaultMaxBytes = 256 << 20

// Options holds what the caller knows in addition to the file.
type Options struct {
	Zone       *time.Location // zone of times without one, if the file names none; nil is UTC
	ZoneFrom   string         // source of Zone, such as "the site's zone"; empty: "the given zone"
	CapacityKW float64        // installed capacity of the units in the file; used to infer units and to find bad values; 0 unknown
	EnergyKind string         // KindIntervalEnergy …: kind of earlier files of the source, used for short files; "" unknown
	Now        time.Time      // times more than a day later are impossible; zero: none is
	MaxBytes   int64          // larger files are refused; 0 is DefaultMaxBytes
	Asset      string         // name of the series when the file names none

	Mapping Mapping                            // how to read the file; what it does not name is inferred
	Profile func(shape string) (Mapping, bool) // mapping of former files of a shape, if Mapping is empty; may be nil
}

// The kinds of values a file can hold, for [Result.ValueKind].
const (
	KindPower          = "power"
	KindIntervalEnergy = "interval_energy"
	KindCounter        = "counter"
	KindDailyCounter   = "daily_counter"
)

// Result is an imported file.
type Result struct {
	Assets       []Asset       // in order of appearance; one at least
	ValueKind    string        // KindPower …: what power was derived from
	UnitSource   string        // unit of the source values after any inference; "W|kW" where it changes
	Manufacturer string        // manufacturer that the file identifies, or ""
	Interval     time.Duration // commonest step between successive times of one asset; 0 unknown
	Rows         Rows
	First, Last  time.Time // first and last time with a usable power
	Decisions    []Decision
	Warnings     []Decision
	RunnersUp    []Decision // other readings that fit nearly as well as the one that was used
	Columns      []Column   // of the file, in its order; the quantities of a long file follow the column that names them
	Mapping      Mapping    // with which the file is read in the same way
	Applied      Mapping    // that was applied, given or of a profile
	Shape        string     // equal for files with the same header
	DataLine     int        // line of the file at which the data begin
}

// Asset is one unit of the file. Frames of one file may share memory: they are
// to be read only.
type Asset struct {
	Name  string // serial number, else device or column name, else Options.Asset
	Frame series.Frame
	Times Times
}

// Times counts the times at which a file has a row for a unit, by result: each is Stored, Missing or Underived.
type Times struct {
	Stored    int // with a usable power
	Missing   int // without a usable value
	Underived int // with the reading of a counter that gives no power, as the first one does
}

// Rows counts the file's records by result: each that is Read is Used or Skipped. Stored and Missing count
// times of assets, so that a record of a wide file counts once for each asset.
type Rows struct {
	Read    int            `json:"read"`    // records below the header
	Used    int            `json:"used"`    // records that the frames are built from
	Stored  int            `json:"stored"`  // times with a usable power
	Missing int            `json:"missing"` // times without a usable value
	Skipped map[string]int `json:"skipped"` // records that are not used, by reason
}

// Reasons for which a record is skipped, the keys of [Rows.Skipped].
const (
	SkipNoTime         = "no time"
	SkipRepeatedHeader = "repeated header"
	SkipSummary        = "summary row"
	SkipComment        = "comment"
	SkipImpossibleDate = "impossible date"
	SkipEarly          = "time before the year 2000"
	SkipFuture         = "time in the future"
	SkipNoSuchTime     = "time skipped by the clock change"
	SkipTooManyCells   = "more cells than the header"
	SkipNoAsset        = "no asset name"
	SkipDuplicate      = "duplicate time"
	SkipOtherQuantity  = "quantity that is not used"
	SkipLeftOut        = "unit that is left out"
	SkipCutLine        = "last line is cut"
)

// Decision describes one inference about the file, or one warning.
type Decision struct {
	Topic string `json:"topic"` // "encoding", "delimiter", "time", "unit", …
	Text  string `json:"text"`
}

// String returns the decision as one line.
func (d Decision) String() string { return d.Topic + ": " + d.Text }
