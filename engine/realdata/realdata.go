// Package realdata locates the measured data sets next to the repository, for
// tests. A test that needs a data set is skipped if it is absent. Only tests
// import the package.
package realdata

import (
	"compress/gzip"
	"encoding/csv"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// Path is the place of a file or folder of ../shared, seen from the root of
// the repository.
func Path(t testing.TB, name string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		if dir == filepath.Dir(dir) {
			t.Fatal("there is no go.mod above the test")
		}
		dir = filepath.Dir(dir)
	}
	root := filepath.Join(dir, "..", "shared")
	if _, err := os.Stat(root); err != nil {
		t.Skip("../shared is not here")
	}
	return filepath.Join(root, name)
}

// Open reads a file of ../shared, unpacked if it is gzip.
func Open(t testing.TB, name string) io.Reader {
	t.Helper()
	f, err := os.Open(Path(t, name))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // only read
	if !strings.HasSuffix(name, ".gz") {
		return f
	}
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return z
}

// Rows are all records of a CSV file of ../shared, of whatever lengths.
func Rows(t testing.TB, name string) [][]string {
	t.Helper()
	r := csv.NewReader(Open(t, name))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// Number returns a cell's number, NaN if it is not a number.
func Number(cell string) float64 {
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil {
		return math.NaN()
	}
	return v
}
