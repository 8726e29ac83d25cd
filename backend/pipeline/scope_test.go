package pipeline

import (
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// TestForeignRecordsAreNotFound: requests of another customer, or with another
// site's key, for a site, a unit, an upload or a model of this one are answered
// as for unknown ids, or with 403, and change nothing.
func TestForeignRecordsAreNotFound(t *testing.T) {
	ctx := t.Context()
	p := newPlant(t, day0, nil)
	p.start()
	s := fleet(5, 1)
	req := request(api.UploadTrain)
	ack, err := p.Upload(ctx, admin, req, strings.NewReader(string(csvOf(t, s, day0.AddDate(0, 0, -5), day0, time.Hour))))
	if err != nil {
		t.Fatal(err)
	}
	u := p.ended1(ack.UploadID)
	if u.Error != "" || len(u.AssetIDs) == 0 {
		t.Fatalf("%+v", u)
	}
	type things struct{ site, asset, upload, object string }
	theirs := things{u.SiteID, u.AssetIDs[0], u.UploadID, u.S3Path}
	none := things{"Nowhere", "INV-none", "upl_none", strings.Replace(u.S3Path, "historical", "nowcast", 1)}
	for name, scope := range map[string]api.Scope{
		"another customer": {Customers: []string{"other"}, Sites: []string{api.Every}},
		"another site":     {Customers: []string{u.CustomerID}, Sites: []string{"West"}},
		"unknown":          {},
	} {
		calls := map[string]func(things) (int, error){
			"find": func(x things) (int, error) { _, err := p.Find(ctx, scope, x.upload); return 0, err },
			"cancel": func(x things) (int, error) {
				_, err := p.Cancel(ctx, scope, x.upload)
				return 0, err
			},
			"uploads": func(x things) (int, error) {
				list, _, err := p.Uploads(ctx, scope, api.ListQuery{SiteID: x.site, Page: api.Page{Limit: 10}})
				return len(list), err
			},
			"models": func(x things) (int, error) {
				list, _, err := p.Models(ctx, scope, api.ListQuery{SiteID: x.site, Page: api.Page{Limit: 10}})
				return len(list), err
			},
			"interpolations": func(x things) (int, error) {
				list, _, err := p.Interpolations(ctx, scope, api.ListQuery{SiteID: x.site, Page: api.Page{Limit: 10}})
				return len(list), err
			},
			"stored forecasts": func(x things) (int, error) {
				list, _, err := p.Stored(ctx, scope, api.ListQuery{SiteID: x.site, Page: api.Page{Limit: 10}})
				return len(list), err
			},
			"detections": func(x things) (int, error) {
				list, _, err := p.Detector.Detections(ctx, scope, api.ListQuery{AssetID: x.asset, Page: api.Page{Limit: 10}})
				return len(list), err
			},
			"diagnostics": func(x things) (int, error) {
				list, _, err := p.Diagnostics(ctx, scope, api.ListQuery{AssetID: x.asset, Page: api.Page{Limit: 10}})
				return len(list), err
			},
			"detect": func(x things) (int, error) {
				_, err := p.Detect(ctx, scope, api.AssetRef{AssetID: x.asset}, 24)
				return 0, err
			},
			"diagnose": func(x things) (int, error) {
				_, err := p.Diagnose(ctx, scope, api.DiagnoseRequest{AssetID: x.asset})
				return 0, err
			},
			"forecast": func(x things) (int, error) {
				_, err := p.Generate(ctx, scope, api.ForecastQuery{CustomerID: u.CustomerID, SiteID: x.site})
				return 0, err
			},
			"snapshot": func(x things) (int, error) {
				_, err := p.ForecastSnapshot(ctx, scope, x.site, 48)
				return 0, err
			},
			"upload": func(x things) (int, error) {
				r := request(api.UploadTrain)
				r.SiteID = x.site
				_, err := p.Upload(ctx, scope, r, strings.NewReader("time,power_kw\n2026-01-01 10:00,1\n"))
				return 0, err
			},
			"import": func(x things) (int, error) {
				r := request(api.UploadTrain)
				r.CustomerID, r.SiteID, r.S3Path = "other", "Own", x.object
				_, err := p.Import(ctx, scope, r)
				return 0, err
			},
		}
		lists := []string{"uploads", "models", "interpolations", "stored forecasts", "detections", "diagnostics"}
		for what, call := range calls {
			n, err := call(theirs)
			m, absent := call(none)
			if slices.Contains(lists, what) {
				if n != 0 || m != 0 {
					t.Errorf("%s: %s: %d of theirs", name, what, n)
				}
			} else if err == nil {
				t.Errorf("%s: %s passes", name, what)
			}
			if !isRefusal(err, 403) && leveled(err, theirs.site, theirs.asset, theirs.upload, theirs.object) != leveled(absent, none.site, none.asset, none.upload, none.object) {
				t.Errorf("%s: %s: %v of theirs, %v of what is not there", name, what, err, absent)
			}
		}
	}
	if again := p.ended1(ack.UploadID); again.ProcessingStatus != u.ProcessingStatus || again.RowsStored != u.RowsStored {
		t.Errorf("the upload was %+v and is %+v", u, again)
	}
}

// leveled is an error's text without the ids that were asked for.
func leveled(err error, ids ...string) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	for _, id := range ids {
		text = strings.ReplaceAll(text, id, "…")
	}
	return text
}
