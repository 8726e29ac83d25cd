package store

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"

	"app.sunloop/backend/limit"
)

// Form converts records of type T to the type that a table stores in their place. It
// is made by [As].
type Form[T any] interface {
	stored() reflect.Type
	record(v T) any
	fit(v T, former *T) (fitted T, record any, err error)
	read(b []byte) (T, error)
}

// As returns the form of a table that stores each T as an R. R has the JSON names and
// the limits of the stored record, so that neither follows a change of T. A field of T
// that R does not have is not stored.
func As[T, R any](toRecord func(T) R, fromRecord func(R) T) Form[T] {
	return form[T, R]{toRecord: toRecord, fromRecord: fromRecord}
}

type form[T, R any] struct {
	toRecord   func(T) R
	fromRecord func(R) T
}

func (f form[T, R]) stored() reflect.Type { return reflect.TypeFor[R]() }

func (f form[T, R]) record(v T) any { return f.toRecord(v) }

// fit returns v as it can be read from the record, whose fields are within their
// limits.
func (f form[T, R]) fit(v T, former *T) (T, any, error) {
	var was *R
	if former != nil {
		r := f.toRecord(*former)
		was = &r
	}
	r, err := limit.Fit(f.toRecord(v), was)
	if err != nil {
		return v, nil, err
	}
	return f.fromRecord(r), r, nil
}

func (f form[T, R]) read(b []byte) (v T, err error) {
	var r R
	if err := json.Unmarshal(b, &r); err != nil {
		return v, err
	}
	return f.fromRecord(r), nil
}

func same[T any](v T) T { return v }

// form is the table's form; without one, T is what is stored.
func (t Table[T]) form() Form[T] {
	if t.Form != nil {
		return t.Form
	}
	return As(same[T], same[T])
}

// Upgrade changes the fields of a stored record from one version of its table to the
// next. It must not change what the key and the indexes are made of.
type Upgrade func(fields map[string]json.RawMessage) error

// Version is the version of the records that the table writes, 1 at first.
func (t Table[T]) Version() int { return 1 + len(t.Upgrades) }

// versionField starts a stored record whose version is above 1.
const versionField = `{"v":`

// versionOf returns the version of a stored record and the record without it.
func versionOf(b []byte) (version int, rest []byte, err error) {
	number, marked := bytes.CutPrefix(b, []byte(versionField))
	if !marked {
		return 1, b, nil
	}
	end := bytes.IndexAny(number, ",}")
	if end < 0 {
		return 0, nil, fmt.Errorf("read the version of a record: no end in %.20q", b)
	}
	if version, err = strconv.Atoi(string(number[:end])); err != nil || version < 1 {
		return 0, nil, fmt.Errorf("read the version of a record: %q is not a version", number[:end])
	}
	rest = bytes.TrimPrefix(number[end:], []byte(","))
	return version, append([]byte("{"), rest...), nil
}

// encode returns the bytes of a record as they are stored: JSON, which starts with the
// version of the table if that is above 1.
func (t Table[T]) encode(record any) ([]byte, error) {
	b, err := json.Marshal(record)
	if err != nil || t.Version() == 1 {
		return b, err
	}
	marked := strconv.AppendInt([]byte(versionField), int64(t.Version()), 10)
	if len(b) > len("{}") {
		marked = append(marked, ',')
	}
	return append(marked, b[1:]...), nil
}

// Decode reads a stored record of the table's version or of a former one. The error is
// [ErrNewer] for a record of a later version.
func (t Table[T]) Decode(b []byte) (T, error) {
	v, err := t.decode(b)
	if err != nil {
		err = fmt.Errorf("read a record of %s: %w", t.Bucket, err)
	}
	return v, err
}

func (t Table[T]) decode(b []byte) (v T, err error) {
	version, b, err := versionOf(b)
	switch {
	case err != nil:
		return v, err
	case version > t.Version():
		return v, fmt.Errorf("%w: version %d, this one knows up to %d", ErrNewer, version, t.Version())
	case version < t.Version():
		if b, err = t.upgrade(b, version); err != nil {
			return v, err
		}
	}
	if t.Form == nil {
		err = json.Unmarshal(b, &v)
		return v, err
	}
	return t.Form.read(b)
}

// upgrade brings a record of a former version to the table's.
func (t Table[T]) upgrade(b []byte, version int) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(b, &fields); err != nil {
		return nil, err
	}
	for i, upgrade := range t.Upgrades[version-1:] {
		if err := upgrade(fields); err != nil {
			return nil, fmt.Errorf("upgrade it to version %d: %w", version+i+1, err)
		}
	}
	return json.Marshal(fields)
}

// Rewrite returns a stored record as the table reads it, and as it would store that
// again.
func (t Table[T]) Rewrite(b []byte) (record any, again []byte, err error) {
	v, err := t.Decode(b)
	if err != nil {
		return nil, nil, err
	}
	again, err = t.encode(t.form().record(v))
	return v, again, err
}
