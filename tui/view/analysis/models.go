package analysis

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/internal/display"
	"app.sunloop/themes"
	"app.sunloop/tui/chart"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/plant"
	"app.sunloop/tui/view/widget"
)

// NewModels shows the site's registered models, their training and evaluation,
// and the changes of their status.
func NewModels() *widget.TabView {
	registry, moves := newRegistry(), newMoves()
	return &widget.TabView{Heading: "Models", Keys: keymap.ModelList, Tabs: []*widget.Tab{registry, moves},
		Act: func(l *widget.Tab, a keymap.Action, v view.Context) view.Request {
			return modelAct(a, modelOf(v, chosenModel(l)), v)
		},
		Reason: func(l *widget.Tab, a keymap.Action, v view.Context) string {
			return modelWhy(a, modelOf(v, chosenModel(l)), v)
		},
	}
}

// chosenModel returns the model selected in the registry; the status changes have
// none.
func chosenModel(l *widget.Tab) string {
	if l.Detail == nil {
		return ""
	}
	return l.List.Current()
}

func modelID(m api.Model) string { return m.ModelName + " " + m.ModelVersion }

func modelOf(v view.Context, id string) *api.Model {
	if i := slices.IndexFunc(v.Site.Models.Data, func(m api.Model) bool { return modelID(m) == id }); i >= 0 {
		return &v.Site.Models.Data[i]
	}
	return nil
}

// modelWhy returns why a model's status cannot be changed.
func modelWhy(a keymap.Action, m *api.Model, v view.Context) string {
	switch {
	case a == keymap.CancelTraining && trainingOf(v) == nil:
		return "no training is running"
	case a == keymap.CancelTraining:
		return ""
	case m == nil:
		return "select a model of the registry"
	case a == keymap.PromoteModel && m.Status != api.ModelChallenger, a == keymap.EvaluateModel && m.Status != api.ModelChallenger:
		return modelID(*m) + " is " + m.Status + ": only a challenger can be evaluated or promoted"
	case a == keymap.RollbackModel && m.Status != api.ModelArchived:
		return modelID(*m) + " is " + m.Status + ": only an archived model can be restored"
	}
	return ""
}

// trainingOf returns a file whose training runs or waits; nil without one.
func trainingOf(v view.Context) *api.Upload {
	for _, u := range plant.Importing(v) {
		return &u
	}
	return nil
}

func modelAct(a keymap.Action, m *api.Model, v view.Context) view.Request {
	switch {
	case a == keymap.CancelTraining:
		return view.OpenDialog{Dialog: NewCancelTraining(*trainingOf(v))}
	case m == nil:
		return nil
	case a == keymap.PromoteModel:
		return view.OpenDialog{Dialog: NewPromotion(*m)}
	case a == keymap.RollbackModel:
		return view.OpenDialog{Dialog: NewRollback(*m)}
	case a == keymap.EvaluateModel:
		r := refOf(*m)
		return view.Call{Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
			answer, err := c.EvaluateModel(ctx, r)
			return moved(answer, err, func() string {
				words := answer.Message + "."
				if e := answer.Model.Evaluation; e != nil {
					words += " " + sentence(e.Verdict)
				}
				return words
			})
		}}
	}
	return nil
}

// sentence begins with a capital letter and ends with a point.
func sentence(words string) string {
	if words == "" {
		return ""
	}
	first, size := utf8.DecodeRuneInString(words)
	return string(unicode.ToUpper(first)) + strings.TrimSuffix(words[size:], ".") + "."
}

// refOf names a model to the service.
func refOf(m api.Model) api.ModelsRequest {
	return api.ModelsRequest{CustomerID: m.CustomerID, SiteID: m.SiteID, ModelType: m.ModelType, ModelVersion: m.ModelVersion}
}

// moved returns the result of a change of the registry.
func moved(answer *api.ModelMoveResponse, err error, words func() string) (view.Result, error) {
	if err != nil {
		return view.Result{}, err
	}
	return view.Result{Notice: view.Notice(words()), Row: modelID(answer.Model), Refresh: []state.Query{state.QueryModels, state.QueryModelHistory, state.QueryForecast, state.QueryActivities}}, nil
}

// modelForm asks for a reason, which the registry keeps.
func modelForm(title, verb string, words []string, send func(d *widget.StepForm, reason string) view.Call) *widget.StepForm {
	d := &widget.StepForm{Heading: title, Verb: verb, Intro: words, Send: func(d *widget.StepForm) (view.Call, bool) {
		reason := d.Value("reason")
		if len([]rune(reason)) < api.MinReasonLength {
			d.Refuse(slices.Index(d.Names, "reason"), fmt.Sprintf("Give a reason of at least %d characters; it is kept in the history.", api.MinReasonLength))
			return view.Call{}, false
		}
		return send(d, reason), true
	}}
	d.Add("reason", widget.NewField("Reason", "why; shown in the history", ""))
	return d
}

