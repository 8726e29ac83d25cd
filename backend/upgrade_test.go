package backend

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/check"
	"app.sunloop/backend/client"
	"app.sunloop/backend/domain/model"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
)

var updateFolder = flag.Bool("update-folder", false, "write the data folder of this schema version in testdata")

// reads are what is asked of a filled folder: of every table that a caller can
// see, something.
func reads(ctx context.Context, h *instance) map[string]func() (any, error) {
	all, page := api.ListQuery{CustomerID: "acme"}, api.Page{Limit: 100}
	unit := "Berlin-4000000000001000"
	return map[string]func() (any, error){
		"sites":          func() (any, error) { return h.Sites(ctx, all) },
		"assets":         func() (any, error) { return h.Assets(ctx, all) },
		"uploads":        func() (any, error) { return h.Uploads(ctx, all) },
		"activities":     func() (any, error) { return h.Activities(ctx, all) },
		"alerts":         func() (any, error) { return h.Alerts(ctx, all, "") },
		"findings":       func() (any, error) { return h.Findings(ctx, all) },
		"detections":     func() (any, error) { return h.Detections(ctx, all) },
		"diagnostics":    func() (any, error) { return h.Diagnostics(ctx, all) },
		"issues":         func() (any, error) { return h.Issues(ctx, all) },
		"models":         func() (any, error) { return h.Models(ctx, all) },
		"forecasts":      func() (any, error) { return h.StoredForecasts(ctx, all) },
		"interpolations": func() (any, error) { return h.Interpolations(ctx, all) },
		"schedules":      func() (any, error) { return h.Schedules(ctx, all, "") },
		"bills":          func() (any, error) { return h.BOMs(ctx, all) },
		"orders":         func() (any, error) { return h.Orders(ctx, all, api.OrderRequest{}) },
		"stock":          func() (any, error) { return h.Parts(ctx, api.PartsRequest{CustomerID: "acme", SiteID: filledSite}) },
		"subscriptions":  func() (any, error) { return h.Subscriptions(ctx, all, "") },
		"deliveries": func() (any, error) {
			orders, err := h.Orders(ctx, all, api.OrderRequest{})
			if err != nil {
				return nil, err
			}
			return h.Deliveries(ctx, api.TrackRequest{OrderID: orders.Orders[0].OrderID})
		},
		"users":    func() (any, error) { return h.Users(ctx, api.ListQuery{}) },
		"audit":    func() (any, error) { return h.Audit(ctx, api.AuditRequest{Page: page}) },
		"key":      func() (any, error) { return h.APIKeyInfo(ctx, h.key) },
		"snapshot": func() (any, error) { return h.KPIRollup(ctx, api.SiteRef{SiteID: "Berlin"}) },
		"period":   func() (any, error) { return h.DataPeriod(ctx, api.SiteRef{SiteID: "Berlin"}, "") },
		"sealed days": func() (any, error) {
			return h.Inverter(ctx, api.RecordsQuery{SiteID: "Berlin", AssetID: unit, Start: api.At(filledAt.AddDate(0, 0, -40)), End: api.LastBefore(filledAt.AddDate(0, 0, -38))})
		},
		"open day": func() (any, error) {
			return h.Inverter(ctx, api.RecordsQuery{SiteID: "Berlin", AssetID: unit, Start: api.At(filledAt.AddDate(0, 0, -1)), End: api.LastBefore(filledAt)})
		},
		"customers": func() (any, error) { return h.service.Freemium().Customers(ctx) },
	}
}

// look opens a folder without running it, so that nothing is changed by jobs.
func look(t *testing.T, dir string, keys filled) *instance {
	t.Helper()
	return lookAt(t, lookConfig(dir), keys)
}

