package analysis

import (
	"context"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/operations"
	"app.sunloop/tui/view/widget"
)

// runNames are the kinds of runs in words.
var runNames = map[string]string{api.RunTrain: "training", api.RunForecast: "forecast", api.RunFillGaps: "gap filling", api.RunDetect: "detection", api.RunBackcast: "backcast"}

// RunName is the kind of a run in words.
func RunName(kind string) string {
	if words := runNames[kind]; words != "" {
		return words
	}
	return kind
}

// runActions are the kinds of runs that keys start.
var runActions = map[keymap.Action]string{keymap.TrainNow: api.RunTrain, keymap.ForecastNow: api.RunForecast, keymap.FillNow: api.RunFillGaps, keymap.DetectNow: api.RunDetect, keymap.BackcastNow: api.RunBackcast}

// NewRuns lists what people had the service do now, with progress and result, and starts
// training, a forecast, gap filling, detection or backcasts.
func NewRuns() *widget.TableView {
	result := &runResult{period: &period{at: 1}}
	result.screen = &widget.TableView{
		Heading: "Runs", Query: state.QueryManual, Keys: keymap.RunList, List: widget.List{SortBy: -1},
		Empty: "Nothing was started by hand. t trains a model now, f issues a forecast, i fills the gaps, d runs detection for a period, b computes the forecasts of past days. The service does all of these automatically when they are due.",
		Columns: []widget.Column{
			{Title: "what", Width: 11}, {Title: "state", Width: 9}, {Title: "progress", Width: 12, Min: 10, Rank: 1}, {Title: "result", Min: 30}, {Title: "begun", Width: 12, Rank: 2}, {Title: "by", Width: 12, Min: 8, Rank: 3},
		},
		Rows: runRows, Detail: handRunDetail, Wide: true, Rest: result.draw, More: result.needs,
		Status: func(v view.Context) widget.ValueStatus {
			if v.Site == nil {
				return widget.ValueStatus{Status: state.Empty}
			}
			return widget.StatusOf(v.Site.Manual, v.Now, len(v.Site.Manual.Data) == 0)
		},
		Act: func(a keymap.Action, _ string, v view.Context) view.Request {
			kind := runActions[a]
			switch {
			case kind == "" || v.Site == nil:
				return nil
			case kind == api.RunDetect:
				return view.OpenDialog{Dialog: NewDetectForm(v)}
			}
			return startRun(nil, api.RunsRequest{CustomerID: v.Site.CustomerID, SiteID: v.Site.SiteID, Kind: kind})
		},
		Reason: func(a keymap.Action, _ string, v view.Context) string {
			if v.Site == nil {
				return "no site is open"
			}
			for _, r := range v.Site.Manual.Data {
				if kind := runActions[a]; kind != "" && r.Kind == kind && !r.Ended() {
					return "a " + RunName(kind) + " run is in progress"
				}
			}
			return ""
		},
	}
	return result.screen
}

// runResult draws next to the details of a run what it computed, as it is known now.
type runResult struct {
	screen *widget.TableView
	period *period // of backcasts
	ahead  chart.Day
	trend  chart.Trend
}

// manualRun returns the run of a row; nil if there is none.
func manualRun(v view.Context, id string) *api.ManualRun {
	if v.Site == nil {
		return nil
	}
	return widget.Find(v.Site.Manual.Data, func(r api.ManualRun) bool { return r.RunID == id })
}

func (s *runResult) needs(v view.Context, id string) []state.Need {
	r := manualRun(v, id)
	if r == nil || !s.screen.RestDrawn() {
		return nil
	}
	switch r.Kind {
	case api.RunTrain, api.RunForecast:
		return forecastNeeds(v)
	case api.RunBackcast:
		return dailyNeeds(s.period)(v)
	case api.RunDetect:
		return []state.Need{runFindings}
	}
	return nil
}

// runFindings are the findings next to a run of detection.
var runFindings = state.Need{Query: state.QueryFindings, Period: 30 * time.Second}

func (s *runResult) draw(r terminal.Region, v view.Context, id string) {
	run := manualRun(v, id)
	if run == nil {
		return
	}
	w, h := r.Size()
	h = min(h, mostTrend)
	switch run.Kind {
	case api.RunTrain, api.RunForecast:
		v.Heading(r, 0, "Forecast of the site")
		if len(v.Site.Forecast.Data.Forecasts) == 0 {
			words, role := widget.NoneKnown(v, forecastNeeds(v)[0], "forecast", noForecast)
			v.Paragraph(r, 0, 1, words, role)
			return
		}
		from, to := aheadEnds(v, w)
		drawAhead(&s.ahead, r.Region(terminal.Rect{Y: 1, W: w, H: h - 1}), v, 0, from, to, time.Time{})
	case api.RunBackcast:
		drawEnergyByDay(&s.trend, r.Region(terminal.Rect{W: w, H: h}), v, s.period, "last "+display.CountOf(s.period.days(), "whole day", "whole days"))
	case api.RunDetect:
		widget.DrawDetails(r, v, foundIn(v, *run))
	}
}

