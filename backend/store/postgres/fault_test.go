//go:build !gateway

package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"pgregory.net/rapid"

	"app.sunloop/backend/store"
)

// TestFault: the database's messages become plain sentences, which wrap the
// original error.
func TestFault(t *testing.T) {
	said := func(code string) error {
		return fmt.Errorf("query: %w", &pgconn.PgError{Code: code, Message: `said of user "sunloop"`, Detail: "host 10.0.0.1"})
	}
	for _, c := range []struct {
		err  error
		want string
		is   error
	}{
		{said("28P01"), "write to kv: the database refuses the user or the password", store.ErrUnavailable},
		{said("53100"), "write to kv: the database's disk is full", store.ErrDiskFull},
		{said("53300"), "write to kv: the database has no room for another connection or query", store.ErrUnavailable},
		{said("25006"), "write to kv: the database is read-only", store.ErrUnavailable},
		{said("57P01"), "write to kv: the database is going down or starting", store.ErrUnavailable},
		{said("3D000"), "write to kv: there is no such database", store.ErrUnavailable},
		{said("42501"), "write to kv: the database's user may not do this", store.ErrUnavailable},
		{said("42P05"), "write to kv: the database is behind a pooler: its URL must say default_query_exec_mode=exec", store.ErrUnavailable},
		{said("26000"), "write to kv: the database is behind a pooler: its URL must say default_query_exec_mode=exec", store.ErrUnavailable},
		{said("42P01"), `write to kv: the database answers "said of user \"sunloop\"" (42P01)`, nil},
		{io.ErrUnexpectedEOF, "write to kv: the database cannot be reached", io.ErrUnexpectedEOF},
		{io.ErrUnexpectedEOF, "write to kv: the database cannot be reached", store.ErrUnavailable},
		{fmt.Errorf("wait: %w", context.DeadlineExceeded), "write to kv: the database does not answer in time", context.DeadlineExceeded},
		{fmt.Errorf("wait: %w", context.DeadlineExceeded), "write to kv: the database does not answer in time", store.ErrUnavailable},
		{fmt.Errorf("wait: %w", context.Canceled), "write to kv: context canceled", context.Canceled},
		{errors.New("number of field descriptions must equal number of values"), "write to kv: the database's answer cannot be read, or the question not be asked", nil},
	} {
		err := fault("write to kv", c.err)
		if err.Error() != c.want {
			t.Errorf("%q, want %q", err, c.want)
		}
		if c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%v is not %v", err, c.is)
		}
		if errors.Is(err, store.ErrDiskFull) != (c.is == store.ErrDiskFull) { //nolint:errorlint // of the table
			t.Errorf("%v is of a full disk", err)
		}
		why := ""
		if errors.Is(err, store.ErrUnavailable) {
			why, _ = strings.CutPrefix(c.want, "write to kv: ")
		}
		if gone := c.is == store.ErrUnavailable || c.is == io.ErrUnexpectedEOF || c.is == context.DeadlineExceeded; store.Reason(err) != why || (why != "") != gone { //nolint:errorlint // of the table
			t.Errorf("%v: the database is not available because %q", err, store.Reason(err))
		}
	}
	if fault("write", nil) != nil {
		t.Error("nothing is an error")
	}
	for code, want := range map[string]bool{"40001": true, "40P01": true, "23505": false} {
		if retryable(fmt.Errorf("order: %w", fault("write", said(code)))) != want {
			t.Errorf("%s is tried again: %v", code, !want)
		}
	}
}

// TestShardOf: keys sort as what they are split into, and are put together again.
func TestShardOf(t *testing.T) {
	key := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 'a', 0xff}), 0, 8)
	rapid.Check(t, func(t *rapid.T) {
		a, b := key.Draw(t, "a"), key.Draw(t, "b")
		as, ar := shardOf(a)
		bs, br := shardOf(b)
		order := bytes.Compare(as, bs)
		if order == 0 {
			order = bytes.Compare(ar, br)
		}
		if order != bytes.Compare(a, b) || !bytes.Equal(append(bytes.Clone(as), ar...), a) {
			t.Fatalf("%q is %q and %q, %q is %q and %q", a, as, ar, b, bs, br)
		}
	})
}
