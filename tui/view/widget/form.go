package widget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// StepForm asks for the inputs of a step of work. It stays open until the service has
// accepted the step, and shows the error if it refuses. If its defaults are requested
// first, it shows that and waits for them.
type StepForm struct {
	ServerForm
	Heading, Verb string
	Intro         []string // above the fields
	Waits         string   // for its defaults, empty when they are there
	// send is the step from the fields' values; ok is false when one of them
	// was refused.
	Send func(d *StepForm) (s view.Call, ok bool)
}

// Title names the step.
func (d *StepForm) Title() string { return d.Heading }

// Size fits the form.
func (d *StepForm) Size(w, h int) (int, int) {
	rows := 0
	for _, words := range d.Intro {
		rows += 1 + terminal.Width(words)/max(min(76, w-4), 1)
	}
	return min(76, w-4), min(d.lines()+rows+7, h-2)
}

// Draw draws the words and the fields.
func (d *StepForm) Draw(r terminal.Region, v view.Context) {
	_, h := r.Size()
	y := 0
	for _, line := range d.Intro {
		y = v.Paragraph(r, 0, y, line, themes.Dim)
	}
	y = d.DrawForm(r, y+1, v)
	if d.Waits != "" {
		v.Paragraph(r, 0, y, d.Waits, themes.Dim)
	}
	keys := []string{"enter", d.Verb, "esc", "back"}
	if len(d.Fields) > 1 {
		keys = append(keys, "tab", "next field")
	}
	if len(d.Fields) > 0 && d.Fields[d.At].choices != nil {
		keys = append(keys, KeyNames("← →", v.ASCII), "choose")
	}
	KeyLine(r, h-1, v, keys...)
}

// Answer processes the service's response; the fields are kept.
func (d *StepForm) Answer(err error) (done bool) {
	if d.Waits == "" {
		return d.ServerForm.Answer(err)
	}
	d.Waits = ""
	if err != nil {
		d.Refuse(-1, state.Refusal(err))
	}
	return false
}

// Key edits or sends.
func (d *StepForm) Key(k tea.KeyMsg, v view.Context) view.Request {
	return d.EditOrSend(k, v, func() view.Request {
		if d.Waits != "" || d.Send == nil {
			return nil
		}
		d.Wrong = ""
		s, ok := d.Send(d)
		if !ok {
			return nil
		}
		d.Busy = true
		return s
	})
}

// Add puts a field at the end of the form; name is the contract's.
func (d *StepForm) Add(name string, f Field) {
	d.Names, d.Fields = append(d.Names, name), append(d.Fields, f)
}

// Need refuses the field of that name with a question when it is empty.
func (d *StepForm) Need(name, question string) (ok bool) {
	if d.Value(name) != "" {
		return true
	}
	d.Refuse(slices.Index(d.Names, name), question)
	return false
}

// Date reads the field of that name.
func (d *StepForm) Date(name, what string, example time.Time) (t api.Time, ok bool) {
	at, err := time.ParseInLocation(display.DateTimeLayout, d.Value(name), d.Zone)
	if err != nil {
		d.Refuse(slices.Index(d.Names, name), fmt.Sprintf("%s is a date and a time as in %s.", what, display.DateTime(example.In(d.Zone))))
		return t, false
	}
	return api.At(at), true
}

// Hours reads a length of work; empty is 0.
func (d *StepForm) Hours(name string) (hours float64, ok bool) {
	text := d.Value(name)
	if text == "" {
		return 0, true
	}
	hours, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", "."), 64)
	if err != nil || hours <= 0 {
		d.Refuse(slices.Index(d.Names, name), "Hours are a number above zero, or nothing.")
		return 0, false
	}
	return hours, true
}

// Count reads a whole number of at least least.
func (d *StepForm) Count(name, what string, least int) (n int, ok bool) {
	n, err := strconv.Atoi(d.Value(name))
	if err != nil || n < least {
		d.Refuse(slices.Index(d.Names, name), fmt.Sprintf("%s is a whole number from %d on.", what, least))
		return 0, false
	}
	return n, true
}

// ChoiceField returns a choice with another first value.
func ChoiceField(label string, choices []string, words func(string) string, first string) Field {
	f := NewChoice(label, choices, words)
	if slices.Contains(choices, first) {
		f.Set(first)
	}
	return f
}

// Form is a column of fields with one focused.
type Form struct {
	Fields  []Field
	At      int
	Wrong   string // what is wrong with what was given, empty for nothing
	WrongAt int    // its field; -1: the whole form
	entered int    // the focused field whose text was selected, plus 1; 0: none
}

// FieldsForm is a form of the service's fields below a few words.
type FieldsForm struct {
	ServerForm
	Heading, Intro, Verb string
	Role                 themes.Role // of Intro; zero: dim
	Note                 string      // below the fields; empty for none
	Rows                 int         // in addition to those of the fields; 0: 9
	Accept               func() view.Request
}

// Title names the form.
func (d *FieldsForm) Title() string { return d.Heading }

