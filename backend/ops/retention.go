package ops

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"app.sunloop/backend/store"
)

// Limits are the times before which records are dropped.
type Limits struct {
	Forecasts  time.Time // and their weather; but the first of each site's day stays
	Activities time.Time
	Detections time.Time
}

// pruneAtOnce bounds a transaction, so that others wait only briefly.
const pruneAtOnce = 500

// Prune deletes some of the records that are older than the limits, and returns how
// many it deleted: 0 when none is left to delete.
func (s *Service) Prune(ctx context.Context, limits Limits) (n int, err error) {
	err = s.records.Update(ctx, func(tx store.Tx) error {
		n = 0
		for _, one := range []struct {
			drop   func(store.Tx, time.Time) (int, error)
			before time.Time
		}{{pruneForecasts, limits.Forecasts}, {pruneWeather, limits.Forecasts}, {pruneNotes, limits.Activities}, {pruneDetections, limits.Detections}, {pruneDiagnostics, limits.Detections}} {
			k, err := one.drop(tx, one.before)
			if err != nil {
				return err
			}
			n += k
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("delete old records: %w", err)
	}
	return n, nil
}

// prune deletes records that are due, up to the bound. Site and time are read
// off the keys alone: the last part of each is an id that was made by [NewID].
func prune[T any](tx store.Tx, t store.Table[T], due func(siteID string, made time.Time) bool) (int, error) {
	var keys [][]byte
	for e, err := range tx.Scan(t.Bucket, nil, nil, false) {
		if err != nil {
			return 0, err
		}
		parts := store.Parts(e.Key)
		if made, ok := madeAt(parts); ok && due(parts[0], made) {
			keys = append(keys, bytes.Clone(e.Key))
		}
		if len(keys) == pruneAtOnce {
			break
		}
	}
	for _, k := range keys {
		if err := t.Delete(tx, k); err != nil {
			return 0, err
		}
	}
	return len(keys), nil
}

// madeAt is when the record of a key was made.
func madeAt(parts []string) (time.Time, bool) {
	if len(parts) < 2 {
		return time.Time{}, false
	}
	_, text, ok := strings.Cut(parts[len(parts)-1], "_")
	id, err := ulid.ParseStrict(text)
	return id.Timestamp().UTC(), ok && err == nil
}

// pruneForecasts deletes forecasts from before a time, except the first of each
// site's day.
func pruneForecasts(tx store.Tx, before time.Time) (int, error) {
	return prune(tx, forecasts, allButFirstOfDay(before))
}

// pruneWeather deletes the weather of such forecasts.
func pruneWeather(tx store.Tx, before time.Time) (int, error) {
	return prune(tx, weathers, allButFirstOfDay(before))
}

// allButFirstOfDay reports of records in their order whether they are due: all from
// before a limit except the first of each site's day.
func allButFirstOfDay(limit time.Time) func(siteID string, made time.Time) bool {
	former := ""
	return func(siteID string, made time.Time) bool {
		day := siteID + made.Format(time.DateOnly)
		first := day != former
		former = day
		return !first && made.Before(limit)
	}
}

// pruneNotes deletes activities from before a time.
func pruneNotes(tx store.Tx, before time.Time) (int, error) {
	return prune(tx, notes, func(_ string, made time.Time) bool { return made.Before(before) })
}

// pruneDetections deletes detections from before a time.
func pruneDetections(tx store.Tx, before time.Time) (int, error) {
	return prune(tx, detections, func(_ string, made time.Time) bool { return made.Before(before) })
}

// pruneDiagnostics deletes diagnostics from before a time.
func pruneDiagnostics(tx store.Tx, before time.Time) (int, error) {
	return prune(tx, diagnostics, func(_ string, made time.Time) bool { return made.Before(before) })
}

// OldUploads are up to limit ended uploads from before a time that are to be
// dropped, oldest first.
func (s *Service) OldUploads(ctx context.Context, drop func(Upload) bool, before time.Time, limit int) ([]Upload, error) {
	var out []Upload
	err := s.records.View(ctx, func(tx store.Tx) error {
		out = nil
		cursor := ""
		for len(out) < limit {
			list, next, err := uploads.List(tx, store.Query{Index: "time", Limit: 1000, Cursor: cursor})
			if err != nil {
				return err
			}
			for _, u := range list {
				if !u.CreatedAt.Before(before) {
					return nil // ids sort by time
				}
				if u.Ended() && drop(u) && len(out) < limit {
					out = append(out, u)
				}
			}
			if cursor = next; next == "" {
				break
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list old uploads: %w", err)
	}
	return out, nil
}

// DropUploads forgets uploads.
func (s *Service) DropUploads(tx store.Tx, list []Upload) error {
	for _, u := range list {
		if err := uploads.Delete(tx, uploads.Key(u)); err != nil {
			return fmt.Errorf("drop old uploads: %w", err)
		}
	}
	return nil
}
