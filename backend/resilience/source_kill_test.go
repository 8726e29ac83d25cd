//go:build !windows

package resilience

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/backend/gateway/drop/droptest"
	"app.sunloop/backend/servetest"
	"app.sunloop/internal/longtest"
)

// sourceKills is the environment variable with the number of kills.
const sourceKills = "SUNLOOP_TEST_SOURCE_KILLS"

// exporter leaves files for a service, each with an hour of powers that no other file has.
type exporter struct {
	began time.Time // of the first row
	leave func(dice *rand.Rand, name, content string) error

	names  []string
	powers map[int64]float64 // kW, by time of the row
}

// put leaves the next file.
func (e *exporter) put(dice *rand.Rand) error {
	n := len(e.names)
	var text strings.Builder
	text.WriteString("time,power (kW)\n")
	for row := range 4 {
		at, kw := e.began.Add(time.Duration(4*n+row)*15*time.Minute), float64(8000+(4*n+row)%6000)/1000
		e.powers[at.Unix()] = kw
		fmt.Fprintf(&text, "%s,%.3f\n", at.Format("2006-01-02 15:04"), kw)
	}
	name := fmt.Sprintf("export-%05d.csv", n)
	e.names = append(e.names, name)
	return e.leave(dice, name, text.String())
}

// intoFolder writes files into a folder: under their names, in two parts with a pause
// between, or under the name of a file that is being written, and renamed.
func intoFolder(folder string) func(dice *rand.Rand, name, content string) error {
	return func(dice *rand.Rand, name, content string) error {
		path, pause := filepath.Join(folder, name), time.Duration(dice.IntN(100))*time.Millisecond
		if dice.IntN(2) == 0 {
			if err := os.WriteFile(path+".part", []byte(content), 0o600); err != nil {
				return err
			}
			time.Sleep(pause)
			return os.Rename(path+".part", path)
		}
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if _, err := f.WriteString(content[:len(content)/2]); err != nil {
			return err
		}
		time.Sleep(pause)
		_, err = f.WriteString(content[len(content)/2:])
		return err
	}
}

// uploadsOf returns all uploads of the site.
func uploadsOf(t *testing.T, c *client.Client) []api.Upload {
	t.Helper()
	var all []api.Upload
	q := api.ListQuery{CustomerID: "default", SiteID: "roof", Page: api.Page{Limit: 1000}}
	for {
		r, err := c.Uploads(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, r.Uploads...)
		if q.Page.Cursor = r.NextCursor; q.Page.Cursor == "" {
			return all
		}
	}
}

// fileSources are the kinds of sources of files: each returns what a section of the
// sources file has, how a file is left there, and whether all were taken in.
var fileSources = map[string]func(t *testing.T, base string) (section string, leave func(dice *rand.Rand, name, content string) error, empty func() (bool, error)){
	"folder": func(t *testing.T, base string) (string, func(*rand.Rand, string, string) error, func() (bool, error)) {
		folder := exports(t, base)
		return fmt.Sprintf("[[folder]]\npath = %q\npattern = [\"*.csv\"]\nsettle = \"1s\"\n", folder), intoFolder(folder), isEmpty(folder)
	},
	"sftp": func(t *testing.T, base string) (string, func(*rand.Rand, string, string) error, func() (bool, error)) {
		folder, server := exports(t, base), droptest.OpenSSH(t)
		return fmt.Sprintf("[[sftp]]\naddress = %q\nuser = %q\nhost_keys = [%q]\nkey_file = %q\npath = %q\npattern = [\"*.csv\"]\nsettle = \"1s\"\nafter = \"move\"\n",
			server.Address, server.User, server.HostKey, server.KeyFile, folder), intoFolder(folder), isEmpty(folder)
	},
	"imap": func(t *testing.T, _ string) (string, func(*rand.Rand, string, string) error, func() (bool, error)) {
		box := droptest.Dovecot(t)
		leave := func(_ *rand.Rand, name, content string) error {
			return box.Add(droptest.Message("reports@logger.example", name, droptest.Attachment{
				Header: fmt.Sprintf("Content-Type: text/csv\r\nContent-Disposition: attachment; filename=%q\r\nContent-Transfer-Encoding: base64", name),
				Body:   base64.StdEncoding.EncodeToString([]byte(content))}))
		}
		return fmt.Sprintf("[[imap]]\naddress = %q\nuser = %q\npassword_file = %q\nca_file = %q\n", box.URL(), droptest.User, box.PasswordFile, box.Authority), leave,
			func() (bool, error) { return true, nil } // messages stay
	},
}

// exports is the folder for files.
func exports(t *testing.T, base string) string {
	t.Helper()
	folder := filepath.Join(base, "exports")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return folder
}

// isEmpty reports whether all files were moved.
func isEmpty(folder string) func() (bool, error) {
	return func() (bool, error) {
		left, err := filepath.Glob(filepath.Join(folder, "*.csv"))
		return len(left) == 0, err
	}
}

