package plant

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// UploadForm asks for a file and for information that the file may not contain: the
// site, its zone and its capacity. A path pasted or dropped on the terminal is put
// into the first field.
type UploadForm struct {
	view.Base
	form     widget.Form
	customer string
	wrong    string
	sending  string   // the file that is being read
	found    string   // files that complete the path
	keys     int      // pressed so far
	defaults []string // of the fields, from the site that is given; nil once another site was typed
	sites    []api.Site
	transfer
}

// Fields of the form, in order.
const (
	fieldFile = iota
	fieldSite
	fieldZone
	fieldCapacity
	fieldPlace
)

// NewImport asks for a file of a site that is not chosen yet: a field that is left empty
// is filled by the name of the file. Its site is one of the customer's sites or new.
func NewImport(customer string, sites []api.Site) *UploadForm {
	d := NewUpload(api.Site{CustomerID: customer})
	d.sites = sites
	d.form.Fields[fieldSite] = widget.NewField("Site", "its id; empty: by the file's name, an existing site or a new one", "")
	return d
}

// siteOfFile fills the fields of the site by the name of the file: by the longest id or
// name of a site of the customer with which it begins, else with the name as a new id.
func (d *UploadForm) siteOfFile(path string) {
	name, _, _ := strings.Cut(filepath.Base(path), ".")
	name = idOf(name)
	var found *api.Site
	length := 0
	for i, s := range d.sites {
		for _, known := range []string{idOf(s.SiteID), idOf(s.Name)} {
			rest, ok := strings.CutPrefix(strings.ToLower(name), strings.ToLower(known))
			if ok && s.CustomerID == d.customer && len(known) > length && (rest == "" || strings.ContainsAny(rest[:1], "-_")) {
				found, length = &d.sites[i], len(known)
			}
		}
	}
	f := d.form.Fields
	if found == nil {
		f[fieldSite].Set(name)
		return
	}
	filled := NewUpload(*found).form.Fields
	for field := fieldSite; field < len(f); field++ {
		if f[field].Value() == "" {
			f[field].Set(filled[field].Value())
		}
	}
}

// idOf makes an id of a name: letters, digits, - and _ stay.
func idOf(name string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' {
			return r
		}
		return '-'
	}, name), "-")
}

// NewUpload starts with what is known of a site.
func NewUpload(site api.Site) *UploadForm {
	capacity, place := "", site.Location
	if site.CapacityKW > 0 {
		capacity = strconv.FormatFloat(site.CapacityKW, 'f', -1, 64)
	}
	if place == "" && site.Latitude != nil && site.Longitude != nil {
		place = strconv.FormatFloat(*site.Latitude, 'f', 4, 64) + "," + strconv.FormatFloat(*site.Longitude, 'f', 4, 64)
	}
	d := &UploadForm{customer: site.CustomerID, form: widget.Form{Fields: []widget.Field{
		widget.NewField("File", "type, paste or drop its path; tab completes it", ""),
		widget.NewField("Site", "a new or an existing site's id", site.SiteID),
		widget.NewField("Time zone", "of times without one, as in Europe/Berlin", site.Timezone),
		widget.NewField("Capacity kW", "AC, of the whole site", capacity),
		widget.NewField("Place", "latitude,longitude", place),
	}}}
	for i := range d.form.Fields {
		d.defaults = append(d.defaults, d.form.Fields[i].Value())
	}
	return d
}

// Title names the form.
func (d *UploadForm) Title() string { return "Import a file" }

// Size fits the form.
func (d *UploadForm) Size(w, _ int) (int, int) { return min(76, w-4), len(d.form.Fields) + 8 }

