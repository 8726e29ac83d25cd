package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/objects"
	"app.sunloop/engine/series"
)

// leftovers are the files in the object folder.
func (p *plant) leftovers() (files []string) {
	p.t.Helper()
	err := filepath.WalkDir(filepath.Join(p.dir, "objects"), func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			files = append(files, name)
		}
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return files
}

// untouched says that nothing of a site is there.
func (p *plant) untouched(what string) {
	p.t.Helper()
	if _, err := p.Domain.Sites.Site(p.t.Context(), admin, "South"); !errors.Is(err, api.ErrSiteNotFound) {
		p.t.Errorf("%s left a site: %v", what, err)
	}
	if units, err := p.Domain.Sites.SiteAssets(p.t.Context(), "South"); err != nil || len(units) > 0 {
		p.t.Errorf("%s left units: %v, %v", what, units, err)
	}
	if _, _, ok, err := p.Telemetry.Period(p.t.Context(), "South", ""); err != nil || ok {
		p.t.Errorf("%s left telemetry, %v", what, err)
	}
}

// manyUnits is a file in the long layout with a reading of each of n units.
func manyUnits(n int) string {
	var b strings.Builder
	b.WriteString("timestamp,device,power_kw\n")
	for i := range n {
		fmt.Fprintf(&b, "2026-01-01T00:00:00Z,d%d,1\n", i)
	}
	return b.String()
}

func TestBadFileIsRefusedAtOnce(t *testing.T) {
	p := newPlant(t, day0, nil)
	p.start()
	invalid := api.ErrInvalidCSV
	for _, c := range []struct {
		name, body, kind string
		line             int
		err              *api.Error
	}{
		{"words", "hello world, this is no table\n", "no_timestamp_column", 1, invalid},
		{"no power", "timestamp,humidity\n2026-01-01T00:00:00Z,40\n2026-01-01T01:00:00Z,41\n", "no_power_or_energy_column", 1, invalid},
		{"spreadsheet", "PK\x03\x04\x00\x00\x00\x00", "not_text", 0, invalid},
		{"large spreadsheet", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + strings.Repeat("\x00", 256<<10), "not_text", 0, invalid},
		{"header only", "timestamp,power_kw\n", "no_data_rows", 1, invalid},
		{"many units", manyUnits(5000 + 1), "too_large", 0, invalid},
		{"empty", "", "empty_file", 0, api.ErrCSVRequired},
		{"large", strings.Repeat("x", api.MaxUploadBytes+1), "too_large", 0, api.ErrFileTooLarge},
	} {
		_, err := p.Upload(t.Context(), admin, request(api.UploadTrain), strings.NewReader(c.body))
		u := p.refusedRecord(err)
		if !errors.Is(err, c.err) || u.ErrorKind != c.kind || u.ErrorLine != c.line || u.Error == "" || u.Filename != "pv.csv" || u.S3Path != "" {
			t.Errorf("%s: %v, recorded as %+v", c.name, err, u)
		}
		t.Logf("%s: %s", c.name, u.Error)
	}
	p.untouched("a refused file")
	if list, _, err := p.Uploads(t.Context(), admin, api.ListQuery{SiteID: "South", Kind: api.UploadTrain}); err != nil || len(list) != 8 {
		t.Errorf("%d refused files are listed, %v", len(list), err)
	}
	if files := p.leftovers(); len(files) > 0 {
		t.Errorf("refused files left %v", files)
	}
	// Their records go in time.
	p.pass(91 * day)
	if err := p.maintain(t.Context(), store.Claimed{}); err != nil {
		t.Fatal(err)
	}
	if list, _, err := p.Uploads(t.Context(), admin, api.ListQuery{}); err != nil || len(list) > 0 {
		t.Errorf("after 91 days: %v, %v", list, err)
	}
}

// refusedRecord is the record that a refusal names.
func (p *plant) refusedRecord(err error) api.Upload {
	p.t.Helper()
	var e *api.Error
	if !errors.As(err, &e) {
		p.t.Fatalf("no refusal: %v", err)
	}
	id, _ := e.Details["upload_id"].(string)
	u, err := p.Find(p.t.Context(), admin, id)
	if err != nil || u.ProcessingStatus != api.UploadRejected || u.Progress != 1 {
		p.t.Errorf("the record of refusal %v is %+v, %v", e, u, err)
	}
	return u
}

