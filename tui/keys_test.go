package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/tui/internal/plant"
)

func TestKeys(t *testing.T) {
	for _, tt := range []struct {
		keys string
		want string
	}{
		{"", "Observe"},
		{"2", "Orient"},
		{"tab tab", "Decide"},
		{"shift+tab", "Act"},
		{"z", "Observe zoomed"},
		{"z z", "Observe"},
		{"3 z esc", "Decide"},
		{"n", "Observe INV-03 f-dead"},
		{"N N", "Observe INV-05 f-weak"},
		{"N N N", "Observe INV-03 f-dead"},
		{"n esc", "Observe"},
		{"down", "Observe INV-03 f-dead"}, // the first, as nothing is selected
		{"down down", "Observe INV-05 f-weak"},
		{"enter", "Observe INV-03 f-dead [Unit INV-03]"},
		{"enter esc", "Observe INV-03 f-dead"},
		{"enter enter", "Orient INV-03 f-dead"},
		{"enter enter enter enter", "Decide INV-03 f-dead [Options]"},
		{"enter enter enter enter esc esc", "Orient INV-03 f-dead"},
		{"enter enter enter enter esc esc esc", "Observe INV-03 f-dead"},
		{"enter enter enter enter esc esc esc esc", "Observe"},
		{"enter enter 3 esc", "Decide"}, // a focus by number forgets the way
		{"enter enter N enter", "Decide INV-05 f-weak"},
		{"G enter enter", "Orient INV-08"},
		{"G g g enter enter", "Orient INV-03 f-dead"},
		{"g d", "Observe [Schedules]"},
		{"3 v", "Decide [Options]"},
		{"jj", "Observe INV-05 f-weak"}, // typed faster than it was read
		{"2 down", "Orient INV-03 f-dead"},
		{"g u", "Observe [Uploads]"},
		{"g m", "Observe [Models]"},
		{"g l", "Observe [Log]"},
		{"g x", "Observe"},
		{"g esc 2", "Orient"},
		{"g u esc", "Observe"},
		{"?", "Observe [Help]"},
		{"? ?", "Observe"},
		{": esc", "Observe"},
		{": decide enter", "Decide"},
		{": INV-07 enter", "Observe INV-07"},
		{": string enter", "Observe INV-05 f-weak"},
		{"ctrl+k", "Observe [Palette]"},
		{"S", "Observe [Site]"},
		{"U", "Observe [Import a file]"},
		{"T", "Observe [Theme]"},
		{"/", "Observe filtering"},
		{"/ INV-07 enter enter enter", "Orient INV-07"},
		{"+ c esc esc", "Observe"},
		{"g w", "Observe [Alarms]"},
		{"g w enter", "Orient INV-03 f-dead"},
		{"g w s", "Observe [Alarms] [Shelve]"},
		{"v", "Observe INV-03 f-dead"},
		{"v down", "Observe INV-06 f-back"},
		{"v down enter", "Orient INV-06 f-back"},
		{"/ zz esc", "Observe"},
		{"q", "Observe quit"},
		{"ctrl+c", "Observe"},
		{"ctrl+c ctrl+c", "Observe quit"},
		{"U ctrl+c ctrl+c", "Observe [Import a file] quit"},
		{"U q", "Observe [Import a file]"},
		{"ctrl+z", "Observe"},
		{"M", "Observe"},
	} {
		t.Run(tt.keys, func(t *testing.T) {
			d := start(t, 120, 36, nil)
			for _, k := range strings.Fields(tt.keys) {
				if k == "jj" { // one message of two keys
					d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("jj")})
					continue
				}
				d.press(k)
			}
			if got := d.place(); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestQuitTwiceWithinTwoSeconds(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press("ctrl+c")
	d.shows("Press ctrl+c again to leave.")
	d.pass(3)
	d.press("ctrl+c")
	if d.quit {
		t.Error("it left on a late second press")
	}
	d.press("ctrl+c")
	if !d.quit {
		t.Error("it stayed")
	}
}

func TestTwoKeysShowThatTheyWait(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press("g")
	d.shows("g …")
	d.press("x")
	d.hides("g …")
}

func TestFilterNarrowsAndComesBack(t *testing.T) {
	d := start(t, 80, 24, nil)
	d.press("/", "INV-07")
	d.shows("/", "INV-07 feeds in")
	d.hides("INV-08 ")
	d.press("enter")
	d.shows("/INV-07")
	d.press("esc")
	d.shows("INV-01 feeds in")
	d.press("/", "nothing such")
	d.shows("Nothing matches /nothing such")
}

// Where keys are text, no key is a command; where they are not, a lost paste
// is none.
func TestTextIsNoCommand(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press("U")
	d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("/data/zq 1.csv"), Paste: true})
	d.shows("/data/zq 1.csv")
	if d.quit || d.m.nav.zoom {
		t.Error("text was taken for commands")
	}
}

