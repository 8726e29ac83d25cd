package backend

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
)

// siteNow is the plant's clock of the tests of changes of sites.
var siteNow = time.Date(2026, 6, 20, 12, 0, 0, 0, time.UTC)

// localDays is a file of days of units whose times are local, without an offset.
func localDays(from time.Time, days int, factor float64, units ...string) string {
	b := "time," + strings.Join(units, " power (kW),") + " power (kW)\n"
	for at := from; at.Before(from.AddDate(0, 0, days)); at = at.Add(15 * time.Minute) {
		light := math.Max(0, math.Sin((float64(at.Hour())+float64(at.Minute())/60-5)/14*math.Pi))
		b += at.Format("2006-01-02 15:04:05")
		for i := range units {
			b += fmt.Sprintf(",%.3f", factor*light*(10+float64(i)))
		}
		b += "\n"
	}
	return b
}

func siteService(t *testing.T) *instance {
	return open(t, Config{DataDir: t.TempDir(), Now: func() time.Time { return siteNow }, TrainingDays: 100_000})
}

func (h *instance) send(site, zone, file string) api.Upload {
	h.t.Helper()
	ack, err := h.UploadTrain(h.t.Context(), api.UploadRequest{CustomerID: "acme", SiteID: site, Region: "eu", Location: "47.07,15.44", Timezone: zone, Filename: "pv.csv"}, strings.NewReader(file), nil)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.follow(ack.UploadID)
}

// values are the powers of a unit by time.
func (h *instance) values(site, asset string) map[int64]float64 {
	h.t.Helper()
	f, err := store.Collect(h.service.opened.Load().records.Read(h.t.Context(), site, asset, time.Unix(0, 0), siteNow.AddDate(1, 0, 0)))
	if err != nil {
		h.t.Fatal(err)
	}
	out := map[int64]float64{}
	for i, at := range f.Times {
		if v := f.At(series.PowerKW, i); !math.IsNaN(v) {
			out[at] = v
		}
	}
	return out
}

// changed waits until no change of a site runs; gone if the site is unknown.
func (h *instance) changed(site string) (is *api.Site, gone bool) {
	h.t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		is, err := h.Site(h.t.Context(), api.SiteRef{CustomerID: "acme", SiteID: site})
		if errors.Is(err, api.ErrSiteNotFound) {
			return nil, true
		}
		if err != nil {
			h.t.Fatal(err)
		}
		if !is.Change.Running() {
			return is, false
		}
	}
	h.t.Fatalf("the change of site %s does not end", site)
	return nil, false
}

// left are the records, rows of telemetry and files that name a site in their key.
func (h *instance) left(site string) (names []string) {
	h.t.Helper()
	raw := any(h.service.opened.Load().records).(store.Raw)
	sets, err := raw.RowSets(h.t.Context())
	if err != nil {
		h.t.Fatal(err)
	}
	for _, set := range sets {
		if set.Kind != store.RecordRows {
			if slices.Contains(store.SiteKinds(), set.Kind) && set.Name == site {
				names = append(names, set.Kind)
			}
			continue
		}
		for e, err := range raw.Rows(h.t.Context(), set) {
			if err != nil {
				h.t.Fatal(err)
			}
			if bytes.HasPrefix(e.Key, store.Key(site)) && !strings.HasPrefix(set.Name, "audit") {
				names = append(names, set.Name)
			}
		}
	}
	err = filepath.WalkDir(filepath.Join(h.cfg.DataDir, "objects"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, d.Name())
		}
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return names
}

func status(err error) int {
	var refusal *api.Error
	if errors.As(err, &refusal) {
		return refusal.Status
	}
	return 0
}

