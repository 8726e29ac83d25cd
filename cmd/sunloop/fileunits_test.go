package main

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"app.sunloop/engine/ingest"
)

// Files that name no unit are distinguished by their values: those of folders by the
// folder, those of one folder by the file. Parts of one history and copies are not.
func TestUnitsByValues(t *testing.T) {
	day := func(first int, scale float64) string {
		var b strings.Builder
		b.WriteString("Time,Power (kW)\n")
		for i := range 24 {
			fmt.Fprintf(&b, "%s,%.2f\n", time.Date(2025, 6, first, i, 0, 0, 0, time.UTC).Format("2006-01-02 15:04"), scale*max(0, float64(i-5)*float64(20-i)))
		}
		return b.String()
	}
	for name, tt := range map[string]struct {
		files map[string]string
		want  map[string]string
	}{
		"two folders":         {map[string]string{"roof/export.csv": day(1, 1), "barn/export.csv": day(1, 0.7)}, map[string]string{"roof/export.csv": "roof", "barn/export.csv": "barn"}},
		"the same last parts": {map[string]string{"roof/data/e.csv": day(1, 1), "barn/data/e.csv": day(1, 0.7)}, map[string]string{"roof/data/e.csv": "roof", "barn/data/e.csv": "barn"}},
		"one folder":          {map[string]string{"east.csv": day(1, 1), "west.csv": day(1, 0.7)}, map[string]string{"east.csv": "east", "west.csv": "west"}},
		"months":              {map[string]string{"01.csv": day(1, 1), "02.csv": day(2, 0.7)}, nil},
		"copies":              {map[string]string{"a/e.csv": day(1, 1), "b/e.csv": day(1, 1)}, nil},
		"units are named":     {map[string]string{"a/e.csv": strings.Replace(day(1, 1), "Power", "INV1 Power", 1), "b/e.csv": strings.Replace(day(1, 2), "Power", "INV2 Power", 1)}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for path, text := range tt.files {
				path = filepath.Join(dir, path)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			sources, err := expandFiles([]string{dir})
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for path, unit := range unitsByValues(sources, ingest.Options{}, io.Discard) {
				rel, err := filepath.Rel(dir, path)
				if err != nil {
					t.Fatal(err)
				}
				got[filepath.ToSlash(rel)] = unit
			}
			if !maps.Equal(got, tt.want) {
				t.Errorf("units %v, want %v", got, tt.want)
			}
		})
	}
}