// TestSourcesOverKills: however often a service that takes in the files of a watched
// folder, of an SFTP server (OpenSSH) or of a mailbox (Dovecot) is killed, also while it
// starts and while files are written, each file is one upload that was stored, with all its
// rows.
func TestSourcesOverKills(t *testing.T) {
	longtest.Mark(t)
	for kind, source := range fileSources {
		t.Run(kind, func(t *testing.T) { sourceOverKills(t, source) })
	}
}

func sourceOverKills(t *testing.T, source func(t *testing.T, base string) (section string, leave func(dice *rand.Rand, name, content string) error, empty func() (bool, error))) {
	kills := fromEnv(t, sourceKills, 20)
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	base := t.TempDir()
	dir := filepath.Join(base, "data")
	section, leave, empty := source(t, base)
	e := &exporter{leave: leave, powers: map[int64]float64{}}
	e.began = time.Now().UTC().Truncate(time.Hour).Add(-time.Duration(100+40*kills) * time.Hour)
	sources := filepath.Join(base, "sources.toml")
	text := "[site]\nid = \"roof\"\ntimezone = \"UTC\"\n" + section + "name = \"exports\"\npoll = \"1s\"\nasset = \"INV-1\"\n"
	if err := os.WriteFile(sources, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	root := servetest.RootKey(t, dir)

	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		dice := rand.New(rand.NewPCG(seed, 1))
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			case <-time.After(time.Duration(100+dice.IntN(400)) * time.Millisecond):
			}
			if err := e.put(dice); err != nil {
				stopped <- err
				return
			}
		}
	}()

	starting := 0 // kills before the service was ready
	for range kills {
		p, err := servetest.Launch(dir, "--sources", sources)
		if err != nil {
			t.Fatal(err)
		}
		if dice.IntN(4) > 0 {
			if err := p.Wait(); err != nil {
				p.Kill()
				t.Fatal(err)
			}
			time.Sleep(time.Duration(dice.IntN(3500)) * time.Millisecond)
		} else {
			starting++
			time.Sleep(time.Duration(dice.IntN(400)) * time.Millisecond)
		}
		p.Kill()
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}

	service := servetest.Start(t, dir, "--sources", sources)
	c := service.Client(root)
	defer c.Close()
	var uploads []api.Upload
	for late := time.Now().Add(5 * servetest.ReadyWithin); ; time.Sleep(2 * time.Second) { // a key may make 60 requests a minute
		none, err := empty()
		if err != nil {
			t.Fatal(err)
		}
		uploads = uploadsOf(t, c)
		if none && len(uploads) >= len(e.names) && !slices.ContainsFunc(uploads, func(u api.Upload) bool { return !u.Ended() }) {
			break
		}
		if time.Now().After(late) {
			t.Fatalf("%d uploads of %d files, all moved: %t\n%s", len(uploads), len(e.names), none, service.Log())
		}
	}
	times := map[string]int{}
	lost, twice, foreign, refused := 0, 0, 0, 0
	for _, u := range uploads {
		times[u.Filename]++
		if u.Source != "exports" || !slices.Contains(e.names, u.Filename) {
			foreign++
			t.Logf("upload of %q from %q", u.Filename, u.Source)
		}
		if u.ProcessingStatus != api.UploadCompleted && u.ProcessingStatus != api.UploadWithWarnings || u.RowsStored != 4 {
			refused++
			t.Logf("%s: %s, %d rows stored: %s", u.Filename, u.ProcessingStatus, u.RowsStored, u.Error)
		}
	}
	for _, name := range e.names {
		switch n := times[name]; {
		case n == 0:
			lost++
			t.Logf("%s is lost", name)
		case n > 1:
			twice++
			t.Logf("%s is %d uploads", name, n)
		}
		if folder := filepath.Join(base, "exports"); strings.Contains(section, folder) {
			if _, err := os.Stat(filepath.Join(folder, "done", name)); err != nil {
				t.Errorf("%s was not moved: %v", name, err)
			}
		}
	}
	stored := map[int64]float64{}
	for from := e.began; from.Before(time.Now()); from = from.Add(10 * 24 * time.Hour) {
		r, err := c.Inverter(t.Context(), api.RecordsQuery{CustomerID: "default", SiteID: "roof", AssetID: "INV-1", Start: api.At(from), End: api.At(from.Add(10 * 24 * time.Hour))})
		if err != nil {
			t.Fatal(err)
		}
		for _, rec := range r.Records {
			stored[rec.Timestamp.Unix()] = rec.Power
		}
	}
	missing, invented := 0, 0
	for at, kw := range e.powers {
		if stored[at] != kw {
			missing++
		}
	}
	for at := range stored {
		if _, ok := e.powers[at]; !ok {
			invented++
		}
	}
	t.Logf("killed %d times (%d while it started); %d files, %d uploads: %d lost, %d twice, %d refused, %d others; %d rows: %d missing, %d invented", kills, starting, len(e.names), len(uploads), lost, twice, refused, foreign, len(e.powers), missing, invented)
	if lost+twice+refused+foreign+missing+invented > 0 {
		t.Errorf("not each file was imported once\n%s", service.Log())
	}
}