// NewPromotion asks for the reason of a promotion. If the evaluation advises
// against it, it is done only when that is chosen.
func NewPromotion(m api.Model) *widget.StepForm {
	e := m.Evaluation
	verdict := "It has not been evaluated."
	if e != nil {
		verdict = sentence(e.Verdict)
	}
	eligible := e != nil && e.Eligible
	words := []string{modelID(m) + " takes over the forecasts of this site, and the model in production goes into the archive; a rollback takes that back.", verdict}
	d := modelForm("Promote "+modelID(m), "promote", words, func(d *widget.StepForm, reason string) view.Call {
		r := refOf(m)
		r.Reason, r.Force = reason, !eligible && d.Value("force") == "yes"
		return view.Call{From: d, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
			answer, err := c.PromoteModel(ctx, r)
			return moved(answer, err, func() string { return answer.Message + "." })
		}}
	})
	if !eligible {
		d.Add("force", widget.NewChoice("Promote anyway", []string{"no", "yes"}, widget.Verbatim))
	}
	return d
}

// NewRollback asks for the reason of a rollback.
func NewRollback(m api.Model) *widget.StepForm {
	words := []string{modelID(m) + " takes over the forecasts of this site again, and the model in production goes into the archive."}
	return modelForm("Go back to "+modelID(m), "go back", words, func(d *widget.StepForm, reason string) view.Call {
		r := refOf(m)
		r.Reason = reason
		return view.Call{From: d, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
			answer, err := c.RollbackModel(ctx, r)
			return moved(answer, err, func() string { return answer.Message + "." })
		}}
	})
}

// NewCancelTraining asks whether an import, or the training that it waits for,
// is to end.
func NewCancelTraining(u api.Upload) *widget.Confirm {
	return &widget.Confirm{
		Heading: "Cancel a training", No: "Continue training", Yes: "Cancel it",
		Question: "Cancel " + plant.FileName(u) + ", which is " + plant.UploadState(u) + "? Stored readings are kept; training starts again when new data arrive.",
		Send: func(from view.Caller) view.Request {
			return view.Call{From: from, Do: func(ctx context.Context, c *client.Client) (view.Result, error) {
				if _, err := c.CancelUpload(ctx, u.UploadID); err != nil {
					return view.Result{}, err
				}
				return view.Result{Notice: view.Notice("Cancelled: " + plant.FileName(u) + "."), Refresh: []state.Query{state.QueryUploads, state.QueryModels}}, nil
			}}
		},
	}
}

func newRegistry() *widget.Tab {
	l := widget.NewTab("registry")
	l.Needs = func(view.Context) []state.Need {
		return []state.Need{{Query: state.QueryModels, Period: 15 * time.Second}, {Query: state.QueryUploads, Period: 10 * time.Second}}
	}
	l.Status = func(v view.Context) widget.ValueStatus {
		return widget.StatusOf(v.Site.Models, v.Now, len(v.Site.Models.Data) == 0)
	}
	l.Empty = fmt.Sprintf("No model is trained yet: training starts automatically with %s of data.", display.CountOf(api.TrainingDays, "day", "days"))
	c := &chart.Day{}
	l.Head = func(r terminal.Region, v view.Context, id string) int {
		w, h := r.Size()
		y := 0
		for _, u := range plant.Importing(v) {
			widget.DrawBar(r.Region(terminal.Rect{Y: y, W: 12, H: 1}), v, u.Progress)
			y = v.Paragraph(r, 13, y, fmt.Sprintf("%5s  %s  %s", display.Percent(u.Progress), plant.UploadState(u), plant.FileName(u)), themes.Text)
		}
		if m := modelOf(v, id); m != nil && len(m.TrainingMetrics.Curve) > 1 && h-y >= 7 && w >= 30 {
			drawCurve(c, r.Region(terminal.Rect{Y: y, W: w, H: h - y}), v, m.TrainingMetrics)
			return h
		}
		return y
	}
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{
			{Title: "model", Min: 16}, {Title: "status", Width: 11}, {Title: "accuracy", Width: 9, Right: true}, {Title: "coverage", Width: 9, Right: true, Rank: 1}, {Title: "skill", Width: 8, Right: true, Rank: 2}, {Title: "trained", Width: 12, Rank: 3},
		}
	}
	l.Rows = func(v view.Context) []widget.Row {
		rows := make([]widget.Row, 0, len(v.Site.Models.Data))
		for _, m := range v.Site.Models.Data {
			role := themes.Dim
			if m.Status != api.ModelArchived {
				role = themes.Text
			}
			skill := ""
			if m.SkillPercent != 0 {
				skill = display.Change(m.SkillPercent)
			}
			rows = append(rows, widget.Row{ID: modelID(m), Sort: []any{modelID(m), m.Status, m.ModelAccuracy, m.Coverage80, m.SkillPercent, m.LastTrainedAt.String()}, Cells: []widget.Cell{
				{Text: modelID(m), Role: role}, {Text: m.Status, Role: role}, {Text: share(m.ModelAccuracy), Role: role}, {Text: share(m.Coverage80), Role: role},
				{Text: skill, Role: role}, widget.QuietText(display.When(m.LastTrainedAt.Time, v.SiteNow, v.Site.Zone)),
			}})
		}
		return rows
	}
	l.Detail = modelDetail
	return l
}