// foundIn returns the findings of the window of a run, or those that are active if it has none.
func foundIn(v view.Context, r api.ManualRun) []widget.Detail {
	at := widget.TimesOf(v)
	lines := []widget.Detail{{Heading: "Active findings"}}
	if !r.From.IsZero() {
		lines[0].Heading = "Findings of the window"
	}
	for _, f := range v.Site.Findings.Data {
		if r.From.IsZero() && !f.Active || !r.From.IsZero() && (!f.StartedAt.Before(r.To.Time) || !f.EndedAt.IsZero() && !f.EndedAt.After(r.From.Time)) {
			continue
		}
		lines = append(lines, widget.Detail{Label: at(f.StartedAt), Text: operations.UnitName(f) + ", " + widget.Family(f.FaultFamily) + ", " + display.Percent(f.Confidence) + " sure", Role: themes.Text})
	}
	if len(lines) > 1 {
		return lines
	}
	words, role := widget.NoneKnown(v, runFindings, "findings", "None.")
	return append(lines, widget.Detail{Text: words, Role: role})
}

// startRun starts a run and puts it into the list.
func startRun(from view.Caller, r api.RunsRequest) view.Call {
	return view.Call{From: from, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
		answer, err := client.Call(ctx, c, api.StartRun, r)
		if err != nil {
			return view.Result{}, err
		}
		run := state.Printable(answer.Run)
		return view.Result{
			Apply: func(s *state.Site) {
				if s.Ref() == (api.SiteRef{CustomerID: run.CustomerID, SiteID: run.SiteID}) {
					s.Manual.Data = append([]api.ManualRun{run}, s.Manual.Data...)
				}
			},
			Row: run.RunID, Refresh: []state.Query{state.QueryManual}, Notice: view.Notice("The run is started: " + RunName(run.Kind) + "."),
		}, nil
	}}
}

// NewDetectForm asks for the window of a detection; without one, the present is
// evaluated.
func NewDetectForm(v view.Context) *widget.StepForm {
	site, now := v.Site.Site, v.SiteNow
	d := &widget.StepForm{Heading: "Run detection now", Verb: "start", Intro: []string{
		"Findings of the window are listed with the others: those of the past as events that are over, without alarms. Leave both fields empty to evaluate the present.",
	}}
	d.Zone = v.Site.Zone
	d.Add("from", widget.NewField("From", display.DateTimeLayout+", by the site's clock", display.DateTime(view.MidnightOf(now).AddDate(0, 0, -7))))
	d.Add("to", widget.NewField("To", display.DateTimeLayout, display.DateTime(now.Truncate(time.Minute))))
	d.Send = func(d *widget.StepForm) (view.Call, bool) {
		r := api.RunsRequest{CustomerID: site.CustomerID, SiteID: site.SiteID, Kind: api.RunDetect}
		if d.Value("from") == "" && d.Value("to") == "" {
			return startRun(d, r), true
		}
		var ok bool
		if r.From, ok = d.Date("from", "The begin", now); !ok {
			return view.Call{}, false
		}
		if r.To, ok = d.Date("to", "The end", now); !ok {
			return view.Call{}, false
		}
		if !r.From.Before(r.To.Time) {
			d.Refuse(slices.Index(d.Names, "to"), "The end must be after the start.")
			return view.Call{}, false
		}
		return startRun(d, r), true
	}
	return d
}

// runState is the state of a run with its look.
func runState(r api.ManualRun) (string, themes.Role) {
	switch r.Status {
	case api.RunFailed:
		return r.Status, themes.Warning
	case api.RunCompleted:
		return r.Status, themes.Dim
	}
	return r.Status, themes.Text
}

func runRows(v view.Context) []widget.Row {
	if v.Site == nil {
		return nil
	}
	rows := make([]widget.Row, 0, len(v.Site.Manual.Data))
	for _, r := range v.Site.Manual.Data {
		words, role := runState(r)
		progress := widget.Cell{Text: ""}
		if !r.Ended() {
			progress = widget.Cell{Text: display.Percent(r.Progress), Draw: func(region terminal.Region) {
				w, _ := region.Size()
				widget.DrawBar(region.Region(terminal.Rect{W: max(w-6, 0), H: 1}), v, r.Progress)
				v.PutIn(region, max(w-5, 0), 0, 5, fmt.Sprintf("%5s", display.Percent(r.Progress)), themes.Dim)
			}}
		}
		rows = append(rows, widget.Row{ID: r.RunID, Sort: []any{RunName(r.Kind), words, r.Progress, r.Result, r.RequestedAt.String(), r.RequestedBy}, Cells: []widget.Cell{
			widget.Text(RunName(r.Kind)), {Text: words, Role: role}, progress, {Text: r.Result, Role: role}, widget.QuietText(display.When(r.RequestedAt.Time, v.SiteNow, v.Site.Zone)), widget.QuietText(r.RequestedBy),
		}})
	}
	return rows
}

func handRunDetail(v view.Context, id string) []widget.Detail {
	r := manualRun(v, id)
	if r == nil {
		return nil
	}
	words, role := runState(*r)
	lines := []widget.Detail{{Heading: "Run of " + RunName(r.Kind)}, {Label: "state", Text: words, Role: role}}
	add, at := widget.FactsOf(&lines), widget.TimesOf(v)
	switch {
	case r.Ended():
		lines = append(lines, widget.Detail{Label: "result", Text: r.Result, Role: role})
	case r.Status == api.RunRunning:
		add("progress", display.Percent(r.Progress)+", for "+display.Age(v.SiteNow.Sub(r.StartedAt.Time)))
	}
	if !r.From.IsZero() {
		add("window", at(r.From)+" to "+at(r.To))
	}
	add("by", r.RequestedBy)
	add("requested", at(r.RequestedAt))
	add("begun", at(r.StartedAt))
	add("ended", at(r.EndedAt))
	return lines
}
