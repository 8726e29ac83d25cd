package upload_test

import (
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/store"
	"github.com/google/go-cmp/cmp"
)

func TestUploadStates(t *testing.T) {
	d := domaintest.New(t)
	add := func(id, hash string) (u upload.Upload, fresh bool) {
		d.Update(func(tx store.Tx) error {
			var err error
			u, fresh, err = d.Uploads.Add(tx, upload.Upload{Upload: api.Upload{UploadID: id, SiteID: "South", CustomerID: "acme", Kind: api.UploadTrain}, Hash: hash},
				store.Job{Kind: "ingest", Unique: id})
			return err
		})
		return u, fresh
	}
	move := func(id, to string) error {
		return d.Store.Update(t.Context(), func(tx store.Tx) error {
			_, err := d.Uploads.SetStatus(tx, id, to, nil)
			return err
		})
	}
	add("upl_1", "aa")
	if u, fresh := add("upl_2", "aa"); fresh || u.UploadID != "upl_1" {
		t.Errorf("the same bytes again are %s, new %v", u.UploadID, fresh)
	}
	for _, to := range []string{api.UploadValidating, api.UploadValidating, api.UploadProcessing, api.UploadCompleted} {
		if err := move("upl_1", to); err != nil {
			t.Errorf("to %s: %v", to, err)
		}
	}
	domaintest.WantError(t, move("upl_1", api.UploadProcessing), 409, "")
	add("upl_3", "bb")
	if err := move("upl_3", api.UploadRejected); err != nil {
		t.Fatal(err)
	}
	if u, fresh := add("upl_4", "bb"); !fresh || u.UploadID != "upl_4" {
		t.Error("a rejected file is not accepted again")
	}
	list, _, err := d.Uploads.Uploads(t.Context(), domaintest.Acme, api.ListQuery{CustomerID: "acme"})
	var ids []string
	for _, u := range list {
		ids = append(ids, u.UploadID)
	}
	if diff := cmp.Diff([]string{"upl_4", "upl_3", "upl_1"}, ids); diff != "" || err != nil {
		t.Errorf("uploads newest first: %s %v", diff, err)
	}
	if waiting, _, _, err := d.Store.Counts(t.Context()); err != nil || waiting != 3 {
		t.Errorf("%d jobs wait for 3 uploads, %v", waiting, err)
	}
}

// TestSameBytesOtherRequest: new details of a second upload of a file are
// accepted; another time zone is refused, as its readings would be stored
// with the former.
func TestSameBytesOtherRequest(t *testing.T) {
	d := domaintest.New(t)
	add := func(id string, r api.UploadRequest) (u upload.Upload, fresh bool, err error) {
		err = d.Store.Update(t.Context(), func(tx store.Tx) error {
			u, fresh, err = d.Uploads.Add(tx, upload.Upload{Upload: api.Upload{UploadID: id, SiteID: "South", CustomerID: "acme", Kind: api.UploadTrain}, Hash: "aa", Request: r},
				store.Job{Kind: "ingest", Unique: id})
			return err
		})
		return u, fresh, err
	}
	for _, c := range []struct {
		id   string
		r    api.UploadRequest
		want string // the upload that answers; empty: refused
	}{
		{"upl_1", api.UploadRequest{Location: "unknown"}, "upl_1"},
		{"upl_2", api.UploadRequest{Location: "Graz"}, "upl_1"},
		{"upl_3", api.UploadRequest{Timezone: "UTC"}, "upl_1"},
		{"upl_4", api.UploadRequest{Timezone: "Europe/Vienna"}, ""},
		{"upl_5", api.UploadRequest{Timezone: "Europe/Vienna", CapacityKW: 5}, ""},
		{"upl_6", api.UploadRequest{CapacityKW: 5}, "upl_6"},
		{"upl_7", api.UploadRequest{CapacityKW: 5, Location: "47, 15"}, "upl_7"},
		{"upl_8", api.UploadRequest{CapacityKW: 5, Location: "47,15"}, "upl_7"},
		{"upl_9", api.UploadRequest{AssetID: "INV-2"}, "upl_9"},
	} {
		u, fresh, err := add(c.id, c.r)
		if c.want == "" {
			domaintest.WantError(t, err, 409, "")
			continue
		}
		if err != nil || u.UploadID != c.want || fresh != (c.id == c.want) {
			t.Errorf("%s is answered by %s, fresh %v, %v; want %s", c.id, u.UploadID, fresh, err, c.want)
		}
	}
}
