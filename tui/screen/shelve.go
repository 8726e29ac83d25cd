package screen

import (
	"fmt"
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// Shelve asks for how long alarms are shelved, and why.
type Shelve struct {
	asking
	alerts []api.Alert
}

// shelvings are the times that may be chosen, in minutes, within those that
// the service takes. The first is the shortest: what is out of sight comes
// back soonest.
var shelvings = []string{
	strconv.Itoa(int(api.MinShelving / time.Minute)), "30", "60", "120", "240", "480", strconv.Itoa(int(api.MaxShelving / time.Minute)),
}

// NewShelve asks about alarms of one line.
func NewShelve(alerts []api.Alert) *Shelve {
	return &Shelve{alerts: alerts, asking: asking{
		names: []string{"minutes", "reason"},
		form:  form{fields: []Field{NewChoice("For", shelvings, minuteWords), NewField("Reason", "why nobody need look at it until then", "")}, at: 1},
	}}
}

// minuteWords write minutes for people.
func minuteWords(text string) string {
	n, err := strconv.Atoi(text)
	if err != nil || n < 60 {
		return text + " min"
	}
	return fmt.Sprintf("%d h", n/60)
}

// Title names the form.
func (d *Shelve) Title() string { return "Shelve" }

// Size fits the form.
func (d *Shelve) Size(w, _ int) (int, int) { return min(72, w-4), len(d.fields) + 9 }

// Draw draws the form.
func (d *Shelve) Draw(r terminal.Region, v view.Context) {
	_, h := r.Size()
	a := d.alerts[0]
	what := pane.AlertUnit(a) + ", " + pane.Family(a.AlertType) + ", " + a.AlertSeverity
	if len(d.alerts) > 1 {
		what = fmt.Sprintf("%d alarms, the first of them %s", len(d.alerts), what)
	}
	y := v.Paragraph(r, 0, 0, what+". It comes back as unacknowledged when the time is over.", themes.Text)
	d.drawForm(r, y+1, v)
	keys := []string{"enter", "shelve", "tab", "next field", "esc", "leave it"}
	if d.at == 0 {
		keys = append(keys, asciiKeys("← →", v.ASCII), "longer, shorter")
	}
	keyLine(r, h-1, v, keys...)
}

// Key edits or sends.
func (d *Shelve) Key(k tea.KeyMsg, v view.Context) view.Request { return d.key(k, v, d.accept) }

func (d *Shelve) accept() view.Request {
	if d.value("reason") == "" {
		d.refuse(1, "A reason is needed: the next shift reads it.")
		return nil
	}
	minutes, err := strconv.Atoi(d.value("minutes"))
	if err != nil {
		d.refuse(0, "How long?")
		return nil
	}
	d.busy, d.wrong = true, ""
	return moveAlarms(d, d.alerts, api.AlertsRequest{Action: api.ActionShelve, Minutes: minutes, Reason: d.value("reason")}, "shelved for "+minuteWords(d.value("minutes")))
}
