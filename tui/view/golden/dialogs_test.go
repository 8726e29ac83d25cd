// Package golden compares screens and dialogs of several packages with golden
// files.
package golden

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/tui/internal/picture"
	simulated "app.sunloop/tui/internal/plant"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/admin"
	"app.sunloop/tui/view/alarm"
	"app.sunloop/tui/view/analysis"
	"app.sunloop/tui/view/app"
	"app.sunloop/tui/view/plant"
	"app.sunloop/tui/view/widget"
)

func choices() []widget.Choice {
	return []widget.Choice{
		{Text: "zoom the pane to the whole screen, or restore it", Key: "z", Terms: "zoom", Do: view.OpenSite{Site: api.SiteRef{SiteID: "1"}}},
		{Text: "import a file", Key: "U", Why: "your role only reads", Do: view.OpenSite{Site: api.SiteRef{SiteID: "2"}}},
		{Text: "site Sibaya", Detail: "Sibaya Solar", Do: view.OpenSite{Site: api.SiteRef{SiteID: "3"}}, Seen: view.OpenSite{Site: api.SiteRef{SiteID: "seen 3"}}},
	}
}

func dialogs() map[string]view.Dialog {
	return map[string]view.Dialog{
		"signin": app.NewSignIn("ops.example.com", "Token expired."), "admin": app.NewSetup("embedded", false), "admin-token": app.NewSetup("ops.example.com", true),
		"palette":        widget.NewChooser("Palette", "type what you want to do or find", choices(), nil),
		"help":           app.NewHelp("Observe", keymap.InObserve, [][2]string{{"enter", "continue"}}, keymap.Default()),
		"upload":         plant.NewUpload(simulated.New().Site()),
		"import-preview": importPreview(simulated.Inspection(stage.Noon)), "import-refused": importPreview(simulated.RefusedInspection()), "import-mapping": mappingForm(),
		"import-result": importResult(), "upload-revert": plant.NewUploadRevert(api.Upload{UploadID: "upl-1", SiteID: "Sibaya", Filename: "history-1.csv", RowsStored: 35000, NewAssetIDs: []string{"INV-09", "INV-10"}}),
		"certificate":         app.NewCertificate(client.CertificateError{Service: "https://ops.example.com:8443", Fingerprint: strings.Repeat("3f9c04b1", 8), Err: errors.New("x509: certificate signed by unknown authority")}, "/home/anna/.config/sunloop/known_services"),
		"certificate-changed": app.NewCertificate(client.CertificateError{Service: "https://ops.example.com:8443", Fingerprint: strings.Repeat("3f9c04b1", 8), Known: strings.Repeat("0a1b2c3d", 8)}, "/home/anna/.config/sunloop/known_services"),
		"apikeys-create":      admin.NewKeyForm(simulated.New().Site(), []api.Site{simulated.New().Site()}, time.UTC, func() time.Time { return stage.Noon }),
		"apikeys-rotate":      admin.NewRotateForm(stage.KeyRecords()[0], time.UTC, func() time.Time { return stage.Noon }), "apikeys-revoke": admin.NewRevoke(stage.KeyRecords()[0]),
		"apikeys-shown": widget.NewSecretView("weather station", "The key is shown only now", stage.MadeUpKey),
	}
}

func importPreview(is api.Inspection) *plant.ImportPreview {
	return plant.NewImportPreview("/data/history.csv", api.UploadRequest{SiteID: "Sibaya", CustomerID: "acme"}, is)
}

func mappingForm() view.Dialog {
	open, ok := stage.Press(importPreview(simulated.Inspection(stage.Noon)), "m").(view.OpenDialog)
	if !ok {
		panic("m opens no form")
	}
	return open.Dialog
}

// importResult returns the dialog of an import that has ended, as the context of [stage] knows it.
func importResult() view.Dialog {
	d := importPreview(simulated.Inspection(stage.Noon))
	u, ok := stage.Press(d, "enter").(view.Upload)
	if !ok {
		panic("enter stores nothing")
	}
	u.Stored(api.UploadAck{UploadID: "upl-done"})
	d.Answer(nil)
	return d
}

func screens() map[string]view.View {
	return map[string]view.View{
		"runs": analysis.NewRuns(), "history": plant.NewHistory(time.Time{}, time.Time{}), "alarms": alarm.NewScreen(), "unit": analysis.NewUnit("INV-03"), "uploads": plant.NewUploads(noPath), "uploads-all": allUploads(), "audit": admin.NewAudit(), "apikeys": admin.NewAPIKeys(func() time.Time { return stage.Noon }),
	}
}