// TestArchivedSite: it keeps its data, takes no other, and is in lists only where
// archived sites are asked for.
func TestArchivedSite(t *testing.T) {
	h := siteService(t)
	ctx, roof := t.Context(), api.SiteRef{CustomerID: "acme", SiteID: "roof"}
	day := time.Date(2026, 6, 10, 0, 0, 0, 0, time.UTC)
	h.send("roof", "Europe/Vienna", localDays(day, 2, 1, "INV-1"))
	if _, err := h.AddSite(ctx, api.Site{SiteID: "roof", CustomerID: "acme"}); status(err) != http.StatusConflict {
		t.Errorf("added twice: %v", err)
	}
	if _, err := h.AddSite(ctx, api.Site{SiteID: "yard", CustomerID: "acme", Timezone: "Europe/Vienna"}); err != nil {
		t.Fatal(err)
	}
	r, err := h.RenameSite(ctx, roof, "Town hall")
	if err != nil || r.Site.Name != "Town hall" || r.Site.SiteID != "roof" {
		t.Fatal(r, err)
	}
	for range 2 { // the second changes nothing
		if r, err = h.ArchiveSite(ctx, roof); err != nil || r.Site.ArchivedAt.IsZero() {
			t.Fatal(r, err)
		}
	}
	h.restart()
	names := func(q api.ListQuery) (ids []string) {
		list, err := h.Sites(ctx, q)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range list.Sites {
			ids = append(ids, s.SiteID)
		}
		slices.Sort(ids)
		return ids
	}
	if got := names(api.ListQuery{}); !slices.Equal(got, []string{"yard"}) {
		t.Errorf("listed: %v", got)
	}
	if got := names(api.ListQuery{Archived: true}); !slices.Equal(got, []string{"roof", "yard"}) {
		t.Errorf("listed with archived ones: %v", got)
	}
	fleet, err := h.Fleet(ctx, api.ListQuery{})
	if err != nil || len(fleet.Sites) != 1 || fleet.Sites[0].SiteID != "yard" {
		t.Errorf("fleet: %+v, %v", fleet, err)
	}
	if _, err := h.SiteSummary(ctx, roof); err != nil {
		t.Errorf("its data are not read any more: %v", err)
	}
	_, err = h.UploadTrain(ctx, api.UploadRequest{CustomerID: "acme", SiteID: "roof", Region: "eu", Location: "x"}, strings.NewReader(localDays(day.AddDate(0, 0, 3), 1, 1, "INV-1")), nil)
	if status(err) != http.StatusConflict || !strings.Contains(err.Error(), "archived") {
		t.Errorf("upload: %v", err)
	}
	if _, err := h.SetSite(ctx, api.Site{SiteID: "roof", CustomerID: "acme", CapacityKW: 9}); status(err) != http.StatusConflict {
		t.Errorf("set: %v", err)
	}
	if _, err := h.SetAsset(ctx, api.Asset{AssetID: "INV-1", Name: "x"}); status(err) != http.StatusConflict {
		t.Errorf("set of a unit by its id alone: %v", err)
	}
	if _, err := h.SetZone(ctx, roof, "Asia/Tokyo", false); status(err) != http.StatusConflict {
		t.Errorf("zone: %v", err)
	}
	if r, err = h.UnarchiveSite(ctx, roof); err != nil || !r.Site.ArchivedAt.IsZero() {
		t.Fatal(r, err)
	}
	h.send("roof", "", localDays(day.AddDate(0, 0, 3), 1, 1, "INV-1"))
}