// Size fits the form.
func (d *FieldsForm) Size(w, h int) (int, int) {
	return min(76, w-4), min(d.lines()+cmp.Or(d.Rows, 9), h-2)
}

// Draw draws the form.
func (d *FieldsForm) Draw(r terminal.Region, v view.Context) {
	w, h := r.Size()
	y := 0
	if h > len(d.Fields)+4 {
		y = v.Paragraph(r, 0, 0, d.Intro, cmp.Or(d.Role, themes.Dim)) + 1
	}
	d.DrawForm(r, y, v)
	r.PutIn(0, h-3, w, d.Note, v.Style(themes.Muted), v.ASCII)
	KeyLine(r, h-1, v, d.KeyWords(d.Verb, v)...)
}

// Key edits or sends.
func (d *FieldsForm) Key(k tea.KeyMsg, v view.Context) view.Request {
	return d.EditOrSend(k, v, d.Accept)
}

// SendSite changes a site for the dialog that asks for it.
func SendSite(from view.Caller, site api.Site) view.Request {
	return view.Call{From: from, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		answer, err := c.SetSite(ctx, site)
		if err != nil {
			return view.Result{}, err
		}
		r := view.Result{Notice: view.Notice("The site " + site.SiteID + " is changed."), Refresh: []state.Query{state.QuerySites, state.QueryAssets, state.QueryKPIs, state.QueryAvailability, state.QueryActivities}}
		if changed := answer.Site; changed != nil {
			r.Apply = func(s *state.Site) {
				if s.Ref() == changed.Ref() {
					s.Site = *changed
				}
			}
		}
		return r, nil
	}}
}

// Number reads the field of that name: nil when it is empty. ok is false for
// what is no number, which the field then says.
func (a *ServerForm) Number(name string) (v *float64, ok bool) {
	text := strings.ReplaceAll(a.Value(name), ",", ".")
	if text == "" {
		return nil, true
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
		a.Refuse(slices.Index(a.Names, name), "Enter a number.")
		return nil, false
	}
	return &n, true
}

// ServerForm is a form that waits for the service. Its fields are named as the
// service names them, so that an error is shown at its field.
type ServerForm struct {
	view.Base
	Form
	Names []string // of the fields, in the contract
	Busy  bool
	Clock func() time.Time
	Zone  *time.Location
}

// Answer shows the service's words at the field that they are about;
// everything typed is kept.
func (a *ServerForm) Answer(err error) (done bool) {
	a.Busy = false
	if err == nil {
		return true
	}
	field := ""
	var refusal *api.Error
	if errors.As(err, &refusal) {
		field, _ = refusal.Details["field"].(string)
	}
	a.Refuse(slices.Index(a.Names, field), state.Refusal(err))
	return false
}

// DrawForm draws the form from y on, and what it waits for.
func (a *ServerForm) DrawForm(r terminal.Region, y int, v view.Context) int {
	y = a.DrawFields(r, y, v)
	if a.Busy {
		y = v.Paragraph(r, 0, y+1, "Asking the service …", themes.Dim)
	}
	return y
}

// EditOrSend edits the form; accept sends it.
func (a *ServerForm) EditOrSend(k tea.KeyMsg, v view.Context, accept func() view.Request) view.Request {
	action, _, _ := v.Keys.Match(k.String(), keymap.Dialog)
	switch {
	case action == keymap.Dismiss:
		return view.Close{}
	case a.Busy:
	case action == keymap.Accept:
		return accept()
	default:
		a.Edit(action, k)
	}
	return nil
}

// KeyWords returns the keys of the form; verb is what enter does.
func (a *ServerForm) KeyWords(verb string, v view.Context) []string {
	keys := []string{"enter", verb, "tab", "next field", "esc", "back"}
	if a.Fields[a.At].choices != nil {
		keys = append(keys, KeyNames("← →", v.ASCII), "choose")
	}
	return keys
}

// Value returns the text of the field that the contract names so.
func (a *ServerForm) Value(name string) string { return a.Fields[slices.Index(a.Names, name)].Value() }

// Expiry reads the field of that name: a number of days from now, a date or
// time, or nothing for no end.
func (a *ServerForm) Expiry(name string) (t api.Time, ok bool) {
	text := a.Value(name)
	if text == "" {
		return t, true
	}
	number := strings.TrimSpace(strings.TrimRight(text, "days"))
	if days, err := strconv.Atoi(number); err == nil && days >= 0 && days <= maxKeyDays {
		return api.At(a.Clock().AddDate(0, 0, days)), true
	}
	t, err := api.ParseTime(text, a.Zone)
	if err != nil {
		a.Refuse(slices.Index(a.Names, name), err.Error()+": give days, as 90 days, or a date, as 2027-06-30.")
	}
	return t, err == nil
}

// maxKeyDays is the longest life given in days: a longer number is a slip.
const maxKeyDays = 36500

// SplitList reads ids between commas.
func SplitList(text string) []string {
	var ids []string
	for id := range strings.SplitSeq(text, ",") {
		if id = strings.TrimSpace(id); id != "" {
			ids = append(ids, id)
		}
	}
	return ids
}
