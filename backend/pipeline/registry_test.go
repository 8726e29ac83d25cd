package pipeline

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/pipeline/sitedata"
)

// grown is a plant whose model learned from 70 days and that has 31 more.
func grown(t *testing.T) (*plant, func(string) []model.Model) {
	p := newPlant(t, day0, quickTraining)
	s := fleet(70, 1)
	p.importNow(request(api.UploadTrain), csvOf(t, s, day0.AddDate(0, 0, -70), day0, time.Hour))
	p.pass(31 * day)
	p.importNow(request(api.UploadTrain), csvOf(t, s, day0, p.now(), time.Hour))
	return p, func(status string) (list []model.Model) {
		t.Helper()
		for n := 1; ; n++ {
			m, err := p.Domain.Models.Find(t.Context(), admin, "South", sitedata.ModelType, version(n))
			if err != nil {
				return list
			}
			if status == "" || m.Status == status {
				list = append(list, m)
			}
		}
	}
}

func version(n int) string { return string(rune('0'+n)) + ".0.0" }

// TestRegistry is of one plant, for its trainings take long.
func TestRegistry(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains for seconds")
	}
	p, models := grown(t)
	t.Run("a challenger forecasts days that neither has seen", func(t *testing.T) { p.held(t, models) })
	t.Run("a promotion needs an artefact that is whole", func(t *testing.T) { p.moved(t, models) })
}

func (p *plant) held(t *testing.T, models func(string) []model.Model) {
	all := models("")
	if len(all) != 2 {
		t.Fatalf("%d models", len(all))
	}
	first, second := all[0], all[1]
	e := second.Evaluation
	if e == nil || e.Method != api.EvaluatedHeldOut || e.Against != "1.0.0" || e.Samples < 150 || e.Window == nil {
		t.Fatalf("evaluated as %+v", e)
	}
	if got := e.Window.End.Sub(e.Window.Start.Time); got < 14*day || got > 16*day || e.Window.Start.Before(first.TrainingDataWindow.End.Time) {
		t.Errorf("on %v to %v, after a training up to %v", e.Window.Start, e.Window.End, first.TrainingDataWindow.End)
	}
	for name, s := range map[string]*api.ModelScore{"production": e.Production, "challenger": e.Challenger} {
		if !(s.PinballPercent > 0 && s.PinballPercent < 10 && s.NMAEPercent > s.PinballPercent && s.Coverage80 > 0.2 && s.Coverage80 <= 1) {
			t.Errorf("%s scored %+v", name, s)
		}
	}
	// The winner learned from the held-out days too; the loser stays as judged.
	want, end := api.ModelChallenger, e.Window.Start
	if e.Eligible {
		want, end = api.ModelProduction, e.Window.End
	}
	if second.Status != want || !second.TrainingDataWindow.End.Equal(end.Time) || len(models(api.ModelProduction)) != 1 {
		t.Errorf("it is %s, trained up to %v; %s", second.Status, second.TrainingDataWindow.End, e.Verdict)
	}
	t.Log(e.Verdict)
	// Asked again, the same days say the same of a challenger.
	if want == api.ModelChallenger {
		m, err := p.EvaluateModel(t.Context(), admin, api.ModelsRequest{SiteID: "South"})
		if err != nil || m.Evaluation.Method != api.EvaluatedHeldOut || *m.Evaluation.Challenger != *e.Challenger {
			t.Errorf("evaluated again: %+v, %v", m.Evaluation, err)
		}
	}
}

func (p *plant) moved(t *testing.T, models func(string) []model.Model) {
	in, out := models(api.ModelProduction)[0], models("")[0]
	if out.Status == api.ModelProduction {
		out = models("")[1]
	}
	reason := api.ModelsRequest{SiteID: "South", ModelVersion: out.ModelVersion, Reason: "to see what it does", Force: true}
	move := p.PromoteModel
	if out.Status == api.ModelArchived {
		move = p.RollbackModel
	}
	m, former, err := move(t.Context(), admin, reason)
	if err != nil || m.ModelVersion != out.ModelVersion || former != in.ModelVersion {
		t.Fatalf("moved %+v over %s, %v", m, former, err)
	}
	track, err := p.State(t.Context(), "South")
	if err != nil || !track.TrainedEnd.Equal(out.TrainingDataWindow.End.Time) {
		t.Errorf("track %+v, %v", track, err)
	}
	if g, err := p.Generate(t.Context(), admin, api.ForecastQuery{SiteID: "South"}); err != nil || g.Metadata.ModelVersion != out.ModelVersion {
		t.Errorf("forecast by %s, %v", g.Metadata.ModelVersion, err)
	}
	file := filepath.Join(p.dir, "objects", filepath.FromSlash(in.Artefacts.Encoders))
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)-1] ^= 1
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err = p.RollbackModel(t.Context(), admin, api.ModelsRequest{SiteID: "South", Reason: "back to what was"})
	if !isRefusal(err, 409) || !strings.Contains(err.Error(), "its artefact is damaged or gone") {
		t.Errorf("back to a damaged model: %v", err)
	}
	moves, _, err := p.ModelHistory(t.Context(), admin, api.ModelsRequest{SiteID: "South"})
	if err != nil || len(moves) < 5 || moves[0].Actor != "test" || moves[0].Reason == "" {
		t.Errorf("history %+v, %v", moves, err)
	}
}
