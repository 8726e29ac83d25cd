package tui

import (
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/tui/state"
)

// TestImportedFileIsAskedFor: when a file has been imported, what it brought
// is asked for at once, not when its turn comes.
func TestImportedFileIsAskedFor(t *testing.T) {
	d := start(t, 120, 36, nil)
	site := d.m.data.Site
	file := api.Upload{UploadID: "upl_1", SiteID: site.SiteID, Kind: api.UploadTrain, ProcessingStatus: api.UploadProcessing}
	site.Uploads.Set([]api.Upload{file}, d.now)
	d.now = d.now.Add(time.Second)
	request, ok := d.m.data.Request(state.QueryUploads, d.now)
	if !ok {
		t.Fatal("no request")
	}
	before := site.Findings.At
	file.ProcessingStatus = api.UploadCompleted
	d.run(d.m.answer(state.Answer{Request: request, Value: []api.Upload{file}}, d.now))
	if after := site.Findings.At; !after.After(before) {
		t.Errorf("findings are still those of %v", after)
	}
}