// lookAt is look by a configuration.
func lookAt(t *testing.T, cfg Config, keys filled) *instance {
	t.Helper()
	s, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h := &instance{t: t, cfg: cfg, service: s, key: keys.Key}
	h.connect()
	t.Cleanup(func() {
		h.Close()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

func lookConfig(dir string) Config {
	return Config{DataDir: dir, Now: func() time.Time { return filledAt }, Wall: func() time.Time { return filledAt.Add(10 * time.Minute) },
		WebhookAllow: []string{"127.0.0.1"}, RequireMFA: true, KeyRate: 1000}
}

// answers are what reads answer, as JSON.
func answers(t *testing.T, h *instance) map[string]any {
	t.Helper()
	all := map[string]any{}
	for name, read := range reads(t.Context(), h) {
		v, err := read()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var plain any
		if err := json.Unmarshal(b, &plain); err != nil {
			t.Fatal(err)
		}
		all[name] = plain
	}
	return all
}

// counterStep is the resolution of the counters in the folders, in kWh. Earlier
// versions computed the energy of a record from its power; now the counter wins.
const counterStep = 0.01

// lost says what of want is not in got. Fields of got that golden does not have
// are new. The energy of a record may differ by a step of its counter.
func lost(at string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		there, _ := got.(map[string]any)
		var all []string
		for k, v := range want {
			all = append(all, lost(at+"."+k, v, there[k])...)
		}
		return all
	case []any:
		there, _ := got.([]any)
		if len(there) != len(want) {
			return []string{fmt.Sprintf("%s has %d entries, not %d", at, len(there), len(want))}
		}
		var all []string
		for i, v := range want {
			all = append(all, lost(fmt.Sprintf("%s[%d]", at, i), v, there[i])...)
		}
		return all
	case float64:
		if energy, ok := got.(float64); ok && strings.HasSuffix(at, ".kWh") && math.Abs(energy-want) <= counterStep*1.001 {
			return nil
		}
	}
	if want == "" && got == api.MethodNone && strings.HasSuffix(at, ".method") { // a result without gaps had no method
		return nil
	}
	if !reflect.DeepEqual(want, got) {
		return []string{fmt.Sprintf("%s is %v, not %v", at, got, want)}
	}
	return nil
}

// kept is a data folder of a schema version in testdata, with what it answered.
type kept struct {
	Keys    filled         `json:"keys"`
	Answers map[string]any `json:"answers"`
}

const keptAnswers = "answers.json" // in the archive, next to the folder "data"

// unpackFolder is a copy of the data folder of a schema version, and what a
// service over it answered.
func unpackFolder(t *testing.T, version int) (data string, was kept) {
	t.Helper()
	dir := t.TempDir()
	unpack(t, filepath.Join("testdata", fmt.Sprintf("schema-%d.tar.gz", version)), dir)
	b, err := os.ReadFile(filepath.Join(dir, keptAnswers))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &was); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "data"), was
}