// Draw draws the form.
func (d *UploadForm) Draw(r terminal.Region, v view.Context) {
	_, h := r.Size()
	y := v.Paragraph(r, 0, 0, "Any file of a portal, logger or meter, as it was exported. What would be stored is shown first.", themes.Dim)
	y = d.form.DrawFields(r, y+1, v)
	switch {
	case d.sending != "":
		v.Paragraph(r, 0, y+1, "Reading "+d.sending+d.words()+" … nothing is stored yet.", themes.Dim)
	case d.wrong != "":
		v.Paragraph(r, 0, y+1, d.wrong, themes.Warning)
	case d.found != "":
		v.Paragraph(r, 0, y+1, d.found, themes.Dim)
	}
	verb := "look at the file"
	if d.choosing() {
		verb = "choose a file"
	}
	widget.KeyLine(r, h-1, v, "enter", verb, "tab", "next field", "esc", "back")
}

// choosing reports whether enter opens the choice of a file.
func (d *UploadForm) choosing() bool {
	return d.form.At == fieldFile && d.form.Fields[fieldFile].Value() == ""
}

// SetFile puts a path into the form, as it was dropped or chosen.
func (d *UploadForm) SetFile(path string) {
	d.form.Fields[fieldFile].Set(dropped(path))
	d.form.At, d.wrong = fieldFile, ""
}

// Answer ends the reading of the file. The form stays below the preview with
// everything that was typed; it shows the sentence of err.
func (d *UploadForm) Answer(err error) (done bool) {
	d.sending, d.wrong, d.form.At = "", "", fieldFile
	if err != nil {
		d.wrong = terminal.Printable(err.Error())
	}
	return false
}

// Key edits, completes the path, or inspects the file.
func (d *UploadForm) Key(k tea.KeyMsg, v view.Context) view.Request {
	action, _, _ := v.Keys.Match(k.String(), keymap.Dialog)
	d.keys++
	if d.sending != "" && action != keymap.Dismiss {
		return nil
	}
	switch {
	case action == keymap.Dismiss:
		return view.Close{}
	case action == keymap.Accept && d.choosing():
		return widget.PickFile("", d.SetFile)
	case action == keymap.Accept:
		return d.accept()
	case k.Type == tea.KeyTab && d.form.At == fieldFile && !d.choosing():
		return d.complete()
	case d.form.Edit(action, k):
		d.wrong, d.found = "", ""
		d.forgetSite()
	}
	return nil
}

// forgetSite clears what is known of the site on screen once another site is typed.
func (d *UploadForm) forgetSite() {
	f := d.form.Fields
	if d.form.At != fieldSite || d.defaults == nil || f[fieldSite].Value() == d.defaults[fieldSite] {
		return
	}
	for _, field := range []int{fieldZone, fieldCapacity, fieldPlace} {
		if f[field].Value() == d.defaults[field] {
			f[field].Set("")
		}
	}
	d.defaults = nil
}

func (d *UploadForm) accept() view.Request {
	f := d.form.Fields
	refuse := func(field int, words string) view.Request {
		d.wrong = words
		d.form.Continue(field)
		return nil
	}
	path := dropped(f[fieldFile].Value())
	if path == "" {
		return refuse(fieldFile, "Which file? Type, paste or drop its path.")
	}
	if f[fieldSite].Value() == "" {
		d.siteOfFile(path)
	}
	if f[fieldSite].Value() == "" {
		return refuse(fieldSite, "Which site do the data belong to?")
	}
	var capacity float64
	if text := strings.ReplaceAll(f[fieldCapacity].Value(), ",", "."); text != "" {
		var err error
		if capacity, err = strconv.ParseFloat(text, 64); err != nil || capacity <= 0 {
			return refuse(fieldCapacity, "The capacity is a number of kW above zero, or nothing.")
		}
	}
	d.sending = terminal.Printable(filepath.Base(path))
	d.Sent(0, 0)
	request := api.UploadRequest{
		SiteID: f[fieldSite].Value(), CustomerID: d.customer, Timezone: f[fieldZone].Value(),
		CapacityKW: capacity, Location: f[fieldPlace].Value(),
	}
	return view.Upload{Path: path, From: d, Metadata: request, Inspected: func(request api.UploadRequest, is api.Inspection) view.Request {
		return view.OpenDialog{Dialog: NewImportPreview(path, request, is)}
	}}
}

