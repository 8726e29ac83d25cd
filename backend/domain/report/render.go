package report

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/notify"
	"app.sunloop/internal/display"
)

// Message is the report as a message: lines of text, and the HTML of an e-mail.
func (r Report) Message(id, publicURL string) notify.Message {
	m := notify.Message{ID: id, Kind: notify.KindReport, At: r.At, Priority: "normal", Title: r.title(), HTML: r.html()}
	m.Lines = r.lines()
	if publicURL != "" {
		m.Links = []notify.Link{{Label: "Open Sunloop", URL: strings.TrimSuffix(publicURL, "/") + "/"}}
	}
	return m
}

const unknown = "unknown"

// format is how the numbers of the report are written.
func (r Report) format() display.Format {
	switch r.Numbers {
	case "comma":
		return display.Format{Group: ".", Mark: ","}
	case "space":
		return display.Format{Group: "\u202f", Mark: ","}
	}
	return display.Format{Group: ",", Mark: "."}
}

func (r Report) energy(v *float64) string {
	if v == nil {
		return unknown
	}
	return r.format().Energy(*v)
}

// percent writes a share.
func (r Report) percent(v *float64) string {
	if v == nil {
		return unknown
	}
	return r.format().Percentage(100 * *v)
}

func (r Report) count(n *int, one, more string) string {
	if n == nil {
		return more + " " + unknown
	}
	return r.format().CountOf(*n, one, more)
}

// days is the time of the report in words.
func (r Report) days() string {
	last := r.To.AddDate(0, 0, -1)
	switch r.Kind {
	case Weekly:
		return display.LongDays(r.From, last)
	case Monthly:
		return display.Month(r.From)
	}
	return display.LongDay(r.From)
}

// totals are the sums over the sites whose figures are known.
type totals struct {
	energy, expected, lost, today           float64
	known, compared, withLost, withToday, n int
	compare                                 float64 // energy of the sites with an expectation
}

func (r Report) totals() (t totals) {
	t.n = len(r.Sites)
	for _, s := range r.Sites {
		if s.EnergyKWh != nil {
			t.energy, t.known = t.energy+*s.EnergyKWh, t.known+1
			if s.ExpectedKWh != nil {
				t.expected, t.compare, t.compared = t.expected+*s.ExpectedKWh, t.compare+*s.EnergyKWh, t.compared+1
			}
		}
		if s.LostKWh != nil {
			t.lost, t.withLost = t.lost+*s.LostKWh, t.withLost+1
		}
		if s.TodayKWh != nil {
			t.today, t.withToday = t.today+*s.TodayKWh, t.withToday+1
		}
	}
	return t
}

// of names how many sites a sum is of, if they are not all.
func (t totals) of(n int) string {
	if n == t.n {
		return ""
	}
	return fmt.Sprintf("; %d of %s known", n, display.CountOf(t.n, "site", "sites"))
}

func (r Report) title() string {
	t := r.totals()
	what := map[string]string{Daily: "Morning summary", Weekly: "Weekly summary", Monthly: "Monthly summary"}[r.Kind]
	if t.known == 0 {
		return fmt.Sprintf("%s, %s: energy unknown", what, r.days())
	}
	text := fmt.Sprintf("%s, %s: %s", what, r.days(), r.energy(&t.energy))
	if t.compared == t.known && t.expected > 0 {
		text += " of " + r.energy(&t.expected) + " expected"
	}
	return text + t.of(t.known)
}

// comparison writes an energy with what was expected.
func (r Report) comparison(energy, expected *float64) string {
	text := r.energy(energy)
	if expected == nil {
		return text + "; the expectation is unknown"
	}
	text += " of " + r.energy(expected) + " expected"
	if energy != nil && *expected > 0 {
		share := *energy / *expected
		text += " (" + r.percent(&share) + ")"
	}
	return text
}

// sum is a total; nil if no site is known.
func sum(v float64, n int) *float64 {
	if n == 0 {
		return nil
	}
	return &v
}

// overall are the lines about all sites.
func (r Report) overall() []string {
	t := r.totals()
	lines := []string{}
	if t.n != 1 {
		lines = append(lines, "Energy: "+r.energy(sum(t.energy, t.known))+t.of(t.known))
		if t.compared > 0 {
			lines = append(lines, "Compared with the forecast: "+r.comparison(&t.compare, &t.expected)+t.of(t.compared))
		} else {
			lines = append(lines, "Compared with the forecast: "+unknown)
		}
		lines = append(lines, "Lost by findings: "+r.energy(sum(t.lost, t.withLost))+t.of(t.withLost))
		if r.Kind == Daily {
			lines = append(lines, "Expected today: "+r.energy(sum(t.today, t.withToday))+t.of(t.withToday))
		}
	}
	if t.n == 0 {
		lines = []string{"There are no sites."}
	}
	return lines
}

