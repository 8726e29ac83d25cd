package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
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
	if _, err := p.Ops.Site(p.t.Context(), admin, "South"); !errors.Is(err, api.ErrSiteNotFound) {
		p.t.Errorf("%s left a site: %v", what, err)
	}
	if units, err := p.Ops.SiteAssets(p.t.Context(), "South"); err != nil || len(units) > 0 {
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
	for name, body := range map[string]string{
		"words":       "hello world, this is no table\n",
		"no power":    "timestamp,humidity\n2026-01-01T00:00:00Z,40\n2026-01-01T01:00:00Z,41\n",
		"spreadsheet": "PK\x03\x04\x00\x00\x00\x00",
		"header only": "timestamp,power_kw\n",
		"many units":  manyUnits(maxUnits + 1),
	} {
		_, err := p.Upload(t.Context(), admin, request(api.UploadTrain), strings.NewReader(body))
		var e *api.Error
		if !errors.As(err, &e) || e.Status != 400 || e.Message != "Invalid CSV format" || e.Details["reason"] == "" {
			t.Errorf("%s: %v", name, err)
			continue
		}
		t.Logf("%s: %v", name, e.Details["reason"])
	}
	_, err := p.Upload(t.Context(), admin, request(api.UploadTrain), strings.NewReader(""))
	if !errors.Is(err, api.ErrCSVRequired) {
		t.Errorf("an empty file: %v", err)
	}
	_, err = p.Upload(t.Context(), admin, request(api.UploadTrain), bytes.NewReader(make([]byte, api.MaxUploadBytes+1)))
	if !errors.Is(err, api.ErrFileTooLarge) {
		t.Errorf("a large file: %v", err)
	}
	p.untouched("a refused file")
	if list, _, err := p.Uploads(t.Context(), admin, api.ListQuery{}); err != nil || len(list) > 0 {
		t.Errorf("refused files left %v, %v", list, err)
	}
	if files := p.leftovers(); len(files) > 0 {
		t.Errorf("refused files left %v", files)
	}
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
	for at := day0.AddDate(0, 0, -200); b.Len() < 2*checkedAtOnce; at = at.Add(time.Minute) {
		b.WriteString(at.Format(time.RFC3339) + ",40\n")
	}
	u := p.ended1(p.upload(request(api.UploadTrain), []byte(b.String())))
	if u.ProcessingStatus != api.UploadRejected || u.Error == "" || u.ErrorKind == "" {
		t.Errorf("ended as %+v", u)
	}
	t.Log(u.Error)
	p.untouched("a rejected file")
	// Mended bytes are another file; the same bytes may be tried again.
	if again := p.upload(request(api.UploadTrain), []byte(b.String())); again == u.UploadID {
		t.Error("a rejected file cannot be sent again")
	}
}

func TestUploadKeepsToItsScope(t *testing.T) {
	p := newPlant(t, day0, nil)
	if _, err := p.Ops.SetSite(t.Context(), admin, api.Site{SiteID: "South", CustomerID: "else"}); err != nil {
		t.Fatal(err)
	}
	body := "timestamp,power_kw\n2026-01-01T00:00:00Z,1\n2026-01-01T01:00:00Z,2\n2026-01-01T02:00:00Z,3\n"
	for name, c := range map[string]struct {
		scope  api.Scope
		change func(*api.UploadRequest)
		status int
	}{
		"another's site":     {admin, func(*api.UploadRequest) {}, 403},
		"another's customer": {api.Scope{Customers: []string{"else"}, Sites: []string{api.Every}}, func(*api.UploadRequest) {}, 403},
		"a site not listed":  {api.Scope{Customers: []string{"acme"}, Sites: []string{"North"}}, func(*api.UploadRequest) {}, 403},
		"no customer":        {admin, func(r *api.UploadRequest) { r.CustomerID = "" }, 400},
		"no such zone":       {admin, func(r *api.UploadRequest) { r.SiteID, r.Timezone = "New", "Nowhere/At all" }, 400},
	} {
		req := request(api.UploadTrain)
		c.change(&req)
		if _, err := p.Upload(t.Context(), c.scope, req, strings.NewReader(body)); !isRefusal(err, c.status) {
			t.Errorf("%s: %v", name, err)
		}
	}
	req := request(api.UploadTrain)
	req.SiteID = "North"
	ack, err := p.Upload(t.Context(), admin, req, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.S3Path, req.Kind = ack.S3Path, api.UploadNowcast
	if _, err := p.Import(t.Context(), admin, req); err != nil {
		t.Errorf("an object of one's own: %v", err)
	}
	// Of a customer's sites, a key that opens one does not read another's files.
	west := req
	west.SiteID = "West"
	if _, err := p.Import(t.Context(), api.Scope{Customers: []string{"acme"}, Sites: []string{"West"}}, west); !isRefusal(err, 403) {
		t.Errorf("an object of a site out of reach: %v", err)
	}
	req.CustomerID, req.SiteID = "third", "Third"
	for _, uri := range []string{ack.S3Path, "s3://elsewhere/x.csv", strings.Replace(ack.S3Path, "historical", "models", 1), ack.S3Path + "/../../x"} {
		req.S3Path = uri
		if _, err := p.Import(t.Context(), admin, req); !isRefusal(err, 400) {
			t.Errorf("%s: %v", uri, err)
		}
	}
}
