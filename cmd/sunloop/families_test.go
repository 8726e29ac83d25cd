package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/engine/series"
)

// TestArcDetected: the API, whose types import no engine, has the same bit for an arc.
func TestArcDetected(t *testing.T) {
	if api.ArcDetected != series.ArcDetected {
		t.Errorf("bit %x of the API, %x of the engine", api.ArcDetected, series.ArcDetected)
	}
}

// TestFamiliesAreComplete names the tables that lack a fault family. Some
// families alone belong into further places, which CONTRIBUTING.md lists.
func TestFamiliesAreComplete(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	families := regexp.MustCompile(`(?m)^\t(\w+)\s+Family = "(\w+)"`).FindAllStringSubmatch(read("engine/detect/event.go"), -1)
	if len(families) < 20 {
		t.Fatalf("%d families in engine/detect/event.go", len(families))
	}
	for _, name := range []string{
		"engine/diagnose/causes.go", "engine/diagnose/alternatives.go", "engine/diagnose/actions.go", "engine/diagnose/severity.go", "engine/diagnose/diagnose_test.go",
		"engine/score/replay.go", "backend/domain/maintenance/catalogue.toml", "tui/view/alarm/response.go", "docs/faults.md",
	} {
		text := read(name)
		for _, f := range families {
			if !strings.Contains(text, "detect."+f[1]) && !strings.Contains(text, `"`+f[2]+`"`) && !strings.Contains(text, "`"+f[2]+"`") {
				t.Errorf("%s lacks the family %s (%s)", name, f[1], f[2])
			}
		}
	}
}