// After an import a key opens what the time of the file shows.
func TestHistoryAfterImport(t *testing.T) {
	v := stage.ScreenContext(t, false)
	d := importResult()
	batch, ok := d.Key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("h")}, v).(view.Batch)
	if !ok || len(batch) != 3 {
		t.Fatalf("h requests %v", batch)
	}
	open, ok := batch[2].(view.OpenScreen)
	if !ok || open.Screen.Title() != "What the history shows" {
		t.Fatalf("h opens %+v", batch[2])
	}
	needs := open.Screen.Queries(v)
	need := needs[len(needs)-1]
	u := v.Admin.Import.Data
	if want := (state.Span{From: u.FirstRecord.Time, To: u.LastRecord.Add(time.Second)}).Of(); need.Query != state.QueryHistory || need.Of != want {
		t.Errorf("it asks for %+v, want the history of %s", need, want)
	}
}

// A history without findings says what detection could evaluate.
func TestHistoryWithoutFindings(t *testing.T) {
	v := stage.ScreenContext(t, false)
	s := plant.NewHistory(time.Time{}, time.Time{})
	store := state.Store{Site: v.Site}
	store.Want(state.QueryRuns, state.EveryUnit)
	store.Want(state.QueryHistory, state.Span{}.Of())
	v.Site.History.Set(api.History{From: api.At(stage.Noon.AddDate(0, 0, -4)), To: api.At(stage.Noon)}, stage.Noon)
	v.Site.Runs.Set([]api.Detection{{DetectedAt: api.At(stage.Noon), Analysis: &api.Analysis{LastObservation: api.At(stage.Noon.Add(-time.Hour)), NotJudged: []string{
		"INV-01: no lifetime counter, so a gap in its data cannot be distinguished from an outage.",
		"The history has 4 days with production: slow losses, shading, soiling and clock shifts are evaluated from 10 days on.",
	}}}}, stage.Noon)
	for _, size := range stage.Sizes {
		picture.Golden(t, fmt.Sprintf("history-none-%dx%d", size.W, size.H), stage.ScreenText(v, s, size.W, size.H))
	}
}

func TestScreens(t *testing.T) {
	for name, s := range screens() {
		for _, size := range stage.Sizes {
			picture.Golden(t, fmt.Sprintf("%s-%dx%d", name, size.W, size.H), stage.ScreenText(stage.ScreenContext(t, false), s, size.W, size.H))
		}
	}
}

func TestDialogs(t *testing.T) {
	for name, d := range dialogs() {
		for _, size := range stage.Sizes {
			picture.Golden(t, fmt.Sprintf("%s-%dx%d", name, size.W, size.H), stage.DialogText(stage.ScreenContext(t, false), d, size.W, size.H))
		}
	}
}

func TestScreensInASCII(t *testing.T) {
	texts := map[string]string{}
	for name, d := range dialogs() {
		texts[name] = stage.DialogText(stage.ScreenContext(t, true), d, 100, 40)
	}
	for name, s := range screens() {
		texts[name] = stage.ScreenText(stage.ScreenContext(t, true), s, 100, 40)
	}
	for name, text := range texts {
		for i, line := range strings.Split(text, "\n") {
			for _, r := range line {
				if r > 0x7e {
					t.Errorf("%s, line %d: %q is not ASCII in %s", name, i, r, line)
				}
			}
		}
	}
}

func TestChooser(t *testing.T) {
	undo := view.OpenSite{Site: api.SiteRef{SiteID: "undo"}}
	for _, tt := range []struct {
		name string
		keys []string
		want view.Request
	}{
		{"the first", []string{"enter"}, view.Batch{view.Close{}, view.OpenSite{Site: api.SiteRef{SiteID: "1"}}}},
		{"by a word it does not show", []string{"zoom", "enter"}, view.Batch{view.Close{}, view.OpenSite{Site: api.SiteRef{SiteID: "1"}}}},
		{"what cannot be now", []string{"import", "enter"}, nil},
		{"moving previews", []string{"down", "down"}, view.OpenSite{Site: api.SiteRef{SiteID: "seen 3"}}},
		{"not beyond the end", []string{"down", "down", "down", "down", "enter"}, view.Batch{view.Close{}, view.OpenSite{Site: api.SiteRef{SiteID: "3"}}}},
		{"nothing matches", []string{"qqq", "enter"}, nil},
		{"dismissed", []string{"down", "esc"}, view.Batch{view.Close{}, undo}},
		{"narrowed and widened", []string{"sib", "backspace", "backspace", "backspace", "enter"}, view.Batch{view.Close{}, view.OpenSite{Site: api.SiteRef{SiteID: "1"}}}},
	} {
		if d := cmp.Diff(tt.want, stage.Press(widget.NewChooser("", "", choices(), undo), tt.keys...)); d != "" {
			t.Errorf("%s: %s", tt.name, d)
		}
	}
}

