//go:build !gateway

// Package migrate copies a data folder to an empty database and an empty
// bucket, from which replicas then serve. The folder is opened read-only and
// locked meanwhile, so that no service writes to it.
//
// Records and telemetry are copied as stored, set by set in the order of their
// keys. The progress of each set, with the checksum of the copied part, is
// stored in the target in the same transaction as the rows. A run after a
// killed one reads the source again from the beginning, which costs little, and
// continues behind the mark if the checksum is the same; otherwise the source
// has changed and the set is copied again. At the end the whole target is read
// and compared with the source, and only then may a service open it.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/postgres"
)

// Options states what is copied where.
type Options struct {
	From string // the data folder
	To   string // the database's URL
	// Objects is the place of the objects; empty: they stay in the data folder.
	Objects string
	// VerifyOnly compares source and target, and writes nothing.
	VerifyOnly bool
	// Log receives failed responses of a bucket; it may be nil.
	Log *slog.Logger
	// Now is the clock, for how long each step takes.
	Now func() time.Time
	// Progress is called periodically with the progress; it may be nil.
	Progress func(Progress)
}

// Progress is how far a step has come in this run.
type Progress struct {
	Step  string // as [Step] names it, with "verify " before it when it is compared
	Rows  int64
	Bytes int64
}

// Steps of a move.
const (
	Records   = "records"
	Telemetry = "telemetry"
	Jobs      = "jobs"
	Objects   = "objects"
)

// Report states what is in the source, what was copied, and whether the target
// holds the same.
type Report struct {
	Steps     []Step    `json:"steps"`
	Records   []Section `json:"records"`   // by bucket
	Telemetry []Section `json:"telemetry"` // by site
	Jobs      []Section `json:"jobs"`      // by state
	// Resumed reports that an earlier run had begun; Complete, that one had
	// finished, so that this run only compared.
	Resumed  bool `json:"resumed"`
	Complete bool `json:"complete"`
	// Differences are sentences; empty when the target holds what the source does.
	Differences []string `json:"differences"`
}

// Step is one kind of data.
type Step struct {
	Name          string  `json:"name"`
	Parts         int     `json:"parts"` // buckets, sites, states of jobs; of objects none
	Rows          int64   `json:"rows"`  // or objects, in the source
	Bytes         int64   `json:"bytes"` // keys and values, or the objects' sizes
	CopiedRows    int64   `json:"copied_rows"`
	CopiedBytes   int64   `json:"copied_bytes"`
	CopySeconds   float64 `json:"copy_seconds"`
	VerifySeconds float64 `json:"verify_seconds"`
}

// Section is a bucket or a site.
type Section struct {
	Name   string `json:"name"`
	Rows   int64  `json:"rows"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"` // over its ordered rows, in hex
}

// mostDifferences bounds how many differences are named.
const mostDifferences = 100

// mover is a running migration.
type mover struct {
	Options
	source *source
	target *postgres.Store
	move   *postgres.Import // nil: nothing is written
	places *places          // nil: objects stay where they are
	marks  map[store.RowSet]postgres.Checkpoint
	known  map[store.RowSet]tally // of the source
	report *Report
}

// Run copies the data, or continues an earlier run. A difference found at the
// end is in the report, and no error.
func Run(ctx context.Context, o Options) (report *Report, err error) {
	from, err := openSource(o.From)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	m := &mover{Options: o, source: from, known: map[store.RowSet]tally{}, report: &Report{Records: []Section{}, Telemetry: []Section{}, Jobs: []Section{}, Differences: []string{}}}
	if m.Progress == nil {
		m.Progress = func(Progress) {}
	}
	if o.Objects != "" {
		if m.places, err = openPlaces(ctx, o); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, m.places.target.Close()) }()
	}
	m.target, err = postgres.Open(ctx, o.To, postgres.Options{Now: o.Now, Importing: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, m.target.Close()) }()
	if err := m.begin(ctx); err != nil {
		return nil, fmt.Errorf("move into the database: %w", err)
	}
	if m.move != nil {
		if err := m.copy(ctx); err != nil {
			return nil, err
		}
	}
	if err := m.verify(ctx); err != nil {
		return nil, err
	}
	if m.move != nil && len(m.report.Differences) == 0 {
		if err := m.move.End(ctx); err != nil {
			return nil, err
		}
	}
	return m.report, nil
}

// begin marks the target, unless it is only to be looked at.
func (m *mover) begin(ctx context.Context) error {
	if m.VerifyOnly {
		return nil
	}
	place := ""
	if m.places != nil {
		place = m.places.place
	}
	move, err := m.target.BeginImport(ctx, m.source.id, place, func() error { return m.places.checkEmpty(ctx) })
	if err != nil {
		return err
	}
	m.report.Complete = move.Ended
	m.report.Resumed = !move.First
	if move.Ended {
		return nil // what was moved may be in use: it is compared, and not written to
	}
	m.move = move
	m.marks, err = move.Checkpoints(ctx)
	return err
}

// copy copies what the target does not have yet.
func (m *mover) copy(ctx context.Context) error {
	sets, err := m.source.RowSets(ctx)
	if err != nil {
		return err
	}
	for _, step := range []string{Records, Telemetry, Jobs} {
		if err := m.timed(step, func(s *Step) error { return m.copySets(ctx, s, setsOf(step, sets)) }); err != nil {
			return err
		}
	}
	// What is marked and no longer in the source.
	for set := range m.marks {
		if err := m.move.Clear(ctx, set); err != nil {
			return err
		}
	}
	if m.places == nil {
		return nil
	}
	return m.timed(Objects, func(s *Step) error { return m.places.copy(ctx, m, s) })
}

// setsOf are the sets of a step.
func setsOf(step string, sets []store.RowSet) (of []store.RowSet) {
	for _, set := range sets {
		in := Telemetry
		switch set.Kind {
		case store.RecordRows:
			in = Records
		case store.JobRows:
			in = Jobs
		}
		if in == step {
			of = append(of, set)
		}
	}
	return of
}

// step is the report's of a name.
func (m *mover) step(name string) *Step {
	for i := range m.report.Steps {
		if m.report.Steps[i].Name == name {
			return &m.report.Steps[i]
		}
	}
	m.report.Steps = append(m.report.Steps, Step{Name: name})
	return &m.report.Steps[len(m.report.Steps)-1]
}

// timed copies a step.
func (m *mover) timed(name string, do func(s *Step) error) error {
	begin, s := m.Now(), m.step(name)
	if err := do(s); err != nil {
		return fmt.Errorf("copy the %s: %w", name, err)
	}
	s.CopySeconds = m.Now().Sub(begin).Seconds()
	return nil
}
