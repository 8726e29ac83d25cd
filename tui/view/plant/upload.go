package plant

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// UploadForm asks for a file and for what the file may not say: the site,
// its zone and its capacity. A path pasted or dropped on the terminal lands in
// the first field.
type UploadForm struct {
	view.Base
	form     widget.Form
	customer string
	wrong    string
	sending  string       // the running upload
	sent     atomic.Int64 // bytes of it that are sent
	size     atomic.Int64 // of the file
}

// Fields of the form, in order.
const (
	fieldFile = iota
	fieldSite
	fieldZone
	fieldCapacity
	fieldPlace
)

// NewUpload starts with what is known of the site on screen.
func NewUpload(site api.Site) *UploadForm {
	capacity, place := "", site.Location
	if site.CapacityKW > 0 {
		capacity = strconv.FormatFloat(site.CapacityKW, 'f', -1, 64)
	}
	if place == "" && site.Latitude != nil && site.Longitude != nil {
		place = strconv.FormatFloat(*site.Latitude, 'f', 4, 64) + "," + strconv.FormatFloat(*site.Longitude, 'f', 4, 64)
	}
	return &UploadForm{customer: site.CustomerID, form: widget.Form{Fields: []widget.Field{
		widget.NewField("File", "type, paste or drop the path of a CSV file", ""),
		widget.NewField("Site", "a new or an existing site's id", site.SiteID),
		widget.NewField("Time zone", "of times without one, as in Europe/Berlin", site.Timezone),
		widget.NewField("Capacity kW", "AC, of the whole site", capacity),
		widget.NewField("Place", "latitude,longitude", place),
	}}}
}

// Title names the form.
func (d *UploadForm) Title() string { return "Import a file" }

// Size fits the form.
func (d *UploadForm) Size(w, _ int) (int, int) { return min(76, w-4), len(d.form.Fields) + 8 }

// Draw draws the form.
func (d *UploadForm) Draw(r terminal.Region, v view.Context) {
	_, h := r.Size()
	y := v.Paragraph(r, 0, 0, "Any portal's, logger's or meter's CSV as it was exported. What was inferred is shown with the upload (g u).", themes.Dim)
	y = d.form.DrawFields(r, y+1, v)
	switch {
	case d.sending != "":
		v.Paragraph(r, 0, y+1, "Sending "+d.sending+d.far()+" … esc closes the form; the upload continues.", themes.Dim)
	case d.wrong != "":
		v.Paragraph(r, 0, y+1, d.wrong, themes.Warning)
	}
	verb := "import"
	if d.choosing() {
		verb = "choose a file"
	}
	widget.KeyLine(r, h-1, v, "enter", verb, "tab", "next field", "esc", "back")
}

// choosing says whether enter opens the choice of a file.
func (d *UploadForm) choosing() bool {
	return d.form.At == fieldFile && d.form.Fields[fieldFile].Value() == ""
}

// Sent takes how much of the file is sent; it may be called on any goroutine.
func (d *UploadForm) Sent(sent, size int64) {
	d.sent.Store(sent)
	d.size.Store(size)
}

// far is how much of the file is sent, in words.
func (d *UploadForm) far() string {
	size := d.size.Load()
	if size <= 0 {
		return ""
	}
	return fmt.Sprintf(", %.0f %% of %s", 100*float64(min(d.sent.Load(), size))/float64(size), widget.Bytes(size))
}

// SetFile puts a path into the form, as it was dropped or chosen.
func (d *UploadForm) SetFile(path string) {
	d.form.Fields[fieldFile].Set(dropped(path))
	d.form.At, d.wrong = fieldFile, ""
}

// Answer takes the service's answer: done reports that the file was accepted.
// Otherwise the form shows the sentence of err and keeps everything typed.
func (d *UploadForm) Answer(err error) (done bool) {
	d.sending, d.wrong, d.form.At = "", "", fieldFile
	if err != nil {
		d.wrong = terminal.Printable(err.Error())
	}
	return err == nil
}

// Key edits or sends.
func (d *UploadForm) Key(k tea.KeyMsg, v view.Context) view.Request {
	action, _, _ := v.Keys.Match(k.String(), keymap.Dialog)
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
	case d.form.Edit(action, k):
		d.wrong = ""
	}
	return nil
}

func (d *UploadForm) accept() view.Request {
	f := d.form.Fields
	refuse := func(field int, words string) view.Request {
		d.form.At, d.wrong = field, words
		return nil
	}
	path := dropped(f[fieldFile].Value())
	if path == "" {
		return refuse(fieldFile, "Which file? Type, paste or drop its path.")
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
	return view.Upload{Path: path, From: d, Metadata: api.UploadRequest{
		SiteID: f[fieldSite].Value(), CustomerID: d.customer, Timezone: f[fieldZone].Value(),
		CapacityKW: capacity, Location: f[fieldPlace].Value(),
	}}
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

// IsPath says whether pasted text looks like the path of one file.
func IsPath(text string) bool {
	text = strings.TrimSpace(text)
	if text == "" || strings.ContainsAny(text, "\n\r") {
		return false
	}
	path := dropped(text)
	return filepath.IsAbs(path) || strings.HasPrefix(text, "file://") || strings.HasPrefix(text, "./") || strings.HasPrefix(text, "~/")
}