// maxLosses is the number of causes of losses that are listed of a site.
const maxLosses = 5

// entries are what is said of a site, as labels and values.
func (r Report) entries(s Site) [][2]string {
	if s.Failure != "" {
		return [][2]string{{"Figures", s.Failure}}
	}
	losses := "none found"
	if s.LostKWh == nil {
		losses = unknown
	} else if len(s.Losses) > 0 {
		list := slices.SortedFunc(slices.Values(s.Losses), func(a, b api.LossCause) int {
			return cmp.Or(cmp.Compare(b.LostKWh, a.LostKWh), cmp.Compare(a.FaultFamily, b.FaultFamily))
		})
		var words []string
		for i, l := range list {
			if i == maxLosses {
				words = append(words, display.CountOf(len(list)-i, "more cause", "more causes"))
				break
			}
			words = append(words, strings.ReplaceAll(l.FaultFamily, "_", " ")+" "+r.energy(&l.LostKWh))
		}
		losses = r.energy(s.LostKWh) + ": " + strings.Join(words, ", ")
	}
	out := [][2]string{
		{"Energy", r.comparison(s.EnergyKWh, s.ExpectedKWh)},
		{"Losses", losses},
		{"Availability", r.percent(s.Availability)},
		{"Performance ratio", r.percent(s.Ratio)},
		{"Data that arrived", r.percent(s.Data)},
		{"Open", strings.Join([]string{r.count(s.Alarms, "alarm", "alarms"), r.count(s.Orders, "work order", "work orders"), r.count(s.Overdue, "overdue schedule", "overdue schedules")}, ", ")},
	}
	if r.Kind == Daily {
		windows := s.NoWindows
		if len(s.Windows) > 0 {
			var words []string
			for _, w := range s.Windows {
				words = append(words, display.WeekdayClock(w.Start.In(s.Zone))+" to "+display.Clock(w.End.In(s.Zone))+" (costs "+r.energy(&w.EnergyKWh)+")")
			}
			windows = strings.Join(words, ", ")
		}
		out = append(out, [2]string{"Expected today", r.energy(s.TodayKWh)}, [2]string{"Best times for work", windows})
	}
	figures := "not final: the days are not over"
	if s.Revision > 0 {
		figures = fmt.Sprintf("revision %d of %s", s.Revision, display.DateTimeZone(s.AsOf.In(r.zone())))
	}
	return append(out, [2]string{"Figures", figures})
}

func (r Report) zone() *time.Location {
	if r.Zone == nil {
		return time.UTC
	}
	return r.Zone
}

// ordered are the sites, those that lost the most first.
func (r Report) ordered() []Site {
	lost := func(s Site) float64 {
		if s.LostKWh == nil {
			return -1
		}
		return *s.LostKWh
	}
	return slices.SortedStableFunc(slices.Values(r.Sites), func(a, b Site) int { return cmp.Or(cmp.Compare(lost(b), lost(a)), cmp.Compare(a.Name, b.Name)) })
}

func (r Report) more() string {
	if r.More == 0 {
		return ""
	}
	return display.CountOf(r.More, "further site is", "further sites are") + " not part of this report."
}

func (r Report) lines() []string {
	lines := r.overall()
	for _, s := range r.ordered() {
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, s.Name)
		for _, e := range r.entries(s) {
			lines = append(lines, "  "+e[0]+": "+e[1])
		}
	}
	if more := r.more(); more != "" {
		lines = append(lines, "", more)
	}
	return lines
}

// html is the body of an e-mail. Programs for mail ignore style sheets, so that styles are
// attributes.
func (r Report) html() string {
	type block struct {
		Name    string
		Entries [][2]string
	}
	data := struct {
		Overall []string
		Sites   []block
		More    string
	}{Overall: r.overall(), More: r.more()}
	for _, s := range r.ordered() {
		data.Sites = append(data.Sites, block{s.Name, r.entries(s)})
	}
	var b strings.Builder
	if err := page.Execute(&b, data); err != nil {
		return "" // the lines are sent instead
	}
	return b.String()
}

var page = template.Must(template.New("report").Parse(`
{{- range .Overall}}<p style="margin:0 0 8px">{{.}}</p>
{{end}}
{{- range .Sites}}<h2 style="font-size:17px;margin:24px 0 8px">{{.Name}}</h2>
<table role="presentation" style="border-collapse:collapse;width:100%">
{{range .Entries}}<tr><td style="padding:4px 12px 4px 0;color:#495057;vertical-align:top;white-space:nowrap">{{index . 0}}</td><td style="padding:4px 0">{{index . 1}}</td></tr>
{{end}}</table>
{{end}}
{{- if .More}}<p style="margin:16px 0 0">{{.More}}</p>
{{end}}`))