// completion waits for the files that complete the path of a form.
type completion struct {
	*UploadForm
	typed   string
	keys    int // pressed before
	matches []string
}

// complete goes to the next field and completes the path as far as the names in its
// folder agree. Reading the folder may take a while: keys that follow are for the next
// field.
func (d *UploadForm) complete() view.Request {
	c := &completion{UploadForm: d, typed: d.form.Fields[fieldFile].Value(), keys: d.keys}
	d.form.Edit(keymap.NextField, tea.KeyMsg{})
	path := c.typed
	if path == "~" || strings.HasPrefix(path, "~/") {
		path = dropped(path + "x")
		path = path[:len(path)-1]
	}
	return view.Call{From: c, Do: func(context.Context, *client.Client) (view.Result, error) {
		c.matches = matchingFiles(path)
		return view.Result{}, nil
	}}
}

// Answer puts the completed path into the form, unless it was edited meanwhile. The
// field has the keys again if its path is not that of one file and no key followed.
func (c *completion) Answer(error) (done bool) {
	d := c.UploadForm
	field := &d.form.Fields[fieldFile]
	if field.Value() != c.typed || d.sending != "" || len(c.matches) == 0 {
		return false
	}
	longest := commonStart(c.matches)
	if len(c.matches) == 1 && !strings.HasSuffix(longest, string(filepath.Separator)) {
		field.Set(longest)
		return false
	}
	if d.keys != c.keys {
		return false
	}
	d.wrong = ""
	d.form.Continue(fieldFile)
	if len(c.matches) > 1 {
		names := make([]string, len(c.matches))
		for i, m := range c.matches {
			names[i] = filepath.Base(m)
		}
		d.found = shortList(names, 12)
	}
	if len(longest) > len(c.typed) || len(c.matches) == 1 {
		field.Set(longest)
	}
	return false
}

// matchingFiles returns the files and folders whose paths begin with path; folders
// end with a separator.
func matchingFiles(path string) []string {
	const most = 1000
	folder, part := filepath.Split(path)
	open := folder
	if open == "" {
		open = "."
	}
	list, err := os.ReadDir(open)
	if err != nil {
		return nil
	}
	var out []string
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), part) || part == "" && strings.HasPrefix(e.Name(), ".") || len(out) == most {
			continue
		}
		name := folder + e.Name()
		if info, err := os.Stat(name); err == nil && info.IsDir() {
			name += string(filepath.Separator)
		}
		out = append(out, name)
	}
	return out
}

// commonStart returns the longest text with which all names begin.
func commonStart(names []string) string {
	start := names[0]
	for _, n := range names[1:] {
		for !strings.HasPrefix(n, start) {
			_, size := utf8.DecodeLastRuneInString(start)
			start = start[:len(start)-size]
		}
	}
	return start
}

// dropped reads a path as terminals paste a dropped file: quoted, with escaped
// spaces, or as a file URL.
func dropped(s string) string {
	s = strings.TrimSpace(s)
	if n := len(s); n >= 2 && (s[0] == '\'' || s[0] == '"') && s[n-1] == s[0] {
		s = s[1 : n-1]
	}
	if u, err := url.Parse(s); err == nil && u.Scheme == "file" {
		s = u.Path
	}
	s = strings.ReplaceAll(s, `\ `, " ")
	if rest, ok := strings.CutPrefix(s, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			s = filepath.Join(home, rest)
		}
	}
	if s == "" {
		return ""
	}
	return filepath.Clean(s)
}

// IsPath reports whether pasted text looks like the path of one file.
func IsPath(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text, "\n\r") {
		return false
	}
	path := dropped(text)
	return filepath.IsAbs(path) || strings.HasPrefix(text, "file://") || strings.HasPrefix(text, "./") || strings.HasPrefix(text, "~/")
}
