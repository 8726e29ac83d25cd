package pipeline

import (
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
)

func TestCancelBeforeTheImport(t *testing.T) {
	p := newPlant(t, day0, nil)
	s := fleet(10, 1)
	file := csvOf(t, s, day0.AddDate(0, 0, -10), day0, time.Hour)
	id := p.upload(request(api.UploadTrain), file)
	if _, err := p.Cancel(t.Context(), api.Scope{Customers: []string{"else"}, Sites: []string{api.Every}}, id); !isRefusal(err, 403) {
		t.Errorf("by another customer: %v", err)
	}
	u, err := p.Cancel(t.Context(), admin, id)
	if err != nil || u.ProcessingStatus != api.UploadFailed || !strings.Contains(u.Error, "Cancelled by test") || u.S3Path != "" {
		t.Fatalf("cancelled: %+v, %v", u, err)
	}
	p.start()
	p.await("the job to see it", p.drained)
	p.untouched("a cancelled upload")
	if files := p.leftovers(); len(files) > 0 {
		t.Errorf("it left %v", files)
	}
	if _, err := p.Cancel(t.Context(), admin, id); !isRefusal(err, 409) {
		t.Errorf("once more: %v", err)
	}
	if again := p.upload(request(api.UploadTrain), file); again == id {
		t.Error("a cancelled file cannot be sent again")
	}
}

func TestCancelOfATraining(t *testing.T) {
	p := newPlant(t, day0, quickTraining)
	s := fleet(70, 1)
	p.start()
	id := p.upload(request(api.UploadTrain), csvOf(t, s, day0.AddDate(0, 0, -70), day0, time.Hour))
	p.await("the training", func() bool {
		u, err := p.Find(t.Context(), admin, id)
		if err != nil || u.Ended() {
			t.Fatalf("%+v, %v", u, err)
		}
		return u.Stage == sitedata.StageTraining && u.Progress > sitedata.StageStart(sitedata.StageTraining)
	})
	u, err := p.Cancel(t.Context(), admin, id)
	if err != nil || u.ProcessingStatus != api.UploadWithWarnings || !strings.Contains(strings.Join(u.Warnings, " "), "training: cancelled by test; the data are stored") {
		t.Fatalf("cancelled: %+v, %v", u, err)
	}
	p.await("its job to end", p.drained)
	if list, _, err := p.Domain.Models.Models(t.Context(), admin, api.ListQuery{SiteID: "South"}); err != nil || len(list) > 0 {
		t.Errorf("it left %v, %v", list, err)
	}
	if _, _, dead := p.counts(); dead > 0 {
		t.Errorf("%d dead jobs", dead)
	}
	f, err := store.Collect(p.Telemetry.Read(t.Context(), "South", s.Units[0].AssetID, day0.AddDate(0, 0, -70), day0))
	if err != nil || f.Len() != 70*24 {
		t.Errorf("%d samples, %v", f.Len(), err)
	}
}
