package upload_test

import (
	"fmt"
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/store"
)

// TestUploadsOfAKind: a live feed's files do not push the history's out.
func TestUploadsOfAKind(t *testing.T) {
	d := domaintest.New(t)
	d.AddSite("roof", "acme")
	for i := range 30 {
		kind := api.UploadNowcast
		if i == 0 {
			kind = api.UploadTrain
		}
		d.Update(func(tx store.Tx) error {
			_, _, err := d.Uploads.Add(tx, upload.Upload{Upload: api.Upload{UploadID: fmt.Sprintf("upl_%02d", i), Kind: kind, CustomerID: "acme", SiteID: "roof", ProcessingStatus: api.UploadQueued},
				Hash: fmt.Sprint(i), ObjectKey: fmt.Sprint(i)}, store.Job{Kind: "ingest", RunAt: d.Clock})
			return err
		})
	}
	for kind, want := range map[string]int{api.UploadTrain: 1, api.UploadNowcast: 20, "": 20} {
		got, _, err := d.Uploads.Uploads(t.Context(), api.Unlimited("test"), api.ListQuery{SiteID: "roof", Kind: kind, Page: api.Page{Limit: 20}})
		if err != nil || len(got) != want {
			t.Errorf("kind %q: %d uploads, %v; want %d", kind, len(got), err, want)
		}
	}
}
