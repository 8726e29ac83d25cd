package screen

import (
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/themes"
	"app.sunloop/tui/pane"
	"app.sunloop/tui/state"
	"app.sunloop/tui/terminal"
)

// liveID is the row that stands for all files of a live feed that went well.
const liveID = "live feed"

// NewUploads lists the site's uploads with what was inferred from each file.
func NewUploads() *Sheet {
	return &Sheet{
		title: "Uploads", query: state.QueryUploads,
		empty: "No file has been imported for this site. Press esc, then U, to import one.",
		list:  pane.List{SortBy: -1},
		columns: []pane.Column{
			{Title: "file", Min: 16, IDs: true}, {Title: "state", Width: 20}, {Title: "rows", Width: 8, Right: true, Rank: 1}, {Title: "when", Width: 12, Rank: 2},
		},
		rows:   uploadRows,
		detail: uploadDetail,
	}
}

// live are the uploads of a feed that went well: one line stands for them.
func live(u api.Upload) bool { return u.Kind == api.UploadNowcast && u.Error == "" }

func uploadRows(v pane.View) []pane.Row {
	if v.Site == nil {
		return nil
	}
	var rows []pane.Row
	feed, newest, sum := 0, api.Upload{}, 0
	for _, u := range v.Site.Uploads.Data {
		if live(u) {
			if feed == 0 {
				newest = u
			}
			feed++
			sum += u.RowsStored
			continue
		}
		rows = append(rows, uploadRow(v, u.UploadID, pane.FileName(u), pane.UploadState(u), u.RowsStored, u))
	}
	if feed > 0 {
		words := fmt.Sprintf("live feed: the %d newest files", feed)
		if feed == 1 {
			words = "live feed: one file"
		}
		rows = append(rows, uploadRow(v, liveID, words, pane.UploadState(newest), sum, newest))
	}
	return rows
}

func uploadRow(v pane.View, id, name, words string, stored int, u api.Upload) pane.Row {
	return pane.Row{ID: id, Sort: []any{name, words, float64(stored), u.CreatedAt.String()}, Cells: []pane.Cell{
		{Text: name, Role: themes.Text}, {Text: words, Role: pane.UploadRole(u)},
		{Text: fmt.Sprint(stored), Role: themes.Text}, {Text: pane.When(u.CreatedAt.Time, v.SiteNow, v.Site.Zone), Role: themes.Dim},
	}}
}

func uploadDetail(v pane.View, id string) []Detail {
	i := slices.IndexFunc(v.Site.Uploads.Data, func(u api.Upload) bool { return u.UploadID == id || id == liveID && live(u) })
	if i < 0 {
		return nil
	}
	u := v.Site.Uploads.Data[i]
	lines := []Detail{{Heading: pane.FileName(u)}}
	add := func(label, format string, args ...any) {
		lines = append(lines, Detail{Label: label, Words: fmt.Sprintf(format, args...), Role: themes.Text})
	}
	lines = append(lines, Detail{Label: "state", Words: pane.UploadState(u), Role: pane.UploadRole(u)})
	if u.Error != "" {
		lines = append(lines, Detail{Label: "why", Words: u.Error, Role: themes.Warning})
		if u.ErrorLine > 0 {
			add("line", "%d", u.ErrorLine)
		}
	}
	add("upload", "%s", u.UploadID)
	add("rows", "%d read, %d stored, %d missing", u.RowsRead, u.RowsStored, u.RowsMissing)
	for _, reason := range sortedKeys(u.RowsSkipped) {
		add("skipped", "%d, %s", u.RowsSkipped[reason], reason)
	}
	if !u.FirstRecord.IsZero() {
		add("span", "%s to %s", u.FirstRecord.In(v.Site.Zone).Format("2006-01-02 15:04"), u.LastRecord.In(v.Site.Zone).Format("2006-01-02 15:04"))
	}
	if len(u.AssetIDs) > 0 {
		add("units", "%s", strings.Join(u.AssetIDs, ", "))
	}
	for _, part := range []struct {
		title string
		lines []string
	}{{"Worth a look", u.Warnings}, {"What was inferred", u.Decisions}} {
		if len(part.lines) == 0 {
			continue
		}
		lines = append(lines, Detail{Heading: part.title})
		for _, words := range part.lines {
			lines = append(lines, Detail{Words: words, Role: themes.Text})
		}
	}
	return lines
}

