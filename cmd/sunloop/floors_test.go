package main

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// floors are the packages of ARCHITECTURE.md, each with the packages of ours
// that it may import, itself and its sub-packages included. A trailing /...
// means a whole tree.
var floors = []struct {
	tree string
	may  []string
}{
	{"app.sunloop/themes", nil},
	{"app.sunloop/internal/style", nil},
	{"app.sunloop/internal/longtest", nil}, // for tests
	{"app.sunloop/internal/clock", nil},
	{"app.sunloop/internal/display", nil},
	{"app.sunloop/engine/series", nil},
	{"app.sunloop/engine/points", []string{"engine/series"}},
	{"app.sunloop/engine/reading", []string{"engine/series"}},
	{"app.sunloop/engine/rhythm", nil},
	{"app.sunloop/engine/sunspec", []string{"engine/reading", "engine/series"}},
	{"app.sunloop/engine/registermap", []string{"engine/reading", "engine/series"}},
	{"app.sunloop/engine/dialect", []string{"engine/reading", "engine/series"}},
	{"app.sunloop/engine/energy", []string{"engine/series"}},
	{"app.sunloop/engine/solar", nil},
	{"app.sunloop/engine/realdata", nil},
	{"app.sunloop/engine/place/...", []string{"engine/series"}},
	{"app.sunloop/engine/ingest/format", nil},
	{"app.sunloop/engine/ingest", []string{"engine/series", "engine/ingest/format"}},
	{"app.sunloop/engine/ingest/piece", []string{"engine/ingest", "engine/ingest/format", "engine/series"}},
	{"app.sunloop/engine/plausible", []string{"engine/ingest", "engine/ingest/format", "engine/place", "engine/series", "engine/solar"}},
	{"app.sunloop/engine/weather", []string{"engine/series", "engine/solar"}},
	{"app.sunloop/engine/learn/...", nil},
	{"app.sunloop/engine/forecast", []string{"engine/series", "engine/solar", "engine/weather", "engine/learn/..."}},
	{"app.sunloop/engine/interpolate", []string{"engine/series", "engine/solar", "engine/weather", "engine/learn/...", "engine/forecast"}},
	{"app.sunloop/engine/replay/...", []string{"engine/series", "engine/solar", "engine/weather", "engine/learn/...", "engine/forecast"}},
	{"app.sunloop/engine/loss", nil},
	{"app.sunloop/engine/detect", []string{"engine/loss", "engine/series", "engine/solar"}},
	{"app.sunloop/engine/diagnose", []string{"engine/detect", "engine/loss", "engine/series", "engine/solar"}},
	{"app.sunloop/engine/score", []string{"engine/simulate", "engine/detect", "engine/loss", "engine/diagnose", "engine/series", "engine/solar"}},
	{"app.sunloop/engine/kpi", []string{"engine/series", "engine/solar"}},
	{"app.sunloop/engine/simulate", []string{"engine/series", "engine/solar"}},
	{"app.sunloop/backend/limit", nil},
	{"app.sunloop/backend/regularfile", nil},
	{"app.sunloop/backend/names", nil},
	{"app.sunloop/backend/api", []string{"backend/limit"}},
	{"app.sunloop/backend/api/contract", []string{"backend/api", "backend/limit"}}, // tests alone
	{"app.sunloop/backend/client", []string{"backend/api", "backend/limit"}},
	{"app.sunloop/backend/openapi/...", []string{"backend/api", "backend/limit"}},
	{"app.sunloop/backend/compat", nil},     // tests alone
	{"app.sunloop/backend/laws", nil},       // tests alone
	{"app.sunloop/backend/resilience", nil}, // tests alone
	{"app.sunloop/backend/attack", nil},     // tests alone
	{"app.sunloop/backend/servetest", []string{"backend/api", "backend/limit", "backend/client"}},
	{"app.sunloop/deploy/...", nil}, // tests, and the archives of a release
	{"app.sunloop/backend/feed", []string{"backend/api", "backend/limit", "backend/client", "engine/series", "engine/simulate", "engine/solar"}},
	{"app.sunloop/backend/admission", nil},
	{"app.sunloop/backend/listener", []string{"backend/admission", "backend/api", "backend/limit"}},
	{"app.sunloop/backend/mail", nil},
	{"app.sunloop/backend/backup", nil},
	{"app.sunloop/backend/admin/socket", nil},
	{"app.sunloop/backend/logbuffer", []string{"backend/api", "backend/limit"}},
	{"app.sunloop/backend/store/...", []string{"backend/limit", "engine/energy", "engine/series"}},
	{"app.sunloop/backend/migrate", []string{"backend/limit", "backend/store/...", "engine/energy", "engine/series"}},
	{"app.sunloop/backend/openmeteo", []string{"engine/series", "engine/solar", "engine/weather"}},
	{"app.sunloop/backend/auth", []string{"backend/admission", "backend/api", "backend/limit", "backend/names", "backend/store", "engine/energy", "engine/series"}},
	{"app.sunloop/backend/audit", []string{"backend/admission", "backend/api", "backend/limit", "backend/store", "engine/energy", "engine/series"}},
	{"app.sunloop/backend/domain/record", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "engine/..."}},
	{"app.sunloop/backend/domain/activity", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/record", "engine/..."}},
	{"app.sunloop/backend/domain/site", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/record", "backend/domain/activity", "engine/..."}},
	{"app.sunloop/backend/domain/run", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/record", "backend/domain/activity", "backend/domain/site", "engine/..."}},
	{"app.sunloop/backend/domain/upload", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/record", "backend/domain/activity", "backend/domain/site", "engine/..."}},
	{"app.sunloop/backend/domain/model", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/record", "backend/domain/activity", "backend/domain/site", "engine/..."}},
	{"app.sunloop/backend/domain/finding", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/record", "backend/domain/activity", "backend/domain/site", "engine/..."}},
	{"app.sunloop/backend/domain/forecast", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/record", "backend/domain/activity", "backend/domain/site", "backend/domain/upload", "backend/domain/model", "backend/domain/finding", "engine/..."}},
	{"app.sunloop/backend/domain/alert", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/record", "backend/domain/activity", "backend/domain/site", "backend/domain/upload", "backend/domain/model", "backend/domain/finding", "engine/..."}},
	{"app.sunloop/backend/domain/issue", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/record", "backend/domain/activity", "backend/domain/site", "backend/domain/upload", "backend/domain/model", "backend/domain/finding", "backend/domain/forecast", "backend/domain/alert", "engine/..."}},
	{"app.sunloop/backend/domain/detection", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/record", "backend/domain/activity", "backend/domain/site", "backend/domain/upload", "backend/domain/model", "backend/domain/finding", "backend/domain/forecast", "backend/domain/alert", "backend/domain/issue", "engine/..."}},
	{"app.sunloop/backend/domain/availability", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/record", "backend/domain/activity", "backend/domain/site", "backend/domain/upload", "backend/domain/model", "backend/domain/finding", "backend/domain/forecast", "backend/domain/alert", "backend/domain/issue", "backend/domain/detection", "engine/..."}},
	{"app.sunloop/backend/domain/kpi", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/record", "backend/domain/activity", "backend/domain/site", "backend/domain/upload", "backend/domain/model", "backend/domain/finding", "backend/domain/forecast", "backend/domain/alert", "backend/domain/issue", "backend/domain/detection", "backend/domain/availability", "engine/..."}},
	{"app.sunloop/backend/domain/shift", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/record", "backend/domain/activity", "backend/domain/site", "engine/..."}},
	{"app.sunloop/backend/domain", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/record", "backend/domain/activity", "backend/domain/site", "backend/domain/upload", "backend/domain/model", "backend/domain/finding", "backend/domain/forecast", "backend/domain/alert", "backend/domain/issue", "backend/domain/detection", "backend/domain/availability", "backend/domain/kpi", "backend/domain/run", "backend/domain/shift", "engine/..."}},
	{"app.sunloop/backend/domain/domaintest", []string{"backend/domain/...", "backend/store/...", "backend/api", "backend/limit", "backend/names", "backend/store", "engine/..."}}, // for tests
	{"app.sunloop/backend/webhook", nil},
	{"app.sunloop/backend/notify", nil},
	{"app.sunloop/backend/notify/picture", nil},
	{"app.sunloop/backend/notify/channel", []string{"backend/mail", "backend/notify", "backend/webhook"}},
	{"app.sunloop/backend/metrics", nil},
	{"app.sunloop/backend/tracing", nil},
	{"app.sunloop/backend/domain/outbox", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/record", "backend/webhook", "engine/..."}},
	{"app.sunloop/backend/domain/maintenance", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/...", "backend/webhook", "engine/..."}},
	{"app.sunloop/backend/domain/subscription", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/...", "backend/stream", "backend/webhook", "engine/..."}},
	{"app.sunloop/backend/domain/report", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/...", "backend/webhook", "engine/...", "backend/notify", "backend/notify/picture", "internal/clock"}},
	{"app.sunloop/backend/domain/notification", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/...", "backend/notify", "backend/webhook", "engine/..."}},
	{"app.sunloop/backend/partner", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/...", "engine/..."}},
	{"app.sunloop/backend/pipeline/sitedata", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/store/objects", "backend/domain/...", "engine/..."}},
	{"app.sunloop/backend/pipeline/importer", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/store/block", "backend/store/objects", "backend/domain/...", "backend/pipeline/sitedata", "engine/..."}},
	{"app.sunloop/backend/pipeline/sitechange", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/store/block", "backend/store/objects", "backend/domain/...", "backend/pipeline/sitedata", "backend/pipeline/importer", "engine/..."}},
	{"app.sunloop/backend/pipeline/livedata", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/store/objects", "backend/domain/...", "backend/pipeline/sitedata", "engine/..."}},
	{"app.sunloop/backend/gateway/drop", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/domain/...", "internal/clock", "engine/..."}},
	{"app.sunloop/backend/gateway/drop/droptest", nil}, // for tests
	{"app.sunloop/backend/gateway/modbus", nil},
	{"app.sunloop/backend/gateway/mqtt", nil},
	{"app.sunloop/backend/gateway/spool", []string{"backend/limit", "backend/store", "backend/store/block", "engine/energy", "engine/series"}},
	{"app.sunloop/backend/gateway/forward", []string{"backend/api", "backend/limit", "backend/gateway/spool", "backend/store", "backend/store/block", "engine/energy", "engine/series"}},
	{"app.sunloop/backend/gateway", []string{"backend/api", "backend/limit", "backend/gateway/drop", "backend/gateway/modbus", "backend/gateway/mqtt", "backend/gateway/spool", "backend/gateway/forward", "backend/names", "backend/store/block", "backend/store", "backend/domain/...", "engine/..."}},
	{"app.sunloop/backend/pipeline/forecasting", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/store/objects", "backend/domain/...", "backend/pipeline/sitedata", "engine/..."}},
	{"app.sunloop/backend/pipeline/detection", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/store/objects", "backend/domain/...", "backend/pipeline/sitedata", "engine/..."}},
	{"app.sunloop/backend/pipeline/gapfill", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/store/objects", "backend/domain/...", "backend/pipeline/sitedata", "engine/..."}},
	{"app.sunloop/backend/pipeline/training", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/store/block", "backend/store/objects", "backend/domain/...", "backend/pipeline/sitedata", "backend/pipeline/importer", "backend/pipeline/forecasting", "backend/pipeline/detection", "engine/..."}},
	{"app.sunloop/backend/pipeline/snapshot", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/store/objects", "backend/domain/...", "backend/partner", "backend/pipeline/sitedata", "backend/pipeline/forecasting", "engine/..."}},
	{"app.sunloop/backend/pipeline", []string{"backend/api", "backend/limit", "backend/names", "backend/store", "backend/store/block", "backend/store/objects", "backend/domain/...", "backend/partner", "backend/pipeline/...", "engine/..."}},
	{"app.sunloop/backend/freemium", []string{"backend/admission", "backend/api", "backend/limit", "backend/mail", "backend/store", "engine/..."}},
	{"app.sunloop/backend/stream", []string{"backend/api", "backend/limit", "backend/store", "engine/..."}},
	{"app.sunloop/backend/httpapi", []string{"backend/stream", "backend/admission", "backend/api", "backend/limit", "backend/names", "backend/auth", "backend/openapi", "backend/store", "engine/points", "engine/energy", "engine/series"}},
	{"app.sunloop/backend/lambda", []string{"backend/api", "backend/limit"}},
	{"app.sunloop/backend/health", []string{"backend/api", "backend/limit", "backend/store", "backend/store/objects", "engine/energy", "engine/series"}},
	{"app.sunloop/backend/check", []string{"backend/admission", "backend/api", "backend/audit", "backend/auth", "backend/backup", "backend/domain/...", "backend/freemium", "backend/httpapi", "backend/stream", "backend/limit", "backend/mail", "backend/names", "backend/notify", "backend/openapi", "backend/partner", "backend/pipeline/livedata", "backend/pipeline/sitedata", "backend/store/...", "backend/webhook", "engine/..."}},
	{"app.sunloop/backend/admin", []string{"backend/admin/socket", "backend/check", "backend/admission", "backend/api", "backend/audit", "backend/auth", "backend/backup", "backend/domain/...", "backend/freemium", "backend/httpapi", "backend/stream", "backend/limit", "backend/mail", "backend/names", "backend/notify", "backend/openapi", "backend/partner", "backend/pipeline/livedata", "backend/pipeline/sitedata", "backend/store/...", "backend/webhook", "engine/..."}},
	{"app.sunloop/backend/instrument", []string{"backend/admission", "backend/api", "backend/auth", "backend/domain/...", "backend/freemium", "backend/health", "backend/httpapi", "backend/stream", "backend/limit", "backend/mail", "backend/metrics", "backend/names", "backend/notify", "backend/openapi", "backend/partner", "backend/pipeline/...", "backend/store", "backend/store/block", "backend/store/objects", "backend/tracing", "backend/webhook", "engine/..."}},
	{"app.sunloop/tui/...", []string{"backend/admission", "backend/api", "backend/limit", "backend/client", "themes"}},
	{"app.sunloop/tui/chart", []string{"themes", "tui/terminal"}},
	{"app.sunloop/tui/keymap", nil},
	{"app.sunloop/tui/layout", []string{"themes", "tui/terminal"}},
	{"app.sunloop/tui/state", []string{"backend/api", "backend/limit", "backend/client", "themes", "tui/terminal"}},
	{"app.sunloop/tui/terminal", []string{"themes"}},
	{"app.sunloop/tui/view", []string{"backend/api", "backend/limit", "backend/client", "themes", "tui/chart", "tui/keymap", "tui/state", "tui/terminal"}},
	{"app.sunloop/tui/view/widget", viewMay()},
	{"app.sunloop/tui/view/alarm", viewMay("tui/view/widget")},
	{"app.sunloop/tui/view/workflow", viewMay("tui/view/widget")},
	{"app.sunloop/tui/view/admin", viewMay("tui/view/widget")},
	{"app.sunloop/tui/view/notification", viewMay("tui/view/widget")},
	{"app.sunloop/tui/view/plant", viewMay("tui/view/widget", "tui/view/alarm")},
	{"app.sunloop/tui/view/app", viewMay("tui/view/widget", "tui/settings")},
	{"app.sunloop/tui/view/operations", viewMay("tui/view/widget", "tui/view/alarm", "tui/view/workflow", "tui/view/plant")},
	{"app.sunloop/tui/view/analysis", viewMay("tui/view/widget", "tui/view/alarm", "tui/view/workflow", "tui/view/plant", "tui/view/operations")},
	{"app.sunloop/tui/view/maintenance", viewMay("tui/view/widget", "tui/view/alarm", "tui/view/workflow", "tui/view/plant", "tui/view/admin", "tui/view/operations")},
	{"app.sunloop/tui/view/golden", nil}, // tests alone
}

// viewMay are the packages that every view may import, and some views.
func viewMay(views ...string) []string {
	return append([]string{"backend/api", "backend/limit", "backend/client", "themes", "tui/chart", "tui/keymap", "tui/state", "tui/terminal", "tui/view"}, views...)
}

// TestFloors holds the plan of ARCHITECTURE.md against what the packages
// import, directly or not, tests left out.
func TestFloors(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "app.sunloop/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	within := func(pkg, tree string) bool {
		if root, ok := strings.CutSuffix(tree, "/..."); ok {
			return pkg == root || strings.HasPrefix(pkg, root+"/")
		}
		return pkg == tree
	}
	checked := map[string]bool{}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		pkg, deps := words[0], words[1:]
		for _, floor := range floors {
			if !within(pkg, floor.tree) {
				continue
			}
			checked[floor.tree] = true
			for _, dep := range deps {
				if !strings.HasPrefix(dep, "app.sunloop/") || within(dep, floor.tree) {
					continue
				}
				if dep == "app.sunloop/internal/clock" || dep == "app.sunloop/internal/display" {
					continue // which all may use
				}
				if within(dep, "app.sunloop/backend/regularfile") && strings.HasPrefix(pkg, "app.sunloop/backend/") {
					continue // which any of these may use
				}
				allowed := slices.ContainsFunc(floor.may, func(m string) bool { return within(dep, "app.sunloop/"+m) })
				if !allowed {
					t.Errorf("%s imports %s, which is not below it", pkg, dep)
				}
			}
		}
	}
	for _, floor := range floors {
		if !checked[floor.tree] {
			t.Errorf("there is no package %s: the table is stale", floor.tree)
		}
	}
}

// TestEveryPackageHasAFloor keeps new packages from standing outside the plan.
func TestEveryPackageHasAFloor(t *testing.T) {
	out, err := exec.Command("go", "list", "app.sunloop/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	roof := []string{"app.sunloop/backend", "app.sunloop/cmd/"}
	for pkg := range strings.FieldsSeq(string(out)) {
		if pkg == roof[0] || strings.HasPrefix(pkg, roof[1]) {
			continue
		}
		known := slices.ContainsFunc(floors, func(f struct {
			tree string
			may  []string
		}) bool {
			root, all := strings.CutSuffix(f.tree, "/...")
			return pkg == root || all && strings.HasPrefix(pkg, root+"/")
		})
		if !known {
			t.Errorf("%s is in no layer of the table", pkg)
		}
	}
}

// mapEntry is the name of a package at the start of a column of the map.
var mapEntry = regexp.MustCompile(`^[a-z0-9]+(/[a-z0-9]+)*(/…)?$`)

// TestMapOfPackages compares the map in ARCHITECTURE.md with the packages
// there are, in both directions.
func TestMapOfPackages(t *testing.T) {
	out, err := exec.Command("go", "list", "app.sunloop/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []string
	for pkg := range strings.FieldsSeq(string(out)) {
		packages = append(packages, strings.TrimPrefix(pkg, "app.sunloop/"))
	}
	text, err := os.ReadFile("../../ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```\n")
	block, _, ok := strings.Cut(rest, "```\n")
	if !ok {
		t.Fatal("ARCHITECTURE.md has no map")
	}
	columns := regexp.MustCompile(`  +`)
	var listed, trees []string
	for line := range strings.Lines(block) {
		line = strings.TrimRight(line, "\n")
		indent := len(line) - len(strings.TrimLeft(line, " "))
		for i, column := range columns.Split(strings.TrimSpace(line), -1) {
			name := column
			if i == 0 {
				name, _, _ = strings.Cut(column, " ")
			}
			if !mapEntry.MatchString(name) {
				continue
			}
			name, tree := strings.CutSuffix(name, "/…")
			prefixes := []string{"", "backend/", "engine/", "tui/"}
			if indent == 4 {
				prefixes = []string{"tui/view/"}
			}
			found := false
			for _, prefix := range prefixes {
				full := prefix + name
				if slices.Contains(packages, full) {
					listed, found = append(listed, full), true
					break
				}
				if tree && slices.ContainsFunc(packages, func(p string) bool { return strings.HasPrefix(p, full+"/") }) {
					trees, found = append(trees, full+"/"), true
					break
				}
			}
			if !found && i == 0 {
				t.Errorf("the map lists %s, which is no package", name)
			}
		}
	}
	for _, pkg := range packages {
		if !slices.Contains(listed, pkg) && !slices.ContainsFunc(trees, func(tree string) bool { return strings.HasPrefix(pkg, tree) }) {
			t.Errorf("the map in ARCHITECTURE.md does not list %s", pkg)
		}
	}
}

// TestContractIsNotLinked keeps the cases of the contract, which are for tests,
// out of the program.
func TestContractIsNotLinked(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "app.sunloop/cmd/sunloop").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	if slices.Contains(strings.Fields(string(out)), "app.sunloop/backend/api/contract") {
		t.Error("cmd/sunloop links backend/api/contract")
	}
}