// TestResumOldFolder: the day sums of an earlier version are computed from samples
// while they are stored, and are the same after they were replaced.
func TestResumOldFolder(t *testing.T) {
	data, _ := unpackFolder(t, 2)
	s, err := bolt.Open(data, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx := t.Context()
	ids, err := s.SiteIDs(ctx)
	if err != nil || len(ids) == 0 {
		t.Fatalf("sites %v, %v", ids, err)
	}
	read := func() map[string][]store.DaySum {
		out := map[string][]store.DaySum{}
		for _, id := range ids {
			if out[id], err = s.Daily(ctx, id, time.Unix(0, 0), time.Unix(1<<33, 0)); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	before := read()
	days := 0
	for _, sums := range before {
		days += len(sums)
	}
	if n, err := s.Resum(ctx); n == 0 || err != nil || days < 10 {
		t.Errorf("%d sites and %d days, %v", n, days, err)
	}
	if n, err := s.Resum(ctx); n != 0 || err != nil {
		t.Errorf("%d sites again, %v", n, err)
	}
	if diff := cmp.Diff(before, read()); diff != "" {
		t.Error(diff)
	}
	if faults := s.Check(ctx); len(faults) > 0 {
		t.Error(faults)
	}
}

// TestUpgrade opens a copy of the data folder of each schema version that there
// has been: it checks clean before and after, what it answered it still
// answers, and its key and its person still come in. With -update-folder the
// folder of this version is written.
func TestUpgrade(t *testing.T) {
	if *updateFolder {
		keep(t, filepath.Join("testdata", fmt.Sprintf("schema-%d.tar.gz", bolt.SchemaVersion)))
	}
	for version := 1; version <= bolt.SchemaVersion; version++ {
		t.Run(fmt.Sprintf("schema %d", version), func(t *testing.T) {
			data, was := unpackFolder(t, version)
			wellKept := func() {
				t.Helper()
				c, err := checkFolder(t.Context(), data)
				if err != nil || len(c.Faults) > 0 || c.Records < 100 || c.Objects < 5 {
					t.Errorf("the check finds %+v, %v", c, err)
				}
			}
			wellKept()
			h := look(t, data, was.Keys)
			now := answers(t, h)
			for name, want := range was.Answers {
				for _, what := range lost(name, want, now[name]) {
					t.Error(what)
				}
			}
			ctx := t.Context()
			person := client.New(client.Options{Transport: client.InProcess(h.service.Handler()), Now: time.Now})
			defer person.Close()
			begun, err := person.Login(ctx, filledUser, filledPassword)
			if err != nil {
				t.Fatal(err)
			}
			if in, err := person.VerifyMFA(ctx, begun.MFAToken, was.Keys.Recovery); err != nil || in.Token == "" {
				t.Errorf("its person does not come in: %v", err)
			}
			// Waiting work continues: the plan half way is completed, the upload half way dropped.
			ended := make(chan error, 1)
			going, stop := context.WithCancel(ctx)
			go func() { ended <- h.service.Run(going) }()
			waitFor(t, "what was half way", func() bool {
				n := 0
				for _, table := range check.Tables() {
					if name := table.Buckets()[0]; name == "object-intents" || name == "partner-planned" {
						n += h.count(table)
					}
				}
				return n == 0
			})
			stop()
			if err := errors.Join(<-ended, h.service.Close()); err != nil {
				t.Error(err)
			}
			wellKept()
		})
	}
}

// keep makes the archive.
func keep(t *testing.T, name string) {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	was := kept{Keys: fill(t, data)}
	dropForecaster(t, data)
	if _, _, err := bolt.Compact(t.Context(), data); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(t.TempDir(), "data")
	if err := os.CopyFS(copied, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	was.Answers = answers(t, look(t, copied, was.Keys))
	b, err := json.Marshal(was)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(data), keptAnswers), b, 0o600); err != nil {
		t.Fatal(err)
	}
	pack(t, name, filepath.Dir(data))
}

// pack writes the files of a folder into an archive.
func pack(t *testing.T, name, dir string) {
	t.Helper()
	var archive bytes.Buffer
	packed, err := gzip.NewWriterLevel(&archive, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	files := tar.NewWriter(packed)
	if err := errors.Join(files.AddFS(os.DirFS(dir)), files.Close(), packed.Close(), os.MkdirAll(filepath.Dir(name), 0o750), os.WriteFile(name, archive.Bytes(), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// dropForecaster takes the model that forecasts out of a folder: it is two
// thirds of it. The one that fills gaps stays.
func dropForecaster(t *testing.T, data string) {
	t.Helper()
	db, err := bolt.Open(data, bolt.Options{})
	if err != nil {
		t.Fatal(err)
	}
	table := check.Tables()[slices.IndexFunc(check.Tables(), func(c store.Checked) bool { return c.Buckets()[0] == "models" })]
	err = db.Update(t.Context(), func(tx store.Tx) error {
		var gone []byte
		for e, err := range tx.Scan("models", nil, nil, false) {
			var m model.Model
			if err := errors.Join(err, json.Unmarshal(e.Value, &m)); err != nil {
				return err
			}
			if m.ModelType != api.ModelForecasting {
				continue
			}
			gone = bytes.Clone(e.Key)
			if err := os.RemoveAll(filepath.Dir(filepath.Join(data, "objects", filepath.FromSlash(m.Artefacts.Model)))); err != nil {
				return err
			}
		}
		for _, bucket := range table.Buckets() {
			var keys [][]byte
			for e, err := range tx.Scan(bucket, nil, nil, false) {
				if err != nil {
					return err
				}
				if bytes.Equal(e.Key, gone) || bytes.Equal(e.Value, gone) {
					keys = append(keys, bytes.Clone(e.Key))
				}
			}
			for _, key := range keys {
				if err := tx.Delete(bucket, key); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// unpack writes the archive's files and folders as their owner's alone.
func unpack(t *testing.T, name, dir string) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	packed, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(packed); ; {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil || !filepath.IsLocal(h.Name) {
			t.Fatal(h, err)
		}
		to := filepath.Join(dir, h.Name)
		if strings.HasSuffix(h.Name, "/") {
			if err := os.MkdirAll(to, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		b, err := io.ReadAll(files)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, b, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSecondCustomerTakesAStoredSiteID opens the data folders of earlier versions,
// whose site keys are ids. They need no migration: a second customer creates a site
// and a unit with the ids of stored ones, and the first customer is answered as
// before.
func TestSecondCustomerTakesAStoredSiteID(t *testing.T) {
	for version := 1; version <= bolt.SchemaVersion; version++ {
		t.Run(fmt.Sprintf("schema %d", version), func(t *testing.T) {
			data, was := unpackFolder(t, version)
			h := look(t, data, was.Keys)
			ctx := t.Context()
			as := func(customers ...string) *client.Client {
				t.Helper()
				key, _, err := h.service.Auth().CreateKey(ctx, auth.NewKey{Name: "test", Role: api.RoleAdmin, Customers: customers})
				if err != nil {
					t.Fatal(err)
				}
				c := client.New(client.Options{Transport: client.InProcess(h.service.Handler()), Credential: key})
				t.Cleanup(c.Close)
				return c
			}
			const unit = "Berlin-4000000000001000"
			second := as("globex")
			if _, err := second.SetSite(ctx, api.Site{SiteID: "Berlin", CustomerID: "globex", Name: "Theirs", Timezone: "Europe/Vienna", CapacityKW: 9}); err != nil {
				t.Fatal(err)
			}
			if _, err := second.AddAsset(ctx, api.Asset{AssetID: unit, SiteID: "Berlin", Name: "Their inverter", Type: "inverter", CapacityKW: 9, Location: "roof"}); err != nil {
				t.Fatal(err)
			}
			first := &instance{Client: as("acme"), t: t, service: h.service, key: was.Keys.Key}
			for name, read := range reads(ctx, first) {
				switch name {
				case "users", "audit", "customers": // of all customers
					continue
				}
				v, err := read()
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				b, err := json.Marshal(v)
				if err != nil {
					t.Fatal(err)
				}
				var now any
				if err := json.Unmarshal(b, &now); err != nil {
					t.Fatal(err)
				}
				for _, what := range lost(name, was.Answers[name], now) {
					t.Error(what)
				}
				if bytes.Contains(b, []byte("globex")) || bytes.Contains(b, []byte("Their")) {
					t.Errorf("%s speaks of the second customer: %s", name, b)
				}
			}
			sites, err := second.Sites(ctx, api.ListQuery{})
			if err != nil || len(sites.Sites) != 1 || sites.Sites[0].SiteID != "Berlin" || sites.Sites[0].Name != "Theirs" || sites.Sites[0].AssetCount != 1 {
				t.Errorf("the second customer has %+v, %v", sites, err)
			}
			for name, count := range map[string]func() (int, error){
				"issues": func() (int, error) {
					r, err := second.Issues(ctx, api.ListQuery{CustomerID: "globex", SiteID: "Berlin"})
					if err != nil {
						return 0, err
					}
					return r.Count, nil
				},
				"orders": func() (int, error) {
					r, err := second.Orders(ctx, api.ListQuery{SiteID: "Berlin"}, api.OrderRequest{})
					if err != nil {
						return 0, err
					}
					return r.Count, nil
				},
				"records": func() (int, error) {
					r, err := second.Inverter(ctx, api.RecordsQuery{SiteID: "Berlin", AssetID: unit, Start: api.At(filledAt.AddDate(0, 0, -40)), End: api.LastBefore(filledAt)})
					if err != nil {
						return 0, err
					}
					return len(r.Records), nil
				},
			} {
				if n, err := count(); err != nil || n != 0 {
					t.Errorf("the second customer has %d %s, %v", n, name, err)
				}
			}
			both := as("acme", "globex")
			if _, err := both.Site(ctx, api.SiteRef{SiteID: "Berlin"}); err == nil || !strings.Contains(err.Error(), "customer_id") {
				t.Errorf("an ambiguous id: %v", err)
			}
			for customer, name := range map[string]string{"acme": "Berlin", "globex": "Theirs"} {
				if site, err := both.Site(ctx, api.SiteRef{CustomerID: customer, SiteID: "Berlin"}); err != nil || site.CustomerID != customer || site.Name != name {
					t.Errorf("the site of %s: %+v, %v", customer, site, err)
				}
			}
			if err := h.service.Close(); err != nil {
				t.Error(err)
			}
			if c, err := checkFolder(ctx, data); err != nil || len(c.Faults) > 0 {
				t.Errorf("the check finds %+v, %v", c, err)
			}
		})
	}
}
