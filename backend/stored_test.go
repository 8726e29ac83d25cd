package backend

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/check"
	"app.sunloop/backend/store"
)

var updateStored = flag.Bool("update-stored", false, "rewrite testdata/stored.json: only for a deliberate change of the stored format")

// storedFormat describes how a table stores its records.
type storedFormat struct {
	Buckets []string          `json:"buckets"` // the table and its indexes
	Limits  map[string]string `json:"limits"`  // limit tag by path of JSON names
	Zero    json.RawMessage   `json:"zero"`    // the record without values
	Full    json.RawMessage   `json:"full"`    // the record with all values
}

// TestStoredFormat compares the stored format of each table with the golden file.
// Records are filled by the paths of their JSON names, so that the file depends on
// names, order, types and options of the fields, but not on how the Go types are
// composed. A change means that a folder of an earlier version needs a migration.
func TestStoredFormat(t *testing.T) {
	got := map[string]storedFormat{}
	for _, table := range check.Tables() {
		buckets := table.Buckets()
		f := storedFormat{Buckets: buckets}
		if record := table.Record(); record != nil {
			f.Limits = map[string]string{}
			limitsOf(f.Limits, record, "", nil)
			zero, full := reflect.New(record), reflect.New(record)
			f.Zero = marshal(t, zero.Interface())
			fillRecord(full.Elem(), buckets[0])
			f.Full = marshal(t, full.Interface())
			again := reflect.New(record)
			if err := json.Unmarshal(f.Full, again.Interface()); err != nil {
				t.Errorf("read a record of %s: %v", buckets[0], err)
			}
			if b := marshal(t, again.Interface()); !bytes.Equal(b, f.Full) {
				t.Errorf("a record of %s reads back as\n%s\nwant\n%s", buckets[0], b, f.Full)
			}
		}
		got[buckets[0]] = f
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "\t")
	if err := enc.Encode(got); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("testdata", "stored.json")
	if *updateStored {
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(golden, b.Bytes()) {
		return
	}
	is, want := strings.Split(b.String(), "\n"), strings.Split(string(golden), "\n")
	for i := range min(len(is), len(want)) {
		if is[i] != want[i] {
			t.Fatalf("%s:%d: the stored format is\n%s\nwant\n%s", file, i+1, strings.Join(is[max(i-3, 0):min(i+3, len(is))], "\n"), strings.Join(want[max(i-3, 0):min(i+3, len(want))], "\n"))
		}
	}
	t.Fatalf("%s has %d lines, want %d", file, len(is), len(want))
}

func marshal(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// versioned is a table whose records have a version.
type versioned interface {
	Version() int
	Rewrite(stored []byte) (record any, again []byte, err error)
}

// unstored are fields that a table leaves out of its records, by table and name: they
// are derived when a record is answered, or stored in another table.
var unstored = map[string][]string{"sites": {".change"}, "uploads": {".Delivery"}, "source-files": {".Status"}, "orders": {".costs"}, "interpolations": {".performance_metrics.reason", ".weather_features.reason", ".by_gap_length.reason"}}

// TestRecordsMigrate reads a record of each version that a table has had, which
// testdata/records-N.json keeps as version N stored it, and compares what the table
// stores again with the record of the present version. It also finds fields that a
// table uses and does not store. A field may be added without a new version, as it is
// absent from records of before; any other change of what is stored needs an Upgrade
// of the table and a line in the file of the new version.
func TestRecordsMigrate(t *testing.T) {
	for _, table := range check.Tables() {
		if table.Record() == nil {
			continue
		}
		bucket := table.Buckets()[0]
		t.Run(bucket, func(t *testing.T) {
			v := table.(versioned)
			want := recordOf(t, bucket, v.Version())
			if want == nil && *updateStored {
				want = full(t, table)
				addRecord(t, bucket, v.Version(), want)
			}
			for version := range v.Version() {
				stored := recordOf(t, bucket, version+1)
				if stored == nil {
					t.Fatalf("testdata/records-%d.json has no record of %s", version+1, bucket)
				}
				if _, again, err := v.Rewrite(stored); err != nil || !bytes.Equal(again, want) {
					t.Errorf("a record of version %d\n%s\nis stored again as\n%s, %v\nwant\n%s", version+1, stored, again, err, want)
				}
			}
			stored := full(t, table)
			record, again, err := v.Rewrite(stored)
			if err != nil || !bytes.Equal(again, stored) {
				t.Errorf("the record\n%s\nis stored again as\n%s, %v", stored, again, err)
			}
			for _, name := range emptyFields(reflect.ValueOf(record), "") {
				if !slices.Contains(unstored[bucket], name) {
					t.Errorf("%s%s is not stored: add it to the record with its conversions, or to unstored", bucket, name)
				}
			}
			if later := fmt.Appendf(nil, `{"v":%d}`, v.Version()+1); !errors.Is(rewriteError(v, later), store.ErrNewer) {
				t.Errorf("a record of a later version: %v, want ErrNewer", rewriteError(v, later))
			}
		})
	}
}

func rewriteError(v versioned, b []byte) error {
	_, _, err := v.Rewrite(b)
	return err
}

// full is the stored record of a table with all values.
func full(t *testing.T, table store.Checked) []byte {
	t.Helper()
	v := reflect.New(table.Record())
	fillRecord(v.Elem(), table.Buckets()[0])
	b := marshal(t, v.Interface())
	if version := table.(versioned).Version(); version > 1 {
		b = append(fmt.Appendf(nil, `{"v":%d,`, version), b[1:]...)
	}
	return b
}

func recordsFile(version int) string {
	return filepath.Join("testdata", fmt.Sprintf("records-%d.json", version))
}

// recordOf returns the record of a table that is kept for one of its versions, or nil.
func recordOf(t *testing.T, bucket string, version int) []byte {
	t.Helper()
	return keptRecords(t, version)[bucket]
}

func keptRecords(t *testing.T, version int) map[string]json.RawMessage {
	t.Helper()
	kept := map[string]json.RawMessage{}
	b, err := os.ReadFile(recordsFile(version))
	if err == nil {
		err = json.Unmarshal(b, &kept)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return kept
}

// addRecord keeps a record of a table for its version. A record that is kept already
// never changes: it is what a former program stored.
func addRecord(t *testing.T, bucket string, version int, record []byte) {
	t.Helper()
	kept := keptRecords(t, version)
	kept[bucket] = record
	var b bytes.Buffer
	for i, name := range slices.Sorted(maps.Keys(kept)) {
		fmt.Fprintf(&b, "%c\n%q: %s", "{,"[min(i, 1)], name, kept[name])
	}
	b.WriteString("\n}\n")
	if err := os.WriteFile(recordsFile(version), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// emptyFields are the JSON fields without a value that v holds, by their paths.
func emptyFields(v reflect.Value, path string) (empty []string) {
	switch {
	case v.IsZero() || v.Kind() == reflect.Slice && v.Len() == 0:
		return []string{path}
	case v.Type() == reflect.TypeFor[time.Time]() || v.Type() == reflect.TypeFor[api.Time]():
		return nil
	}
	switch v.Kind() {
	case reflect.Pointer:
		return emptyFields(v.Elem(), path)
	case reflect.Slice:
		return emptyFields(v.Index(0), path)
	case reflect.Struct:
		for i := range v.NumField() {
			if name, ok := jsonName(v.Type().Field(i)); ok {
				empty = append(empty, emptyFields(v.Field(i), path+name)...)
			}
		}
	}
	return empty
}

// fillRecord sets each value that v holds to one made of its path.
func fillRecord(v reflect.Value, path string) {
	h := fnv.New32a()
	fmt.Fprint(h, path)
	n := int64(h.Sum32()%100 + 1)
	switch v.Type() {
	case reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Date(2026, 5, 4, 3, 2, int(n)%60, 5e8, time.UTC)))
		return
	case reflect.TypeFor[json.RawMessage]():
		v.SetBytes(fmt.Appendf(nil, "{%q:%d}", path[strings.LastIndex(path, ".")+1:], n))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(path)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		v.SetInt(n)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		v.SetUint(uint64(n))
	case reflect.Float32, reflect.Float64:
		v.SetFloat(float64(n) / 4)
	case reflect.Interface:
		v.Set(reflect.ValueOf(path))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fillRecord(v.Elem(), path)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range v.Len() {
			fillRecord(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Array:
		for i := range v.Len() {
			fillRecord(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fillRecord(key, "key")
		fillRecord(value, path+".key")
		v.SetMapIndex(key, value)
	case reflect.Struct:
		for i := range v.NumField() {
			if name, ok := jsonName(v.Type().Field(i)); ok {
				fillRecord(v.Field(i), path+name)
			}
		}
	default:
		panic(fmt.Sprintf("a record holds %s at %s", v.Type(), path))
	}
}

// jsonName returns a dot and the name of a field in JSON, nothing for an embedded
// struct, whose fields JSON takes as the outer one's; ok is false for a field that
// JSON leaves out.
func jsonName(f reflect.StructField) (name string, ok bool) {
	name, _, _ = strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case name == "-" || !f.IsExported() && !f.Anonymous:
		return "", false
	case name == "" && f.Anonymous:
		return "", true
	case name == "":
		name = f.Name
	}
	return "." + name, true
}

// limitsOf writes the limit tags of a type's fields by their paths.
func limitsOf(limits map[string]string, t reflect.Type, path string, within []reflect.Type) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || t == reflect.TypeFor[time.Time]() {
		return
	}
	for _, outer := range within {
		if outer == t {
			return
		}
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, ok := jsonName(f)
		if !ok {
			continue
		}
		if tag := f.Tag.Get("limit"); tag != "" {
			limits[path+name] = tag
		}
		limitsOf(limits, f.Type, path+name, append(within, t))
	}
}

// TestRecordsAreNotWireTypes finds types of the wire contract in records: a change of
// the contract must not change what is stored. The format of times is common to both
// and fixed by TestStoredFormat.
func TestRecordsAreNotWireTypes(t *testing.T) {
	for _, table := range check.Tables() {
		record := table.Record()
		if record == nil {
			continue
		}
		if held := wireTypeIn(record, nil); held != nil {
			t.Errorf("records of %s hold %s", table.Buckets()[0], held)
		}
	}
}

// wireTypeIn returns a type of package api that a type holds, nil if it holds none.
func wireTypeIn(t reflect.Type, within []reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map || t.Kind() == reflect.Array {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[api.Time]() || slices.Contains(within, t):
		return nil
	case t.PkgPath() == reflect.TypeFor[api.Time]().PkgPath():
		return t
	case t.Kind() != reflect.Struct:
		return nil
	}
	for i := range t.NumField() {
		if _, stored := jsonName(t.Field(i)); !stored {
			continue
		}
		if held := wireTypeIn(t.Field(i).Type, append(within, t)); held != nil {
			return held
		}
	}
	return nil
}
