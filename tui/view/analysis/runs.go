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
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
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
	return &widget.TableView{
		Heading: "Runs", Query: state.QueryManual, Keys: keymap.RunList, List: widget.List{SortBy: -1},
		Empty: "Nothing was started by hand. t trains a model now, f issues a forecast, i fills the gaps, d runs detection for a period, b computes the forecasts of past days. The service does all of these automatically when they are due.",
		Columns: []widget.Column{
			{Title: "what", Width: 11}, {Title: "state", Width: 9}, {Title: "progress", Width: 12, Min: 10, Rank: 1}, {Title: "result", Min: 30}, {Title: "begun", Width: 12, Rank: 2}, {Title: "by", Width: 12, Min: 8, Rank: 3},
		},
		Rows: runRows, Detail: handRunDetail, Wide: true,
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
	r := widget.Find(v.Site.Manual.Data, func(r api.ManualRun) bool { return r.RunID == id })
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