// An action on a unit asks for one when none is selected, the unit that loses most first,
// and continues with it.
func TestActionAsksForItsUnit(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press("3", "p")
	d.shows("Unit: plan maintenance ", "inverter outage")
	d.press("INV-05", "enter")
	d.shows("Plan maintenance of INV-05")
	d.press("esc", "esc", "1", "esc")
	if d.m.nav.selection.AssetID != "" {
		t.Fatalf("%v is still selected", d.m.nav.selection)
	}
	d.press("3", "enter", "enter") // the options of the whole site
	d.shows("Unit: plan maintenance ")
	d.press("esc")
	d.shows("Work at the whole site")
}

func TestWhyNot(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*Options, *plant.Service)
		keys   []string
		shows  string
	}{
		"a reader":       {func(o *Options, _ *plant.Service) { o.User.RoleID = api.RoleAnalyst }, []string{"U"}, "Unavailable: your role only reads."},
		"in the palette": {func(o *Options, _ *plant.Service) { o.User.RoleID = api.RoleAnalyst }, []string{":", "import"}, "your role only reads"},
	} {
		t.Run(name, func(t *testing.T) {
			d := start(t, 120, 36, tt.change)
			d.press(tt.keys...)
			d.shows(tt.shows)
		})
	}
}

func TestDetection(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press("n", "D")
	d.shows("INV-03: detection found 1 anomaly.")
}

func TestThemes(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press("T", "down")
	if d.m.prefs.theme.Name != "daylight" || d.set["theme"] != "" {
		t.Errorf("moving shows %s and keeps %q", d.m.prefs.theme.Name, d.set["theme"])
	}
	d.press("esc")
	if d.m.prefs.theme.Name != "control-room" {
		t.Errorf("esc leaves %s", d.m.prefs.theme.Name)
	}
	d.press("T", "down", "enter")
	if d.m.prefs.theme.Name != "daylight" || d.set["theme"] != "daylight" {
		t.Errorf("enter shows %s and keeps %q", d.m.prefs.theme.Name, d.set["theme"])
	}
}

func TestExport(t *testing.T) {
	for keys, header := range map[string]string{"1": "timestamp (UTC),asset_id,power (kW)", "2": "summary_id,asset_id", "3": "day (site),p10 (kWh)", "4": "order_id,asset_id", "4 right": "timestamp (UTC),phase"} {
		d := start(t, 120, 36, nil)
		d.press(append(strings.Fields(keys), "e")...)
		files, err := filepath.Glob(filepath.Join(d.m.o.Exports, "*.csv"))
		if err != nil || len(files) != 1 {
			t.Fatalf("%s: %v %v", keys, files, err)
		}
		b, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(string(b), header) || strings.Count(string(b), "\n") < 3 {
			t.Errorf("%s: %.120s", keys, b)
		}
		d.shows("rows written to")
	}
}

func TestMouse(t *testing.T) {
	click := func(d *world, x, y int) {
		d.send(tea.MouseMsg{X: x, Y: y, Button: tea.MouseButtonLeft, Action: tea.MouseActionPress})
	}
	d := start(t, 160, 45, nil)
	click(d, 120, 30)
	if d.place() != "Act" {
		t.Errorf("a click on Act: %s", d.place())
	}
	rows := strings.Split(d.text(), "\n")
	for y, line := range rows {
		if strings.Contains(line, "INV-07 feeds in") || strings.Contains(line, "│INV-05 string") {
			click(d, 5, y)
			break
		}
	}
	if d.place() != "Observe INV-05 f-weak" {
		t.Errorf("a click on a unit: %s", d.place())
	}
	d.send(tea.MouseMsg{X: 100, Y: 5, Button: tea.MouseButtonWheelDown})
	if d.m.nav.selection.FindingID != "f-over" {
		t.Errorf("the wheel over the findings: %s", d.place())
	}
	click(d, 2, 0)
	if d.place() != "Observe INV-01 f-over [Site]" {
		t.Errorf("a click on the site: %s", d.place())
	}
	small := start(t, 80, 24, nil)
	click(small, 30, 2)
	if small.place() != "Decide" {
		t.Errorf("a click on a tab: %s", small.place())
	}
}

func TestFormerDays(t *testing.T) {
	d := start(t, 120, 36, nil)
	d.press("left")
	d.shows("Fri 27 Nov 2026", "esc today")
	d.press("left")
	d.shows("Thu 26 Nov 2026")
	d.press("right")
	d.shows("Fri 27 Nov 2026")
	d.press("right")
	d.hides("esc today")
	d.press("right")
	d.shows("This is today")
	d.press("left", "esc")
	d.hides("esc today")
	if d.m.nav.selection.AssetID != "" || !d.m.data.Site.PastDate.Equal(time.Time{}) {
		t.Error("esc did not bring today back")
	}
}
