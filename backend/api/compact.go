package api

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Forms of the responses of the telemetry paths.
const (
	FormatRecords = "records" // [RecordsResponse] or [SiteRecordsResponse]
	FormatColumns = "columns" // [ColumnsResponse]
	FormatCSV     = "csv"     // one line a record, behind a line with the names
	FormatNDJSON  = "ndjson"  // one JSON object a line
	FormatArrow   = "arrow"   // a stream of Arrow IPC
)

// Media types of the forms, as the header Accept names them.
const (
	MediaJSON    = "application/json"
	MediaColumns = "application/vnd.sunloop.columns+json"
	MediaCSV     = "text/csv"
	MediaNDJSON  = "application/x-ndjson"
	MediaArrow   = "application/vnd.apache.arrow.stream"
)

const aboutForms = " The compact forms are selected by format or by the header Accept."

// RecordForms are the compact forms of the telemetry paths. Their records have asset_id,
// timestamp and the fields of [RecordFields]; what was not measured is null, or empty in
// CSV.
var RecordForms = []Media{
	{Type: MediaColumns, Of: reflect.TypeFor[ColumnsResponse](), Description: "One array a field; also with format=columns"},
	{Type: MediaCSV, Description: "One line a record behind a line with the names; also with format=csv"},
	{Type: MediaNDJSON, Description: "One JSON object a line; also with format=ndjson"},
	{Type: MediaArrow, Description: "A stream of Arrow IPC, with a dictionary of the ids of units and times in seconds of UTC; also with format=arrow"},
}

// What a record of a step says of the values within it.
const (
	AggregateMean = "mean" // by the time that each value holds
	AggregateMin  = "min"
	AggregateMax  = "max"
	AggregateSum  = "sum"
	AggregateLast = "last"
)

// RecordFields are the fields of records that the compact forms have, in their order; the last
// four are of records of days. Their units are those of [Record].
var RecordFields = []string{
	"power", "kWh", "inverter_state", "run_state", "kVArh", "kVA", "PF", "temperature", "irradiance", "soc", "soh", "voltage", "energy_counter_kwh", "error_code",
	"consumption_kwh", "counter_kwh", "interval_kwh", "extrapolated_kwh",
}

// ColumnsResponse are records as one array a field, in chunks: each has some thousand
// records of one unit. Chunks are by unit, and ascending in time.
type ColumnsResponse struct {
	SiteID     string         `json:"site_id"`
	Chunks     []ColumnsChunk `json:"chunks"`
	NextCursor string         `json:"next_cursor,omitempty"` // of a page that is full
}

// ColumnsChunk are Count records of a unit. Record i begins at Start plus i steps, or, if the
// records are not even, plus the sum of the first i of DeltasS.
type ColumnsChunk struct {
	AssetID string  `json:"asset_id"`
	Count   int     `json:"count"`
	Start   Time    `json:"start"`
	StepS   int64   `json:"step_s,omitempty"`   // seconds
	DeltasS []int64 `json:"deltas_s,omitempty"` // seconds from each record to the next
	// Values are the fields by name, each with Count values; null is not measured. A field
	// without any value in the chunk is left out.
	Values map[string][]*float64 `json:"values"`
}

// Day is the step of a day of the site, which may have 23 or 25 hours.
const Day = 24 * time.Hour

// ParseStep reads a step: whole seconds, or a number with one of the units s, m, h and d.
func ParseStep(text string) (time.Duration, error) {
	digits, unit := text, time.Second
	if n := len(text) - 1; n > 0 {
		units := map[byte]time.Duration{'s': time.Second, 'm': time.Minute, 'h': time.Hour, 'd': Day}
		if u, ok := units[text[n]]; ok {
			digits, unit = text[:n], u
		}
	}
	n, err := strconv.ParseUint(digits, 10, 31)
	step := time.Duration(n) * unit                   //nolint:gosec // below 2^31 days, and checked
	if err != nil || n == 0 || n > uint64(Day/unit) { //nolint:gosec // a positive constant
		return 0, InvalidParameter("step", "a step from 1 s to 1 d, such as 900, 15m, 1h or 1d")
	}
	return step, nil
}

// SelectedFields are the fields that a query names, in its order; nil if it names none.
func (q *RecordsQuery) SelectedFields() []string {
	if q.Fields == "" {
		return nil
	}
	return strings.Split(q.Fields, ",")
}

// checkCompact checks what only the compact forms take.
func (q *RecordsQuery) checkCompact() error {
	fields := q.SelectedFields()
	for i, name := range fields {
		if !slices.Contains(RecordFields, name) {
			return InvalidParameter("fields", "each is one of "+strings.Join(RecordFields, ", "))
		}
		if slices.Contains(fields[:i], name) {
			return InvalidParameter("fields", name+" is named twice")
		}
	}
	if q.Step == "" {
		if q.Aggregate != "" {
			return InvalidParameter("aggregate", "it needs a step")
		}
		return nil
	}
	if q.Resolution != "" {
		return InvalidParameter("step", "either step or resolution")
	}
	_, err := ParseStep(q.Step)
	return err
}
