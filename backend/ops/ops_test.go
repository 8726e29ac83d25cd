package ops

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/engine/series"
)

// desk is a Service on a real store with a clock that the test moves.
type desk struct {
	*Service
	t     *testing.T
	store *bolt.Store
	clock time.Time
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, clock: time.Date(2026, 6, 15, 10, 0, 0, 0, time.UTC)}
	now := func() time.Time { return d.clock }
	var err error
	if d.store, err = bolt.Open(t.TempDir(), bolt.Options{Now: now}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.store.Close(); err != nil {
			t.Error(err)
		}
	})
	d.Service = New(d.store, d.store, now)
	return d
}

func (d *desk) update(fn func(tx store.Tx) error) {
	d.t.Helper()
	if err := d.store.Update(d.t.Context(), fn); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) site(id, customer string) api.Site {
	d.t.Helper()
	s, err := d.SetSite(d.t.Context(), api.Unlimited("test"), api.Site{SiteID: id, CustomerID: customer, Timezone: "Europe/Vienna", CapacityKW: 100})
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

func (d *desk) asset(id, site string) api.Asset {
	d.t.Helper()
	a, err := d.AddAsset(d.t.Context(), api.Unlimited("test"), api.Asset{AssetID: id, Name: id, Type: "Solar Inverter", CapacityKW: 50, Location: "roof", SiteID: site})
	if err != nil {
		d.t.Fatal(err)
	}
	return a
}

func wantRefusal(t *testing.T, err error, status int, message string) {
	t.Helper()
	var e *api.Error
	if !errors.As(err, &e) || e.Status != status || message != "" && e.Message != message {
		t.Errorf("got %v, want %d %q", err, status, message)
	}
}

var acme = api.Scope{Customers: []string{"acme"}, Sites: []string{api.Every}, Actor: "ada"}

func TestSites(t *testing.T) {
	d, ctx := newDesk(t), context.Background()
	south := d.site("South", "acme")
	d.site("Other", "else")
	if south.CreatedAt.IsZero() || south.Name != "South" {
		t.Errorf("a new site is %+v", south)
	}
	changed, err := d.SetSite(ctx, acme, api.Site{SiteID: "South", Name: "South field", Location: "47.1, 15.4"})
	if err != nil {
		t.Fatal(err)
	}
	if changed.Name != "South field" || changed.Timezone != "Europe/Vienna" || changed.Latitude == nil || *changed.Longitude != 15.4 {
		t.Errorf("changed to %+v", changed)
	}
	_, err = d.Site(ctx, acme, "Other")
	wantRefusal(t, err, 403, "Access denied")
	_, err = d.Site(ctx, acme, "Nowhere")
	wantRefusal(t, err, 404, "Site not found")
	list, _, err := d.Sites(ctx, acme, api.ListQuery{})
	if err != nil || len(list) != 1 || list[0].SiteID != "South" {
		t.Errorf("acme sees %v, %v", list, err)
	}
	second, err := d.SetSite(ctx, acme, api.Site{SiteID: "Other", Name: "mine"})
	if err != nil || second.SiteID != api.SiteKey("acme", "Other") || second.CustomerID != "acme" || second.TerminalDeviceID != "TERM-Other" {
		t.Errorf("a site of an id that another customer has: %+v, %v", second, err)
	}
	for field, bad := range map[string]api.Site{
		"timezone":    {SiteID: "x", Timezone: "Mars/Olympus"},
		"latitude":    {SiteID: "x", Latitude: new(float64)},
		"capacity_kw": {SiteID: "x", CapacityKW: -1},
		"currency":    {SiteID: "x", Currency: "euro"},
		"site_id":     {SiteID: " x"},
	} {
		_, err := d.SetSite(ctx, acme, bad)
		wantRefusal(t, err, 400, "Invalid field: "+field)
	}
}

func TestZoneStaysOnceThereIsTelemetry(t *testing.T) {
	d, ctx := newDesk(t), context.Background()
	s := d.site("South", "acme")
	f := series.Frame{Times: []int64{d.clock.Unix()}}
	f.Set(series.PowerKW, []float64{10})
	if err := d.store.Append(ctx, store.SiteKey{ID: s.SiteID, Zone: Zone(s.Timezone)}, []store.AssetFrame{{AssetID: "INV-1", Frame: f}}); err != nil {
		t.Fatal(err)
	}
	_, err := d.SetSite(ctx, acme, api.Site{SiteID: "South", Timezone: "Asia/Tokyo"})
	wantRefusal(t, err, 409, "")
}

func TestAssets(t *testing.T) {
	d, ctx := newDesk(t), context.Background()
	d.site("South", "acme")
	d.site("Other", "else")
	d.asset("INV-1", "South")
	d.asset("INV-1", "Other") // another customer's may bear the same name
	good := api.Asset{AssetID: "INV-2", Name: "two", Type: "Solar Inverter", CapacityKW: 10, Location: "roof"}
	got, err := d.AddAsset(ctx, acme, good)
	if err != nil || got.SiteID != "South" || got.CustomerID != "acme" || got.Timezone != "Europe/Vienna" {
		t.Errorf("without a site it goes to %+v, %v", got, err)
	}
	_, err = d.AddAsset(ctx, acme, good)
	wantRefusal(t, err, 409, "Asset INV-2 exists already")
	for message, bad := range map[string]func(*api.Asset){
		"Missing required field: asset_id":          func(a *api.Asset) { a.AssetID = "" },
		"Missing required field: name":              func(a *api.Asset) { a.Name = "" },
		"Missing required field: capacity_kw":       func(a *api.Asset) { a.CapacityKW = 0 },
		"Missing required field: location":          func(a *api.Asset) { a.Location = "" },
		"Missing required field: components.serial": func(a *api.Asset) { a.Components = []api.Component{{OEM: "o", Model: "m"}} },
		"Invalid field: capacity_kw":                func(a *api.Asset) { a.CapacityKW = -4 },
	} {
		a := good
		a.AssetID = "INV-3"
		bad(&a)
		_, err := d.AddAsset(ctx, acme, a)
		wantRefusal(t, err, 400, message)
	}
	one, err := d.Asset(ctx, acme, api.AssetRef{AssetID: "INV-1"})
	if err != nil || one.SiteID != "South" {
		t.Errorf("acme's INV-1 is %+v, %v", one, err)
	}
	_, err = d.Asset(ctx, acme, api.AssetRef{AssetID: "INV-9"})
	wantRefusal(t, err, 404, "Asset not found")
	_, err = d.Asset(ctx, api.Scope{Customers: []string{"third"}, Sites: []string{api.Every}}, api.AssetRef{AssetID: "INV-1"})
	wantRefusal(t, err, 403, "Access denied")
	part, next, err := d.Assets(ctx, acme, api.ListQuery{Page: api.Page{Limit: 1}})
	if err != nil || len(part) != 1 || part[0].AssetID != "INV-1" || next == "" {
		t.Fatalf("first page %v %q %v", part, next, err)
	}
	part, next, err = d.Assets(ctx, acme, api.ListQuery{Page: api.Page{Limit: 1, Cursor: next}})
	if err != nil || len(part) != 1 || part[0].AssetID != "INV-2" || next != "" {
		t.Errorf("second page %v %q %v", part, next, err)
	}
	site, err := d.Site(ctx, acme, "South")
	if err != nil || site.AssetCount != 2 {
		t.Errorf("South has %d assets, %v", site.AssetCount, err)
	}
}

func TestUploadStates(t *testing.T) {
	d := newDesk(t)
	add := func(id, hash string) (u Upload, fresh bool) {
		d.update(func(tx store.Tx) error {
			var err error
			u, fresh, err = d.AddUpload(tx, Upload{Upload: api.Upload{UploadID: id, SiteID: "South", CustomerID: "acme", Kind: api.UploadTrain}, Hash: hash},
				store.Job{Kind: "ingest", Unique: id})
			return err
		})
		return u, fresh
	}
	move := func(id, to string) error {
		return d.store.Update(t.Context(), func(tx store.Tx) error {
			_, err := d.MoveUpload(tx, id, to, nil)
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
	wantRefusal(t, move("upl_1", api.UploadProcessing), 409, "")
	add("upl_3", "bb")
	if err := move("upl_3", api.UploadRejected); err != nil {
		t.Fatal(err)
	}
	if u, fresh := add("upl_4", "bb"); !fresh || u.UploadID != "upl_4" {
		t.Error("a rejected file is not taken anew")
	}
	list, _, err := d.Uploads(t.Context(), acme, api.ListQuery{CustomerID: "acme"})
	var ids []string
	for _, u := range list {
		ids = append(ids, u.UploadID)
	}
	if diff := cmp.Diff([]string{"upl_4", "upl_3", "upl_1"}, ids); diff != "" || err != nil {
		t.Errorf("uploads newest first: %s %v", diff, err)
	}
	if waiting, _, _, err := d.store.Counts(t.Context()); err != nil || waiting != 3 {
		t.Errorf("%d jobs wait for 3 uploads, %v", waiting, err)
	}
}

// TestSameBytesOtherRequest: what a second sending of a file adds is taken;
// another time zone is refused, as its readings would lie beside the former.
func TestSameBytesOtherRequest(t *testing.T) {
	d := newDesk(t)
	add := func(id string, r api.UploadRequest) (u Upload, fresh bool, err error) {
		err = d.store.Update(t.Context(), func(tx store.Tx) error {
			u, fresh, err = d.AddUpload(tx, Upload{Upload: api.Upload{UploadID: id, SiteID: "South", CustomerID: "acme", Kind: api.UploadTrain}, Hash: "aa", Request: r},
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
			wantRefusal(t, err, 409, "")
			continue
		}
		if err != nil || u.UploadID != c.want || fresh != (c.id == c.want) {
			t.Errorf("%s is answered by %s, fresh %v, %v; want %s", c.id, u.UploadID, fresh, err, c.want)
		}
	}
}

func TestActivitiesAreOfTheDay(t *testing.T) {
	d := newDesk(t)
	d.site("South", "acme")
	d.clock = d.clock.Add(23 * time.Hour)
	d.asset("INV-1", "South")
	list, _, err := d.Activities(t.Context(), acme, api.ListQuery{CustomerID: "acme"})
	if err != nil || len(list) != 2 || list[0].Title != "Asset added" || list[0].Phase != api.PhaseAct {
		t.Errorf("activities %v, %v", list, err)
	}
	d.clock = d.clock.Add(2 * time.Hour)
	if list, _, err = d.Activities(t.Context(), acme, api.ListQuery{SiteID: "South"}); err != nil || len(list) != 1 {
		t.Errorf("a day later %v, %v", list, err)
	}
}