func TestUploadForm(t *testing.T) {
	site := simulated.New().Site()
	full := &view.Upload{Path: "/data/a b.csv", Metadata: api.UploadRequest{SiteID: "Sibaya", CustomerID: "acme", Timezone: "Africa/Johannesburg", Location: "ZA", CapacityKW: 800}}
	for _, tt := range []struct {
		name  string
		keys  []string
		want  *view.Upload // nil: no request
		shows string
	}{
		{"a file", []string{"/data/a b.csv", "enter"}, full, "Reading a b.csv"},
		{"quoted", []string{"'/data/a b.csv'", "enter"}, full, "Reading"},
		{"escaped", []string{`/data/a\ b.csv`, "enter"}, full, "Reading"},
		{"a URL", []string{"file:///data/a%20b.csv", "enter"}, full, "Reading"},
		{"another site", []string{"/data/a b.csv", "down", "end", "2", "enter"}, &view.Upload{Path: "/data/a b.csv", Metadata: api.UploadRequest{SiteID: "Sibaya2", CustomerID: "acme"}}, "Reading"},
		{"the site of the name", []string{"/data/a b.csv", "down", "ctrl+u", "enter"}, &view.Upload{Path: "/data/a b.csv", Metadata: api.UploadRequest{SiteID: "a-b", CustomerID: "acme"}}, "Reading"},
		{"no site", []string{".csv", "down", "ctrl+u", "enter"}, nil, "Which site"},
		{"no number", []string{"x.csv", "down", "down", "down", "kW", "enter"}, nil, "capacity is a number"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := plant.NewUpload(site)
			r := stage.Press(d, tt.keys...)
			if tt.want == nil && r != nil {
				t.Errorf("the form asks for %v", r)
			}
			u, ok := r.(view.Upload)
			if tt.want != nil && (!ok || u.From != d || u.Inspected == nil || u.Path != tt.want.Path || cmp.Diff(tt.want.Metadata, u.Metadata) != "") {
				t.Errorf("the form asks for %+v", r)
			}
			if text := stage.DialogText(stage.ScreenContext(t, false), d, 80, 24); !strings.Contains(text, tt.shows) {
				t.Errorf("%q is not shown:\n%s", tt.shows, text)
			}
			if tt.want == nil {
				return
			}
			if again := stage.Press(d, "enter"); again != nil {
				t.Error("sent twice")
			}
			if d.Answer(errors.New("a b.csv: there is no such file.")) {
				t.Error("the form goes with an error")
			}
			if text := stage.DialogText(stage.ScreenContext(t, false), d, 80, 24); !strings.Contains(text, "no such file") || !strings.Contains(text, "a b.csv") && !strings.Contains(text, "a%20b.csv") && !strings.Contains(text, `a\ b.csv`) {
				t.Errorf("the error or what was typed is gone:\n%s", text)
			}
			stage.Press(d, "enter")
			if d.Answer(nil) {
				t.Error("the form is closed below the preview")
			}
			if title := stage.Opened(t, u.Inspected(u.Metadata, simulated.Inspection(stage.Noon))).Title(); title != "Import a b.csv" {
				t.Errorf("the preview is called %q", title)
			}
		})
	}
}

