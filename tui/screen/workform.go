package screen

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// workQueries are what a step of work changes.
func workQueries() []state.Query {
	return []state.Query{state.QueryOrders, state.QueryOrder, state.QuerySchedules, state.QuerySchedule, state.QueryBOMs, state.QueryParts, state.QueryActivities}
}

// WorkForm asks for what a step of work needs. It stays until the service has
// taken the step, and shows its words when it refuses. Where its defaults are
// asked for first, it says so and waits for them.
type WorkForm struct {
	asking
	title, verb string
	words       []string // above the fields
	waits       string   // for its defaults, empty when they are there
	// send is the step from the fields' values; ok is false when one of them
	// was refused.
	send func(d *WorkForm) (s view.Call, ok bool)
}

// Title names the step.
func (d *WorkForm) Title() string { return d.title }

// Size fits the form.
func (d *WorkForm) Size(w, h int) (int, int) {
	rows := 0
	for _, words := range d.words {
		rows += 1 + terminal.Width(words)/max(min(76, w-4), 1)
	}
	return min(76, w-4), min(len(d.fields)+rows+7, h-2)
}

// Draw draws the words and the fields.
func (d *WorkForm) Draw(r terminal.Region, v view.Context) {
	_, h := r.Size()
	y := 0
	for _, line := range d.words {
		y = v.Paragraph(r, 0, y, line, themes.Dim)
	}
	y = d.drawForm(r, y+1, v)
	if d.waits != "" {
		v.Paragraph(r, 0, y, d.waits, themes.Dim)
	}
	keys := []string{"enter", d.verb, "esc", "back"}
	if len(d.fields) > 1 {
		keys = append(keys, "tab", "next field")
	}
	if len(d.fields) > 0 && d.fields[d.at].choices != nil {
		keys = append(keys, asciiKeys("← →", v.ASCII), "choose")
	}
	keyLine(r, h-1, v, keys...)
}

// Answer takes the service's answer in; everything typed is kept.
func (d *WorkForm) Answer(err error) (done bool) {
	if d.waits == "" {
		return d.asking.Answer(err)
	}
	d.waits = ""
	if err != nil {
		d.refuse(-1, state.Refusal(err))
	}
	return false
}

// Key edits or sends.
func (d *WorkForm) Key(k tea.KeyMsg, v view.Context) view.Request {
	return d.key(k, v, func() view.Request {
		if d.waits != "" || d.send == nil {
			return nil
		}
		d.wrong = ""
		s, ok := d.send(d)
		if !ok {
			return nil
		}
		d.busy = true
		return s
	})
}

// add puts a field at the end of the form; name is the contract's.
func (d *WorkForm) add(name string, f Field) {
	d.names, d.fields = append(d.names, name), append(d.fields, f)
}

// need refuses the field of that name with a question when it is empty.
func (d *WorkForm) need(name, question string) (ok bool) {
	if d.value(name) != "" {
		return true
	}
	d.refuse(slices.Index(d.names, name), question)
	return false
}

// dateLayout is how dates are asked for, by the site's clock.
const dateLayout = "2006-01-02 15:04"

// date reads the field of that name.
func (d *WorkForm) date(name, what string, example time.Time) (t api.Time, ok bool) {
	at, err := time.ParseInLocation(dateLayout, d.value(name), d.zone)
	if err != nil {
		d.refuse(slices.Index(d.names, name), fmt.Sprintf("%s is a date and a time as in %s.", what, example.In(d.zone).Format(dateLayout)))
		return t, false
	}
	return api.At(at), true
}

// hours reads a length of work; empty is 0.
func (d *WorkForm) hours(name string) (hours float64, ok bool) {
	text := d.value(name)
	if text == "" {
		return 0, true
	}
	hours, err := strconv.ParseFloat(strings.ReplaceAll(text, ",", "."), 64)
	if err != nil || hours <= 0 {
		d.refuse(slices.Index(d.names, name), "Hours are a number above zero, or nothing.")
		return 0, false
	}
	return hours, true
}

// count reads a whole number of at least least.
func (d *WorkForm) count(name, what string, least int) (n int, ok bool) {
	n, err := strconv.Atoi(d.value(name))
	if err != nil || n < least {
		d.refuse(slices.Index(d.names, name), fmt.Sprintf("%s is a whole number from %d on.", what, least))
		return 0, false
	}
	return n, true
}

// chosen is a choice with another first value.
func chosen(label string, choices []string, words func(string) string, first string) Field {
	f := NewChoice(label, choices, words)
	if slices.Contains(choices, first) {
		f.Set(first)
	}
	return f
}

// asWritten writes a choice as it is.
func asWritten(s string) string { return s }

// me is who is signed in; empty when that is not known.
func me(v view.Context) string {
	if v.User == nil {
		return ""
	}
	return v.User.Username
}
