package tui

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/plant"
)

// The log follows until the user scrolls, and then keeps its position while
// lines arrive; filter, level and columns apply to both.
func TestLog(t *testing.T) {
	var lines []string
	add := func(n int) {
		for range n {
			i := len(lines)
			level := []string{"INFO", "WARN"}[i%2]
			lines = append(lines, fmt.Sprintf(`time=2026-11-28T09:30:%02d.%03dZ level=%s msg="event %d" detail=%s`, i/1000, i%1000, level, i, strings.Repeat("x", 100)+"END"))
		}
	}
	add(100)
	d := start(t, 80, 24, func(o *Options, _ *plant.Service) { o.LogLines = func() []string { return lines } })
	d.press("g", "l")
	d.shows("event 99", "follows", "100 lines")
	add(1)
	d.shows("event 100")
	d.press("k")
	d.shows("position:")
	d.hides("event 100 ")
	before := d.text()
	add(50)
	if !strings.Contains(d.text(), "event 90 ") || strings.Contains(d.text(), "event 150") {
		t.Errorf("it moved:\n%s\nfrom\n%s", d.text(), before)
	}
	for range 9 {
		d.press("right")
	}
	d.shows("END", "from column 73")
	d.press("f")
	d.shows("END", "follows")
	for range 9 {
		d.press("left")
	}
	d.shows("event 150")
	d.press("v")
	d.shows("WARN and above")
	d.hides("event 150", "INFO ")
	d.press("/", "event 149", "enter")
	d.shows("event 149", "1 line")
	d.press("w")
	d.shows("151 lines written to")
	files, err := filepath.Glob(filepath.Join(d.m.o.Exports, "*.log"))
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil || string(b) != strings.Join(lines, "\n")+"\n" {
		t.Errorf("the file has %d bytes, %v", len(b), err)
	}
}

// Administrators read the log of the service too.
func TestServiceLog(t *testing.T) {
	o := startOffice(t, 120, 36, api.RoleAdmin)
	o.press("g", "l", "o")
	o.shows("Service log")
	o.press("o")
	o.shows(" Log ")
	o = startOffice(t, 120, 36, api.RoleOperator, "acme")
	o.press("g", "l", "o")
	o.shows("your role does not read the service's log")
	o.m.session.user = nil
	o.press("o")
	o.shows("Access denied.", "Next try")
}