// share writes a share, nothing for none.
func share(x float64) string {
	if x == 0 {
		return ""
	}
	return display.Percent(x)
}

// drawCurve draws the losses of a training by epoch, with the selected
// epoch. A chart's axis is time: an epoch is an hour of it, and its labels
// are replaced by the epochs'.
func drawCurve(c *chart.Day, r terminal.Region, v view.Context, m api.TrainingMetrics) {
	n := len(m.Curve)
	train, validation := chart.Points{Step: time.Hour}, chart.Points{Step: time.Hour}
	scale := 0.0
	for _, e := range m.Curve {
		scale = max(scale, e.TrainLoss, e.ValidationLoss)
	}
	unit, times := lossUnit(scale)
	for i, e := range m.Curve {
		train.At = append(train.At, int64(i)*3600)
		train.Value, validation.Value = append(train.Value, e.TrainLoss*times), append(validation.Value, e.ValidationLoss*times)
	}
	validation.At = train.At
	c.Pen, c.Palette, c.Location, c.Unit, c.Legend, c.Stale = v.Pen, v.Palette, time.UTC, unit, true, v.Site.Models.Err != nil
	c.From, c.To, c.Floating = time.Unix(0, 0), time.Unix(int64(n)*3600, 0), true
	c.Lines = append(c.Lines[:0],
		chart.Line{Name: "loss in validation", Points: validation, Role: themes.Actual}, chart.Line{Name: "in training", Points: train, Role: themes.P50, Pattern: chart.Dashed})
	c.Now = time.Unix(int64(m.EarlyStopEpoch-1)*3600+1800, 0)
	c.Draw(r)
	w, h := r.Size()
	plot := c.Plot()
	axis := r.Region(terminal.Rect{Y: h - 1, W: w, H: 1})
	axis.Clear(v.Palette.Style(themes.Panel))
	dim := v.Palette.Style(themes.Dim)
	first, last, kept := "epoch 1", strconv.Itoa(n), fmt.Sprintf("kept: %d", m.EarlyStopEpoch)
	axis.Put(plot.X, 0, first, dim)
	end := axis.PutRight(plot.X+plot.W, 0, last, dim)
	x := plot.X + int((float64(m.EarlyStopEpoch)-0.5)/float64(n)*float64(plot.W)) - len(kept)/2
	if x = max(x, plot.X+len(first)+2); x+len(kept)+1 < end {
		axis.Put(x, 0, kept, v.Palette.Style(themes.Accent))
	}
}

// lossUnit returns the power of ten in which losses are read easily.
func lossUnit(top float64) (unit string, times float64) {
	if !(top > 0) || top >= 0.1 {
		return "", 1
	}
	k := int(math.Ceil(-math.Log10(top)))
	return fmt.Sprintf("1e-%d", k), math.Pow10(k)
}