// TestAbsurdValuesAreMissing: a number that overflows sums is not stored, so
// that no answer holds an infinity.
func TestAbsurdValuesAreMissing(t *testing.T) {
	p := newPlant(t, day0, nil)
	p.start()
	body := "timestamp,power_kw\n"
	for i, v := range []string{"1", "2", "1e308", "2", "1", "2", "-1e300", "1"} {
		body += day0.Add(time.Duration(i-9)*time.Hour).Format(time.RFC3339) + "," + v + "\n"
	}
	u := p.ended1(p.upload(request(api.UploadTrain), []byte(body)))
	if u.ProcessingStatus != api.UploadWithWarnings && u.ProcessingStatus != api.UploadCompleted {
		t.Fatalf("ended as %+v", u)
	}
	f, err := store.Collect(p.Telemetry.Read(t.Context(), "South", u.AssetIDs[0], day0.AddDate(0, 0, -1), day0, series.PowerKW))
	if err != nil {
		t.Fatal(err)
	}
	for i, v := range f.Values(series.PowerKW) {
		if v > 2 || v < 0 {
			t.Errorf("stored %g at %d", v, f.Times[i])
		}
	}
}

func TestLargeBadFileIsRejected(t *testing.T) {
	p := newPlant(t, day0, nil)
	p.start()
	var b strings.Builder
	b.WriteString("timestamp,humidity\n")
	for at := day0.AddDate(0, 0, -200); b.Len() < 512<<10; at = at.Add(time.Minute) {
		b.WriteString(at.Format(time.RFC3339) + ",40\n")
	}
	u := p.ended1(p.upload(request(api.UploadTrain), []byte(b.String())))
	if u.ProcessingStatus != api.UploadRejected || u.Error == "" || u.ErrorKind == "" {
		t.Errorf("ended as %+v", u)
	}
	t.Log(u.Error)
	p.untouched("a rejected file")
	p.await("its object to go", func() bool { return len(p.leftovers()) == 0 })
	// Corrected bytes are another file; the same bytes may be uploaded again.
	if again := p.upload(request(api.UploadTrain), []byte(b.String())); again == u.UploadID {
		t.Error("a rejected file cannot be sent again")
	}
}