// TestRemovedSite: none of it is left, other sites stay, scopes that named it do not
// widen, and its id can be used again.
func TestRemovedSite(t *testing.T) {
	h := siteService(t)
	ctx, roof := t.Context(), api.SiteRef{CustomerID: "acme", SiteID: "roof"}
	day := time.Date(2026, 6, 10, 0, 0, 0, 0, time.UTC)
	file := localDays(day, 2, 1, "INV-1", "INV-2")
	h.send("roof", "Europe/Vienna", file)
	h.send("yard", "Europe/Vienna", file)
	own := func(name string, sites ...string) string {
		key, _, err := h.service.Auth().CreateKey(ctx, auth.NewKey{Name: name, Role: api.RoleAdmin, Customers: []string{"acme"}, Sites: sites})
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	as := func(key string) *client.Client {
		return client.New(client.Options{Transport: client.InProcess(h.service.Handler()), Credential: key, Now: time.Now})
	}
	one, both := own("one", "roof"), own("both", "roof", "yard")
	if _, err := h.service.Auth().CreateUser(ctx, auth.NewUser{Username: "grace", Password: "correct horse battery", Role: api.RoleAdmin, Customers: []string{"acme"}, Sites: []string{"roof"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := h.RemoveSite(ctx, roof, "rooof", false); status(err) != http.StatusBadRequest {
		t.Errorf("removed with a wrong confirmation: %v", err)
	}
	e, err := h.RemoveSite(ctx, roof, "", true)
	if err != nil || e.Effects == nil || e.Effects.Units != 2 || e.Effects.Uploads != 1 || e.Effects.FirstRecord.IsZero() {
		t.Fatalf("dry run: %+v, %v", e, err)
	}
	if r, err := h.RemoveSite(ctx, roof, "roof", false); err != nil || !r.Site.Change.Running() {
		t.Fatal(r, err)
	}
	if _, err := h.SiteSummary(ctx, roof); !errors.Is(err, api.ErrSiteNotFound) {
		t.Errorf("read while it is removed: %v", err)
	}
	h.restart()
	if _, gone := h.changed("roof"); !gone {
		t.Error("the site is there still")
	}
	if left := h.left("roof"); len(left) != 1 || !strings.HasSuffix(left[0], ".csv") { // the file of the other site
		t.Errorf("left: %v", left)
	}
	if n := len(h.values("roof", "INV-1")); n > 0 {
		t.Errorf("%d values are left", n)
	}
	if n := len(h.values("yard", "INV-1")); n == 0 {
		t.Error("the other site has no values any more")
	}
	if list, err := h.Uploads(ctx, api.ListQuery{CustomerID: "acme"}); err != nil || len(list.Uploads) != 1 {
		t.Errorf("uploads: %+v, %v", list, err)
	}
	if _, err := as(one).Sites(ctx, api.ListQuery{}); status(err) != http.StatusUnauthorized {
		t.Errorf("the key of the site alone: %v", err)
	}
	if list, err := as(both).Sites(ctx, api.ListQuery{}); err != nil || len(list.Sites) != 1 || list.Sites[0].SiteID != "yard" {
		t.Errorf("the key of both sites: %+v, %v", list, err)
	}
	u, err := h.service.Auth().As(api.Unlimited("test")).User(ctx, auth.UserRef{Username: "grace"})
	if err != nil || u.Active {
		t.Errorf("the user of the site alone is active: %+v, %v", u, err)
	}
	h.send("roof", "Europe/Vienna", file)
	if n := len(h.values("roof", "INV-1")); n == 0 {
		t.Error("the new site has no values")
	}
}

// TestZoneOfASite: all kept files are read again; what carries its own zone stays, and
// a revert afterwards is right.
func TestZoneOfASite(t *testing.T) {
	h := siteService(t)
	ctx, roof := t.Context(), api.SiteRef{CustomerID: "acme", SiteID: "roof"}
	day := time.Date(2026, 6, 10, 0, 0, 0, 0, time.UTC)
	first := localDays(day, 3, 1, "INV-1", "INV-2")
	second := localDays(day.AddDate(0, 0, 2), 2, 0.5, "INV-1")
	offset := strings.ReplaceAll(strings.ReplaceAll(localDays(day.AddDate(0, 0, 5), 1, 2, "INV-1"), ":00,", ":00Z,"), "time ,", "time,")
	want := siteService(t)    // read in the right zone at once
	var sent, wanted []string // ids
	for _, f := range []string{first, second, offset} {
		sent = append(sent, h.send("roof", "Europe/Vienna", f).UploadID)
		wanted = append(wanted, want.send("roof", "Asia/Kolkata", f).UploadID)
	}
	if _, err := h.SetZone(ctx, roof, "Mars/Base", false); status(err) != http.StatusBadRequest {
		t.Errorf("no zone: %v", err)
	}
	before := h.values("roof", "INV-1")
	e, err := h.SetZone(ctx, roof, "Asia/Kolkata", true)
	if err != nil || e.Effects.UploadsRead != 3 || e.Effects.UploadsOwn != 1 || e.Effects.RowsMoved == 0 || e.Effects.NewFirst == e.Effects.FirstRecord {
		t.Fatalf("dry run: %+v, %v", e.Effects, err)
	}
	if got := h.values("roof", "INV-1"); !same(got, before) {
		t.Error("a dry run changed values")
	}
	if _, err := h.SetZone(ctx, roof, "Asia/Kolkata", false); err != nil {
		t.Fatal(err)
	}
	is, _ := h.changed("roof")
	if is.Timezone != "Asia/Kolkata" || is.Change != nil {
		t.Fatalf("the site is %+v", is)
	}
	for _, unit := range []string{"INV-1", "INV-2"} {
		if !same(h.values("roof", unit), want.values("roof", unit)) {
			t.Errorf("values of %s are not those of the zone", unit)
		}
	}
	for h, ids := range map[*instance][]string{h: sent, want: wanted} {
		if u, err := h.RevertUpload(ctx, ids[1]); err != nil || u.RowsRestored == 0 {
			t.Fatalf("reverted as %+v, %v", u, err)
		}
	}
	if !same(h.values("roof", "INV-1"), want.values("roof", "INV-1")) {
		t.Error("after a revert the values are not those of the zone")
	}
}

func same(a, b map[int64]float64) bool {
	if len(a) != len(b) || len(a) == 0 {
		return false
	}
	for at, v := range a {
		if w, ok := b[at]; !ok || v != w {
			return false
		}
	}
	return true
}

// TestMergedUnits: values of the second unit fill the gaps of the first, conflicts are
// counted before, and later files that name the second are of the first.
func TestMergedUnits(t *testing.T) {
	h := siteService(t)
	ctx := t.Context()
	day := time.Date(2026, 6, 10, 0, 0, 0, 0, time.UTC)
	both := h.send("roof", "UTC", localDays(day, 2, 1, "INV-1", "INV-2"))
	h.send("roof", "UTC", localDays(day.AddDate(0, 0, 1), 2, 0.5, "SN-77", "SN-78"))
	to := api.AssetRef{AssetID: "INV-1", SiteID: "roof", CustomerID: "acme"}
	own := h.values("roof", "INV-1")
	e, err := h.MergeAssets(ctx, to, "SN-77", true)
	if err != nil || e.Effects.RowsFilled != 96 || e.Effects.RowsConflict == 0 || e.Effects.RowsConflict+e.Effects.RowsEqual != 96 {
		t.Fatalf("dry run: %+v, %v", e.Effects, err)
	}
	if _, err := h.MergeAssets(ctx, to, "none", false); !errors.Is(err, api.ErrAssetNotFound) {
		t.Errorf("of an unknown unit: %v", err)
	}
	if _, err := h.MergeAssets(ctx, to, "SN-77", false); err != nil {
		t.Fatal(err)
	}
	h.changed("roof")
	got := h.values("roof", "INV-1")
	if len(got) != 3*96 {
		t.Errorf("%d values", len(got))
	}
	for at, v := range own {
		if got[at] != v {
			t.Fatalf("the value at %d became %g, not %g", at, got[at], v)
		}
	}
	if n := len(h.values("roof", "SN-77")); n != 0 {
		t.Errorf("the second unit has %d values", n)
	}
	u := h.send("roof", "", localDays(day.AddDate(0, 0, 4), 1, 1, "SN-77", "SN-78"))
	if !slices.Equal(u.AssetIDs, []string{"INV-1", "SN-78"}) {
		t.Errorf("a later file is of %v", u.AssetIDs)
	}
	units, err := h.Assets(ctx, api.ListQuery{SiteID: "roof"})
	if err != nil || len(units.Assets) != 3 || !slices.Contains(units.Assets[0].FormerIDs, "SN-77") {
		t.Errorf("units: %+v, %v", units.Assets, err)
	}
	// What a file stored of two units that are one now is not known any more.
	if _, err := h.MergeAssets(ctx, to, "INV-2", false); err != nil {
		t.Fatal(err)
	}
	h.changed("roof")
	before := h.values("roof", "INV-1")
	if _, err := h.RevertUpload(ctx, both.UploadID); status(err) != http.StatusConflict || !strings.Contains(err.Error(), "merged into INV-1") {
		t.Errorf("revert of a file of merged units: %v", err)
	}
	if !same(before, h.values("roof", "INV-1")) {
		t.Error("a refused revert changed values")
	}
}

// TestRefusedChangesOfSites: a site with an upload that is not finished is neither
// removed nor given another zone, an archived one is not renamed, and names and ids
// that cannot be shown are not accepted.
func TestRefusedChangesOfSites(t *testing.T) {
	h := siteService(t)
	ctx, roof := t.Context(), api.SiteRef{CustomerID: "acme", SiteID: "roof"}
	if _, err := h.AddSite(ctx, api.Site{SiteID: "roof", CustomerID: "acme", Timezone: "Europe/Vienna"}); err != nil {
		t.Fatal(err)
	}
	refused := func(what string, err error, want int, text string) {
		t.Helper()
		if status(err) != want || !strings.Contains(fmt.Sprint(err), text) {
			t.Errorf("%s: %v, want %d %q", what, err, want, text)
		}
	}
	for _, name := range []string{"Town\nhall", "Town\x1b[31mhall", "Town\u202ehall", " Town hall"} {
		_, err := h.RenameSite(ctx, roof, name)
		refused(fmt.Sprintf("renamed to %q", name), err, http.StatusBadRequest, "name")
		_, err = h.AddSite(ctx, api.Site{SiteID: "yard", CustomerID: "acme", Name: name})
		refused(fmt.Sprintf("added as %q", name), err, http.StatusBadRequest, "name")
	}
	for _, id := range []string{"bad/../id", `bad\id`, "roof #1", "10:502", "…", "yard "} {
		_, err := h.AddSite(ctx, api.Site{SiteID: id, CustomerID: "acme"})
		refused("added "+id, err, http.StatusBadRequest, "site_id")
		_, err = h.UploadTrain(ctx, api.UploadRequest{CustomerID: "acme", SiteID: id, Region: "eu", Location: "x"}, strings.NewReader("time,power_kw\n2026-06-10 12:00,1\n"), nil)
		refused("upload to "+id, err, http.StatusBadRequest, "site_id")
		_, err = h.AddAsset(ctx, api.Asset{AssetID: id, SiteID: "roof", CustomerID: "acme", Name: "One", Type: "inverter", CapacityKW: 50, Location: "roof"})
		refused("asset "+id, err, http.StatusBadRequest, "asset_id")
	}

	// The job of the upload is due long after the test.
	waiting := upload.Upload{Upload: api.Upload{UploadID: "upl_waiting", CustomerID: "acme", SiteID: "roof", Kind: api.UploadTrain, Stage: sitedata.StageValidating}, Hash: "1"}
	o := h.service.opened.Load()
	err := o.records.Update(ctx, func(tx store.Tx) error {
		_, _, err := o.domain.Uploads.Add(tx, waiting, store.Job{Kind: sitedata.JobIngest, Unique: waiting.UploadID, Payload: []byte(`{"upload_id":"upl_waiting"}`), RunAt: time.Now().AddDate(1, 0, 0)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	const open = "Site roof has uploads that are not finished: wait for them, or cancel them"
	_, err = h.RemoveSite(ctx, roof, "roof", false)
	refused("removed", err, http.StatusConflict, open)
	_, err = h.SetZone(ctx, roof, "Asia/Tokyo", false)
	refused("zone", err, http.StatusConflict, open)
	_, err = h.ArchiveSite(ctx, roof)
	refused("archived", err, http.StatusConflict, open)
	if is, err := h.Site(ctx, roof); err != nil || is.Change != nil {
		t.Errorf("the site is %+v, %v", is, err)
	}
	if _, err := h.CancelUpload(ctx, waiting.UploadID); err != nil {
		t.Fatal(err)
	}
	if _, err := h.ArchiveSite(ctx, roof); err != nil {
		t.Fatal(err)
	}
	_, err = h.RenameSite(ctx, roof, "Town hall")
	refused("renamed while archived", err, http.StatusConflict, "archived")
	if _, err := h.RemoveSite(ctx, roof, "roof", false); err != nil {
		t.Errorf("removed after the upload was cancelled: %v", err)
	}
	if _, gone := h.changed("roof"); !gone {
		t.Error("the site is there still")
	}
}

// TestIDsOfUnitsInFiles: ids of new units follow the rule for ids, units keep their ids
// when files name them again, and a unit with an id of a former version is found.
func TestIDsOfUnitsInFiles(t *testing.T) {
	h := siteService(t)
	ctx := t.Context()
	day := time.Date(2026, 6, 10, 0, 0, 0, 0, time.UTC)
	h.send("roof", "UTC", localDays(day, 1, 1, "A-1", "A-2"))
	o := h.service.opened.Load()
	err := o.records.Update(ctx, func(tx store.Tx) error {
		_, _, err := o.domain.Sites.CreateAssetIfMissing(tx, api.Asset{AssetID: "B/7 (old)", Name: "B/7 (old)", Type: "inverter", CapacityKW: 10, SiteID: "roof", CustomerID: "acme", Timezone: "UTC", Location: "x"})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rows := func(from int, units ...string) string {
		b := "time;unit;power (kW)\n"
		for q := range 96 {
			for i, unit := range units {
				b += fmt.Sprintf("%s;%s;%.3f\n", day.AddDate(0, 0, from).Add(time.Duration(q)*15*time.Minute).Format("2006-01-02 15:04"), unit, max(0, 10-math.Abs(float64(q-48))/float64(4+i)))
			}
		}
		return b
	}
	units := []string{"A-1", "A/1", "inverter/1", "Symo 8.2 (2)", "B/7 (old)", "INV-\u0661"}
	want := []string{"A-1", "A-1-2", "B/7 (old)", "INV-1", "Symo 8.2 2", "inverter-1"}
	for from := range 2 {
		u := h.send("roof", "UTC", rows(2+from, units...))
		if got := slices.Sorted(slices.Values(u.AssetIDs)); !slices.Equal(got, want) {
			t.Errorf("units %q, want %q; %v", got, want, u.Error)
		}
		if text := strings.Join(u.Decisions, "\n"); !strings.Contains(text, "INV-1 has digits of another script") {
			t.Errorf("decisions: %s", text)
		}
	}
	if a, err := h.Asset(ctx, api.AssetRef{AssetID: "B/7 (old)", SiteID: "roof", CustomerID: "acme"}); err != nil || a.AssetID != "B/7 (old)" {
		t.Errorf("an id of a former version: %+v, %v", a, err)
	}
	if n := len(h.values("roof", "A-1-2")); n != 2*96 {
		t.Errorf("%d values of the unit A/1", n)
	}
}

// TestSmallFilesAreReadOnce: the import of a small file uses what was read when it was
// uploaded, unless the settings of the site have changed since.
func TestSmallFilesAreReadOnce(t *testing.T) {
	h := siteService(t)
	h.down()
	var err error
	if h.service, err = New(h.cfg); err != nil { // its jobs do not run yet
		t.Fatal(err)
	}
	h.connect()
	ctx := t.Context()
	upload := func(site string) string {
		ack, err := h.UploadTrain(ctx, api.UploadRequest{CustomerID: "acme", SiteID: site, Region: "eu", Location: "x", Timezone: "UTC"},
			strings.NewReader(localDays(time.Date(2026, 6, 10, 0, 0, 0, 0, time.UTC), 2, 1, "INV-1", "INV-2")), nil)
		if err != nil {
			t.Fatal(err)
		}
		return ack.UploadID
	}
	if _, err := h.AddSite(ctx, api.Site{SiteID: "yard", CustomerID: "acme", Timezone: "UTC"}); err != nil {
		t.Fatal(err)
	}
	changed := upload("yard")
	if _, err := h.SetSite(ctx, api.Site{SiteID: "yard", CustomerID: "acme", CapacityKW: 1}); err != nil {
		t.Fatal(err)
	}
	kept := map[string]bool{}
	files := func(do func(path string)) {
		err := filepath.WalkDir(filepath.Join(h.cfg.DataDir, "objects"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				do(path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	files(func(path string) { kept[path] = true })
	same := upload("roof")
	removed := 0
	files(func(path string) {
		if !kept[path] {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			removed++
		}
	})
	h.ended = make(chan error, 1)
	go func() { h.ended <- h.service.Run(context.Background()) }()
	if u := h.follow(same); removed == 0 || u.RowsStored != 2*192 {
		t.Errorf("after its file was removed, the import is %s with %d rows; %d files removed", u.ProcessingStatus, u.RowsStored, removed)
	}
	if u := h.follow(changed); !strings.Contains(strings.Join(u.Warnings, " "), "capacity") {
		t.Errorf("the import with another capacity: %s, %v", u.ProcessingStatus, u.Warnings)
	}
}
