//go:build !gateway

package migrate

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"app.sunloop/backend/store"
)

// verify reads all of the target and holds it against the source.
func (m *mover) verify(ctx context.Context) error {
	sets, err := m.allSets(ctx)
	if err != nil {
		return err
	}
	for _, step := range []string{Records, Telemetry, Jobs} {
		parts, err := m.verifySets(ctx, step, setsOf(step, sets))
		if err != nil {
			return err
		}
		*map[string]*[]Section{Records: &m.report.Records, Telemetry: &m.report.Telemetry, Jobs: &m.report.Jobs}[step] = parts
	}
	if m.places == nil {
		return nil
	}
	begin, s := m.Now(), m.step(Objects)
	if err := m.places.verify(ctx, m, s); err != nil {
		return fmt.Errorf("verify the objects: %w", err)
	}
	s.VerifySeconds = m.Now().Sub(begin).Seconds()
	return nil
}

// allSets are those of source and target, in order.
func (m *mover) allSets(ctx context.Context) ([]store.RowSet, error) {
	all := map[store.RowSet]bool{}
	for _, storage := range []store.Raw{m.source, m.target} {
		sets, err := storage.RowSets(ctx)
		if err != nil {
			return nil, err
		}
		for _, set := range sets {
			all[set] = true
		}
	}
	return slices.SortedFunc(maps.Keys(all), func(a, b store.RowSet) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Kind, b.Kind))
	}), nil
}

// verifySets compares sets, ordered by name, and returns the source's parts.
func (m *mover) verifySets(ctx context.Context, name string, sets []store.RowSet) ([]Section, error) {
	begin, s, progress := m.Now(), m.step(name), Progress{Step: "verify " + name}
	parts := []Section{}
	sum := sha256.New()
	for i, set := range sets {
		want, known := m.known[set]
		if !known {
			var err error
			if want, err = m.read(ctx, m.source, set, nil); err != nil {
				return nil, fmt.Errorf("read %s of the source: %w", named(set), err)
			}
		}
		got, err := m.read(ctx, m.target, set, &progress)
		if err != nil {
			return nil, fmt.Errorf("read %s of the target: %w", named(set), err)
		}
		if got != want {
			if err := m.compare(ctx, set); err != nil {
				return nil, err
			}
		}
		if i == 0 || sets[i-1].Name != set.Name {
			parts = append(parts, Section{Name: set.Name})
			sum.Reset()
		}
		p := &parts[len(parts)-1]
		p.Rows, p.Bytes = p.Rows+want.rows, p.Bytes+want.bytes
		sum.Write(want.sum[:])
		p.SHA256 = hex.EncodeToString(sum.Sum(nil))
		s.Rows, s.Bytes = s.Rows+want.rows, s.Bytes+want.bytes
	}
	s.Parts = len(parts)
	s.VerifySeconds = m.Now().Sub(begin).Seconds()
	return parts, nil
}

// read counts and sums up a set.
func (m *mover) read(ctx context.Context, from store.Raw, set store.RowSet, progress *Progress) (tally, error) {
	c := newCounter()
	for row, err := range from.Rows(ctx, set) {
		if err != nil {
			return tally{}, err
		}
		c.add(row)
		if progress == nil {
			continue
		}
		progress.Rows, progress.Bytes = progress.Rows+1, progress.Bytes+int64(len(row.Key)+len(row.Value))
		if progress.Rows%progressEvery == 0 {
			m.Progress(*progress)
		}
	}
	return c.tally(), nil
}

// differ notes a difference.
func (m *mover) differ(format string, args ...any) {
	if len(m.report.Differences) < mostDifferences {
		m.report.Differences = append(m.report.Differences, fmt.Sprintf(format, args...))
	}
}

// compare reads a set that differs side by side, and names the keys.
func (m *mover) compare(ctx context.Context, set store.RowSet) error {
	nextOfSource, endSource := iter.Pull2(m.source.Rows(ctx, set))
	defer endSource()
	nextOfTarget, endTarget := iter.Pull2(m.target.Rows(ctx, set))
	defer endTarget()
	a, errA, isA := nextOfSource()
	b, errB, isB := nextOfTarget()
	for isA || isB {
		if err := cmp.Or(errA, errB); err != nil {
			return fmt.Errorf("compare %s: %w", named(set), err)
		}
		order := bytes.Compare(a.Key, b.Key)
		if !isA {
			order = 1
		} else if !isB {
			order = -1
		}
		switch {
		case order < 0:
			m.differ("%s: %s is missing in the target", named(set), keyOf(set, a.Key))
		case order > 0:
			m.differ("%s: %s is in the target alone", named(set), keyOf(set, b.Key))
		case !bytes.Equal(a.Value, b.Value):
			m.differ("%s: %s has another value in the target", named(set), keyOf(set, a.Key))
		}
		if order <= 0 {
			a, errA, isA = nextOfSource()
		}
		if order >= 0 {
			b, errB, isB = nextOfTarget()
		}
	}
	return nil
}

// named describes a set.
func named(set store.RowSet) string {
	switch set.Kind {
	case store.RecordRows:
		return "bucket " + set.Name
	case store.JobRows:
		return set.Name + " jobs"
	}
	return set.Kind + " of site " + set.Name
}

// keyOf returns a row's key as text.
func keyOf(set store.RowSet, key []byte) string {
	switch set.Kind {
	case store.RecordRows:
		if parts := store.Parts(key); parts != nil {
			return fmt.Sprintf("%q", parts)
		}
	case store.BlockRows, store.SumRows, store.TailRows:
		if ref, start, err := store.SplitCellKey(key); err == nil {
			at := time.Unix(start, 0).UTC().Format(time.RFC3339)
			if set.Kind == store.TailRows {
				return "the row of " + at
			}
			return fmt.Sprintf("that of asset %d from %s", ref, at)
		}
	}
	return fmt.Sprintf("%q", key)
}
