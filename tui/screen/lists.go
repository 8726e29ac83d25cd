package screen

import (
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
)

// NewUploads lists the site's uploads with what was inferred from each file.
func NewUploads() *Sheet {
	return &Sheet{
		title: "Uploads", query: state.QueryUploads,
		empty: "No file has been imported for this site. Press esc, then U, to import one.",
		list:  pane.List{SortBy: -1},
		columns: []pane.Column{
			{Title: "file"}, {Title: "state", Width: 24}, {Title: "rows", Width: 9, Right: true, Rank: 1}, {Title: "when", Width: 12, Rank: 2},
		},
		rows: func(v pane.View) []pane.Row {
			var rows []pane.Row
			if v.Site == nil {
				return nil
			}
			for _, u := range v.Site.Uploads.Data {
				rows = append(rows, pane.Row{ID: u.UploadID, Sort: []any{u.Filename, u.ProcessingStatus, float64(u.RowsStored), u.CreatedAt.String()}, Cells: []pane.Cell{
					{Text: uploadName(u), Role: themes.Text},
					{Text: pane.UploadState(u), Role: pane.UploadRole(u)},
					{Text: fmt.Sprint(u.RowsStored), Role: themes.Text},
					{Text: pane.When(u.CreatedAt.Time, v.SiteNow, v.Site.Zone), Role: themes.Dim},
				}})
			}
			return rows
		},
		detail: uploadDetail,
	}
}

func uploadName(u api.Upload) string {
	if u.Filename != "" {
		return u.Filename
	}
	return u.UploadID
}

func uploadDetail(v pane.View, id string) []string {
	i := slices.IndexFunc(v.Site.Uploads.Data, func(u api.Upload) bool { return u.UploadID == id })
	if i < 0 {
		return nil
	}
	u := v.Site.Uploads.Data[i]
	lines := []string{uploadName(u), u.UploadID + " · " + pane.UploadState(u), ""}
	if u.Error != "" {
		lines = append(lines, "Refused: "+u.Error, "")
	}
	lines = append(lines, fmt.Sprintf("rows: %d read, %d stored, %d missing", u.RowsRead, u.RowsStored, u.RowsMissing))
	for _, reason := range sortedKeys(u.RowsSkipped) {
		lines = append(lines, fmt.Sprintf("skipped: %d, %s", u.RowsSkipped[reason], reason))
	}
	if !u.FirstRecord.IsZero() {
		lines = append(lines, "from "+u.FirstRecord.In(v.Site.Zone).Format("2006-01-02 15:04")+" to "+u.LastRecord.In(v.Site.Zone).Format("2006-01-02 15:04"))
	}
	if len(u.AssetIDs) > 0 {
		lines = append(lines, "units: "+strings.Join(u.AssetIDs, ", "))
	}
	for _, part := range []struct {
		title string
		lines []string
	}{{"What was inferred", u.Decisions}, {"Worth a look", u.Warnings}} {
		if len(part.lines) > 0 {
			lines = append(append(lines, "", part.title), part.lines...)
		}
	}
	return lines
}

// NewModels lists the site's registered models.
func NewModels() *Sheet {
	return &Sheet{
		title: "Models", query: state.QueryModels,
		empty: fmt.Sprintf("No model is trained yet: training starts with %d days of data.", api.TrainingDays),
		list:  pane.List{SortBy: -1},
		columns: []pane.Column{
			{Title: "model"}, {Title: "status", Width: 11}, {Title: "accuracy", Width: 9, Right: true}, {Title: "coverage", Width: 9, Right: true, Rank: 1}, {Title: "trained", Width: 12, Rank: 2},
		},
		rows: func(v pane.View) []pane.Row {
			var rows []pane.Row
			if v.Site == nil {
				return nil
			}
			for _, m := range v.Site.Models.Data {
				role := themes.Dim
				if m.Status == api.ModelProduction {
					role = themes.Text
				}
				rows = append(rows, pane.Row{ID: m.ModelName + " " + m.ModelVersion, Sort: []any{m.ModelName + m.ModelVersion, m.Status, m.ModelAccuracy, m.Coverage80, m.LastTrainedAt.String()}, Cells: []pane.Cell{
					{Text: m.ModelName + " " + m.ModelVersion, Role: role},
					{Text: m.Status, Role: role},
					{Text: pane.Percent(m.ModelAccuracy), Role: role},
					{Text: pane.Percent(m.Coverage80), Role: role},
					{Text: pane.When(m.LastTrainedAt.Time, v.SiteNow, v.Site.Zone), Role: themes.Dim},
				}})
			}
			return rows
		},
		detail: modelDetail,
	}
}

func modelDetail(v pane.View, id string) []string {
	i := slices.IndexFunc(v.Site.Models.Data, func(m api.Model) bool { return m.ModelName+" "+m.ModelVersion == id })
	if i < 0 {
		return nil
	}
	m := v.Site.Models.Data[i]
	lines := []string{
		id, m.ModelType + " · " + m.Status, "",
		"trained on " + m.TrainingDataWindow.Start.In(v.Site.Zone).Format("2006-01-02") + " to " + m.TrainingDataWindow.End.In(v.Site.Zone).Format("2006-01-02"),
		fmt.Sprintf("accuracy %s: 1 − mean error over daylight, as share of capacity, in the backtest", pane.Percent(m.ModelAccuracy)),
		fmt.Sprintf("coverage %s of actuals between P10 and P90, where 80 %% is claimed", pane.Percent(m.Coverage80)),
		fmt.Sprintf("skill %+.1f %% against smart persistence", m.SkillPercent),
		"", "Members of the blend",
	}
	for _, name := range sortedKeys(m.Members) {
		lines = append(lines, fmt.Sprintf("%s: weight %.2f", name, m.Members[name]))
	}
	return append(lines, "",
		fmt.Sprintf("neural member: layers %v, learning rate %g, dropout %g, %s", m.Hyperparameters.Layers, m.Hyperparameters.LearningRate, m.Hyperparameters.Dropout, m.Hyperparameters.Optimizer),
		fmt.Sprintf("epochs %d, kept %d; loss %.4g in training, %.4g in validation", m.TrainingMetrics.Epochs, m.TrainingMetrics.EarlyStopEpoch, m.TrainingMetrics.TrainLoss, m.TrainingMetrics.ValidationLoss))
}

// NewLog shows the console's own log, newest last; lines answers it anew each
// time it is drawn.
func NewLog(lines func() []string) *Sheet {
	return &Sheet{
		title: "Log", empty: "Nothing has been logged.", list: pane.List{SortBy: -1},
		columns: []pane.Column{{Title: "line"}},
		rows: func(pane.View) []pane.Row {
			var rows []pane.Row
			for i, l := range lines() {
				rows = append(rows, pane.Row{ID: fmt.Sprint(i), Cells: []pane.Cell{{Text: l, Role: themes.Text}}})
			}
			return rows
		},
		detail: func(_ pane.View, id string) []string {
			all := lines()
			var i int
			if _, err := fmt.Sscan(id, &i); err != nil || i >= len(all) {
				return nil
			}
			return []string{all[i]}
		},
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