func TestUploadKeepsToItsScope(t *testing.T) {
	p := newPlant(t, day0, nil)
	if _, err := p.Domain.Sites.SetSite(t.Context(), admin, api.Site{SiteID: "South", CustomerID: "else"}); err != nil {
		t.Fatal(err)
	}
	body := "timestamp,power_kw\n2026-01-01T00:00:00Z,1\n2026-01-01T01:00:00Z,2\n2026-01-01T02:00:00Z,3\n"
	for name, c := range map[string]struct {
		scope  api.Scope
		change func(*api.UploadRequest)
		status int
	}{
		"another's customer": {api.Scope{Customers: []string{"else"}, Sites: []string{api.Every}}, func(*api.UploadRequest) {}, 403},
		"a site not listed":  {api.Scope{Customers: []string{"acme"}, Sites: []string{"North"}}, func(*api.UploadRequest) {}, 403},
		"no customer":        {admin, func(r *api.UploadRequest) { r.CustomerID = "" }, 400},
		"no such zone":       {admin, func(r *api.UploadRequest) { r.SiteID, r.Timezone = "New", "Nowhere/Unknown Town" }, 400},
	} {
		req := request(api.UploadTrain)
		c.change(&req)
		if _, err := p.Upload(t.Context(), c.scope, req, strings.NewReader(body)); !isRefusal(err, c.status) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A site of the id that another customer has is not the one that is meant.
	req := request(api.UploadTrain)
	ack, err := p.Upload(t.Context(), admin, req, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if u, err := p.Find(t.Context(), admin, ack.UploadID); err != nil || u.SiteID != api.SiteKey("acme", "South") {
		t.Errorf("a file for acme's own South: %+v, %v", u, err)
	}
	req.SiteID = "North"
	ack, err = p.Upload(t.Context(), admin, req, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.S3Path, req.Kind = ack.S3Path, api.UploadNowcast
	if _, err := p.Import(t.Context(), admin, req); err != nil {
		t.Errorf("an object of the own site: %v", err)
	}
	// Of a customer's sites, a key that opens one does not read another's files.
	west := req
	west.SiteID = "West"
	if _, err := p.Import(t.Context(), api.Scope{Customers: []string{"acme"}, Sites: []string{"West"}}, west); !isRefusal(err, 403) {
		t.Errorf("an object of an inaccessible site: %v", err)
	}
	req.CustomerID, req.SiteID = "third", "Third"
	for _, uri := range []string{ack.S3Path, "s3://elsewhere/x.csv", strings.Replace(ack.S3Path, "historical", "models", 1), ack.S3Path + "/../../x"} {
		req.S3Path = uri
		_, err := p.Import(t.Context(), admin, req)
		if u := p.refusedRecord(err); !isRefusal(err, 400) || u.ErrorKind != "s3_path" || u.SiteID != "Third" {
			t.Errorf("%s: %v, recorded as %+v", uri, err, u)
		}
	}
}

func TestImportFromElsewhere(t *testing.T) {
	folder := t.TempDir()
	write := func(name, body string) {
		t.Helper()
		name = filepath.Join(folder, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(body), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	base := "file://" + filepath.ToSlash(folder)
	outside, err := objects.Allow(base + "/{customer_id}")
	if err != nil {
		t.Fatal(err)
	}
	defer outside.Close()
	p := newPlant(t, day0, func(c *Config) { c.ImportSource = outside })
	p.start()
	s := fleet(5, 1)
	body := string(csvOf(t, s, day0.AddDate(0, 0, -5), day0, time.Hour))
	write("acme/pv.csv", body)
	write("acme/words.csv", "hello\n")
	write("acme/large.csv", strings.Repeat("x", api.MaxUploadBytes+1))
	write("other/pv.csv", body)
	req := request(api.UploadTrain)
	req.Filename = ""
	for _, c := range []struct {
		path   string
		status int
		reason string
	}{
		{base + "/acme/absent.csv", 400, "there is no such object"},
		{base + "/other/pv.csv", 400, "--import-from"},
		{base + "/acme", 400, "plain file"},
		{base + "/acme/words.csv", 400, "line 1"},
		{base + "/acme/large.csv", 413, ""},
	} {
		req.S3Path = c.path
		_, err := p.Import(t.Context(), admin, req)
		if u := p.refusedRecord(err); !isRefusal(err, c.status) || !strings.Contains(u.Error, c.reason) {
			t.Errorf("%s: %v, recorded as %q", c.path, err, u.Error)
		}
	}
	p.untouched("a refused import")
	req.S3Path = base + "/acme/pv.csv"
	ack, err := p.Import(t.Context(), admin, req)
	if err != nil {
		t.Fatal(err)
	}
	// What is imported is a copy: the file may go.
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	u := p.ended1(ack.UploadID)
	if u.Error != "" || u.RowsStored != 5*24 || u.Filename != "pv.csv" || !strings.HasPrefix(u.S3Path, "sunloop://objects/historical/") || u.Bytes != int64(len(body)) {
		t.Errorf("imported as %+v", u)
	}
	if _, err := p.Import(t.Context(), admin, req); !isRefusal(err, 503) {
		t.Errorf("from a folder that is gone: %v", err)
	}
}

func TestZoneIsNamedByWhoGaveIt(t *testing.T) {
	p := newPlant(t, day0, nil)
	p.start()
	if _, err := p.Domain.Sites.SetSite(t.Context(), admin, api.Site{SiteID: "East", CustomerID: "acme", Timezone: "Europe/Vienna"}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ site, zone, want string }{
		{"New", "", "in UTC, as no zone is given"},
		{"East", "", "in Europe/Vienna, the site's zone"},
		{"West", "Europe/Lisbon", "in Europe/Lisbon, the zone given with the file"},
	} {
		req := request(api.UploadTrain)
		req.SiteID, req.Timezone = c.site, c.zone
		u := p.ended1(p.upload(req, []byte("time,power_kw\n2026-06-01 10:00:00,1\n2026-06-01 11:00:00,2\n2026-06-01 12:00:00,3\n")))
		if !strings.Contains(strings.Join(u.Decisions, "\n"), "zone: times without an offset are "+c.want) {
			t.Errorf("%s: %q", c.site, u.Decisions)
		}
	}
}

// What joins the commit of an upload is written with its record and job, not
// with what is noted on the way, nor with the record of a refused file.
func TestUploadCommitsOnce(t *testing.T) {
	p := newPlant(t, day0, nil)
	open := []int{} // uploads, at each commit
	ctx := store.WithCommitHook(t.Context(), func(tx store.Tx) error {
		list, err := p.Domain.Uploads.AllOpen(tx)
		open = append(open, len(list))
		return err
	})
	if _, err := p.Upload(ctx, admin, request(api.UploadTrain), strings.NewReader("no,file\n")); err == nil {
		t.Fatal("taken")
	}
	body := csvOf(t, fleet(3, 1), day0.AddDate(0, 0, -3), day0, time.Hour)
	if _, err := p.Upload(ctx, admin, request(api.UploadTrain), bytes.NewReader(body)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(open, []int{1}) {
		t.Errorf("uploads at each commit: %v", open)
	}
}
