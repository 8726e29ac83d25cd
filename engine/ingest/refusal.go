package ingest

import "fmt"

// Kind is the short reason why a file was refused, for logs and tests.
type Kind string

// The reasons for which a file is refused as a whole.
const (
	NotText             Kind = "not_text"
	NotCSV              Kind = "not_csv"
	NoHeader            Kind = "no_header"
	NoTimestampColumn   Kind = "no_timestamp_column"
	NoPowerOrEnergy     Kind = "no_power_or_energy_column"
	NoDataRows          Kind = "no_data_rows"
	InconsistentColumns Kind = "inconsistent_columns"
	ConflictingRows     Kind = "conflicting_rows"
	TooLarge            Kind = "too_large"
)

// Refusal is the error of [Read] for a file that cannot be imported. No data of
// such a file may be stored.
type Refusal struct {
	Kind    Kind
	Message string // one sentence without the line
	Line    int    // line of the file, from 1; 0 if no single line is the cause

	Columns []Column // roles of the columns, if they were determined; else nil
}

// Error returns the message with its line.
func (r *Refusal) Error() string {
	if r.Line > 0 {
		return fmt.Sprintf("line %d: %s", r.Line, r.Message)
	}
	return r.Message
}

func refuse(kind Kind, line int, format string, args ...any) *Refusal {
	return &Refusal{Kind: kind, Message: fmt.Sprintf(format, args...), Line: line}
}