func modelDetail(v view.Context, id string) []widget.Detail {
	m := modelOf(v, id)
	if m == nil {
		return nil
	}
	lines := []widget.Detail{{Heading: id}}
	add := widget.FormatsOf(&lines)
	add("kind", "%s, %s", m.ModelType, m.Status)
	day := func(t api.Time) string { return display.Date(t.In(v.Site.Zone)) }
	add("trained on", "%s to %s", day(m.TrainingDataWindow.Start), day(m.TrainingDataWindow.End))
	if m.ModelType == api.ModelForecasting {
		add("accuracy", "%s: 1 minus the mean error over daylight as a share of capacity, in the backtest", display.Percent(m.ModelAccuracy))
		add("coverage", "%s of actuals between P10 and P90 (nominal: 80 %%)", display.Percent(m.Coverage80))
		add("skill", "%s against smart persistence", display.Change(m.SkillPercent))
	} else if m.ModelAccuracy != 0 {
		add("accuracy", "%s: 1 minus the mean error on samples that were measured, hidden and filled again", display.Percent(m.ModelAccuracy))
	}
	if e := m.Evaluation; e != nil {
		lines = append(lines, widget.Detail{Heading: evaluationHeading(*e)})
		role := themes.Text
		if !e.Eligible {
			role = themes.Warning
		}
		lines = append(lines, widget.Detail{Label: "evaluation", Text: sentence(e.Verdict), Role: role})
		if e.Production != nil && e.Challenger != nil {
			add("gain", "%s less loss over %s of daylight (%s)", display.Change(e.GainPercent), display.CountOf(e.Samples, "hour", "hours"), evaluated[e.Method])
			add("production", "%s", scoreWords(*e.Production))
			add("this one", "%s", scoreWords(*e.Challenger))
		}
	}
	if len(m.Members) > 0 {
		heading, words := "Members of the blend", "weight %.2f"
		if m.ModelType == api.ModelInterpolation {
			heading, words = "Methods", "fills %.2f of the kinds of gaps"
		}
		lines = append(lines, widget.Detail{Heading: heading})
		for _, name := range widget.SortedKeys(m.Members) {
			add(name, words, m.Members[name])
		}
	}
	lines = append(lines, widget.Detail{Heading: "Neural member"})
	add("layers", "%s, learning rate %g, dropout %g, %s", strings.Trim(fmt.Sprint(m.Hyperparameters.Layers), "[]"), m.Hyperparameters.LearningRate, m.Hyperparameters.Dropout, m.Hyperparameters.Optimizer)
	add("epochs", "%d, kept %d; loss %.4g in training, %.4g in validation", m.TrainingMetrics.Epochs, m.TrainingMetrics.EarlyStopEpoch, m.TrainingMetrics.TrainLoss, m.TrainingMetrics.ValidationLoss)
	return lines
}

func evaluationHeading(e api.ModelEvaluation) string {
	if e.Against == "" {
		return "Evaluation"
	}
	return "Evaluation against " + e.Against
}

// evaluated describes the ways of an evaluation.
var evaluated = map[string]string{
	api.EvaluatedFirst: "the first model", api.EvaluatedHeldOut: "days that neither had seen", api.EvaluatedRollingOrigin: "common origins of both backtests",
	api.EvaluatedOwnBacktest: "each its own backtest", api.EvaluatedHiddenSamples: "hidden samples",
}

func newMoves() *widget.Tab {
	l := widget.NewTab("history")
	l.Needs = func(view.Context) []state.Need {
		return []state.Need{{Query: state.QueryModelHistory, Period: time.Minute}}
	}
	l.Status = func(v view.Context) widget.ValueStatus {
		return widget.StatusOf(v.Site.ModelHistory, v.Now, len(v.Site.ModelHistory.Data) == 0)
	}
	l.Empty = "No model has been registered for this site, or changed its status, yet."
	l.Detail, l.Aside = moveDetail, true
	l.Columns = func(view.Context) []widget.Column {
		return []widget.Column{{Title: "when", Width: 12}, {Title: "model", Width: 20, Min: 16}, {Title: "became", Width: 11}, {Title: "by", Width: 12, Min: 8, Rank: 1}, {Title: "why", Min: 14}}
	}
	l.Rows = func(v view.Context) []widget.Row {
		rows := make([]widget.Row, 0, len(v.Site.ModelHistory.Data))
		for i, m := range v.Site.ModelHistory.Data {
			why := m.Reason
			if m.Forced {
				why = "against the evaluation: " + why
			}
			rows = append(rows, widget.Row{ID: strconv.Itoa(i), Sort: []any{m.At.String(), m.ModelName + m.ModelVersion, m.To, m.Actor, why}, Cells: []widget.Cell{
				widget.QuietText(display.When(m.At.Time, v.SiteNow, v.Site.Zone)), widget.Text(m.ModelName + " " + m.ModelVersion), widget.Text(m.To), widget.Text(m.Actor), widget.Text(why),
			}})
		}
		return rows
	}
	return l
}

// moveDetail describes a change of the status of a model, and the model.
func moveDetail(v view.Context, id string) []widget.Detail {
	i, err := strconv.Atoi(id)
	if err != nil || i < 0 || i >= len(v.Site.ModelHistory.Data) {
		return nil
	}
	m := v.Site.ModelHistory.Data[i]
	lines := []widget.Detail{{Heading: m.ModelName + " " + m.ModelVersion}}
	add := widget.FactsOf(&lines)
	add("became", m.To)
	add("before", m.From)
	add("when", widget.TimesOf(v)(m.At))
	add("by", m.Actor)
	add("why", m.Reason)
	if m.Forced {
		lines = append(lines, widget.Detail{Label: "forced", Text: "against the evaluation", Role: themes.Warning})
	}
	return lines
}