// NewModels lists the site's registered models.
func NewModels() *Sheet {
	return &Sheet{
		title: "Models", query: state.QueryModels,
		empty: fmt.Sprintf("No model is trained yet: training starts by itself with %d days of data.", api.TrainingDays),
		list:  pane.List{SortBy: -1},
		columns: []pane.Column{
			{Title: "model", Min: 16}, {Title: "status", Width: 11}, {Title: "accuracy", Width: 9, Right: true}, {Title: "coverage", Width: 9, Right: true, Rank: 1}, {Title: "trained", Width: 12, Rank: 2},
		},
		rows: func(v pane.View) []pane.Row {
			if v.Site == nil {
				return nil
			}
			var rows []pane.Row
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

func modelDetail(v pane.View, id string) []Detail {
	i := slices.IndexFunc(v.Site.Models.Data, func(m api.Model) bool { return m.ModelName+" "+m.ModelVersion == id })
	if i < 0 {
		return nil
	}
	m := v.Site.Models.Data[i]
	lines := []Detail{{Heading: id}}
	add := func(label, format string, args ...any) {
		lines = append(lines, Detail{Label: label, Words: fmt.Sprintf(format, args...), Role: themes.Text})
	}
	add("kind", "%s, %s", m.ModelType, m.Status)
	add("trained on", "%s to %s", m.TrainingDataWindow.Start.In(v.Site.Zone).Format("2006-01-02"), m.TrainingDataWindow.End.In(v.Site.Zone).Format("2006-01-02"))
	add("accuracy", "%s: one less the mean error over daylight as a share of capacity, in the backtest", pane.Percent(m.ModelAccuracy))
	add("coverage", "%s of actuals between P10 and P90, where 80 %% is claimed", pane.Percent(m.Coverage80))
	add("skill", "%+.1f %% against smart persistence", m.SkillPercent)
	if len(m.Members) > 0 {
		lines = append(lines, Detail{Heading: "Members of the blend"})
		for _, name := range sortedKeys(m.Members) {
			add(name, "weight %.2f", m.Members[name])
		}
	}
	lines = append(lines, Detail{Heading: "Neural member"})
	add("layers", "%v, learning rate %g, dropout %g, %s", m.Hyperparameters.Layers, m.Hyperparameters.LearningRate, m.Hyperparameters.Dropout, m.Hyperparameters.Optimizer)
	add("epochs", "%d, kept %d; loss %.4g in training, %.4g in validation", m.TrainingMetrics.Epochs, m.TrainingMetrics.EarlyStopEpoch, m.TrainingMetrics.TrainLoss, m.TrainingMetrics.ValidationLoss)
	return lines
}

// NewLog shows the console's own log, newest first; lines answers it anew each
// time it is drawn, newest last.
func NewLog(lines func() []string) *Sheet {
	if lines == nil {
		lines = func() []string { return nil }
	}
	return &Sheet{
		title: "Log", empty: "Nothing has been logged.", list: pane.List{SortBy: -1},
		columns: []pane.Column{{Title: "newest first"}},
		rows: func(pane.View) []pane.Row {
			var rows []pane.Row
			for i, l := range slices.Backward(lines()) {
				rows = append(rows, pane.Row{ID: fmt.Sprint(i), Cells: []pane.Cell{{Text: terminal.Printable(l), Role: themes.Text}}})
			}
			return rows
		},
		detail: func(_ pane.View, id string) []Detail {
			all := lines()
			var i int
			if _, err := fmt.Sscan(id, &i); err != nil || i >= len(all) {
				return nil
			}
			return []Detail{{Words: terminal.Printable(all[i]), Role: themes.Text}}
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