// The form of a mapping begins with the reading of the file; what is changed is stated, and the file is read again with it.
func TestMappingForm(t *testing.T) {
	site := simulated.New().Site()
	for _, tt := range []struct {
		name string
		keys []string
		want string // mapping; empty: none is sent
		says string
	}{
		{"as it is", nil, "time=Time\npower[INV-01]=INV-01 AC power (W)\npower[INV-02]=INV-02 AC power (W)\nirradiance=Irradiance (W/m2)\nunit=W", ""},
		{"another unit and zone", []string{"right", "down", "Africa/Lagos"}, "time=Time\npower[INV-01]=INV-01 AC power (W)\npower[INV-02]=INV-02 AC power (W)\nirradiance=Irradiance (W/m2)\nunit=kW\nzone=Africa/Lagos", ""},
		{"energy of a unit with another name", []string{"down", "down", "down", "down", "down", "right", "down", "backspace", "7"}, "time=Time\nenergy[INV-07]=INV-01 AC power (W)\npower[INV-02]=INV-02 AC power (W)\nirradiance=Irradiance (W/m2)\nunit=W", ""},
		{"ignored", []string{"down", "down", "down", "down", "down", "left", "left"}, "time=Time\nignore=INV-01 AC power (W)\npower[INV-02]=INV-02 AC power (W)\nirradiance=Irradiance (W/m2)\nunit=W", ""},
		{"twice the same", []string{"down", "down", "down", "down", "down", "down", "backspace", "2"}, "", "are both power of one unit"},
		{"brackets", []string{"down", "down", "down", "down", "down", "down", "]"}, "", "no brackets"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			preview := plant.NewImportPreview("/data/a.csv", api.UploadRequest{SiteID: site.SiteID}, simulated.Inspection(stage.Noon))
			form := stage.Opened(t, stage.Press(preview, "m"))
			stage.DialogText(stage.ScreenContext(t, false), form, 80, 24)
			stage.Press(form, tt.keys...)
			batch, _ := stage.Press(form, "enter").(view.Batch)
			if tt.want == "" {
				if text := stage.DialogText(stage.ScreenContext(t, false), form, 80, 24); batch != nil || !strings.Contains(text, tt.says) {
					t.Errorf("%q is not shown, or the form asks for %v:\n%s", tt.says, batch, text)
				}
				return
			}
			if len(batch) != 2 {
				t.Fatalf("the form asks for %v", batch)
			}
			u, ok := batch[1].(view.Upload)
			if !ok || u.Inspected == nil || u.From != preview {
				t.Fatalf("the form asks for %#v", batch[1])
			}
			if d := cmp.Diff(tt.want, u.Metadata.Mapping); d != "" {
				t.Error(d)
			}
			u.Inspected(u.Metadata, simulated.Inspection(stage.Noon))
			preview.Answer(nil)
			stored, ok := stage.Press(preview, "enter").(view.Upload)
			if !ok || stored.Inspected != nil || stored.Metadata.Mapping != tt.want {
				t.Errorf("the file is stored with %#v", stored)
			}
		})
	}
}

func TestSheetsMoveAndScroll(t *testing.T) {
	v := stage.ScreenContext(t, false)
	d := plant.NewUploads(noPath)
	text := stage.ScreenText(v, d, 80, 24)
	if !strings.Contains(text, "live feed: one file") {
		t.Errorf("the live feed has no line:\n%s", text)
	}
	stage.Do(d, v, keymap.Down, keymap.Down)
	text = stage.ScreenText(v, d, 80, 24)
	if !strings.Contains(text, "10 rows had no number.") || !strings.Contains(text, "pgdn") {
		t.Errorf("details of the third:\n%s", text)
	}
	for range 5 {
		stage.Do(d, v, keymap.PageDown)
		text = stage.ScreenText(v, d, 80, 24)
	}
	if !strings.Contains(text, "unit: kW") {
		t.Errorf("the end of the details is not reached:\n%s", text)
	}
	v.Site = nil
	if text := stage.ScreenText(v, plant.NewUploads(noPath), 80, 24); !strings.Contains(text, "No file has been imported") {
		t.Errorf("without a site:\n%s", text)
	}
}

// A tall or hostile answer leaves the dialog within the screen.
func TestDialogsStayOnTheScreen(t *testing.T) {
	v := stage.ScreenContext(t, false)
	for i := range v.Site.Uploads.Data {
		v.Site.Uploads.Data[i].Filename = strings.Repeat("日本🙂", 40)
		v.Site.Uploads.Data[i].Decisions = make([]string, 300)
	}
	v.Site.Models.Data = []api.Model{{ModelName: strings.Repeat("x", 500)}}
	draw := map[string]func(r terminal.Region){}
	for name, d := range dialogs() {
		draw[name] = func(r terminal.Region) { view.DrawDialog(d, r, v) }
	}
	for name, s := range screens() {
		draw[name] = func(r terminal.Region) { s.Draw(r, v) }
	}
	for name, draw := range draw {
		for _, size := range []struct{ w, h int }{{60, 20}, {61, 21}, {80, 24}} {
			g := terminal.NewGrid(size.w, size.h)
			draw(g.All()) // a panic or an endless loop fails
			for y, line := range strings.Split(strings.TrimSuffix(picture.Text(g), "\n"), "\n") {
				if terminal.Width(line) > size.w {
					t.Errorf("%s at %d×%d: line %d is wider", name, size.w, size.h, y)
				}
			}
		}
	}
}

// noPath knows of no file that was sent.
func allUploads() view.View {
	s := plant.NewUploads(noPath)
	s.Do(keymap.EverySite, view.Context{Keys: keymap.Default()})
	return s
}

func noPath(string) string { return "" }
