package objects

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/text/unicode/norm"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/s3test"
	"app.sunloop/backend/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(s3test.Main(m)) }

func openTest(t *testing.T, dir string) *Store {
	t.Helper()
	s, err := OpenFolder(dir, nil)
	return untilEnd(t, s, err)
}

// untilEnd is a store that was opened, until the end of the test.
func untilEnd(t testing.TB, s *Store, err error) *Store {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	t.Run("folder", func(t *testing.T) {
		storetest.Objects(t, func(t *testing.T) store.Objects { return openTest(t, t.TempDir()) })
	})
	t.Run("memory", func(t *testing.T) {
		storetest.Objects(t, func(t *testing.T) store.Objects {
			s := InMemory()
			t.Cleanup(func() { s.Close() })
			return s
		})
	})
	t.Run("bucket", func(t *testing.T) {
		storetest.Objects(t, func(t *testing.T) store.Objects { return openURI(t, s3test.Bucket(t)) })
	})
	t.Run("folder of a bucket", func(t *testing.T) {
		storetest.Objects(t, func(t *testing.T) store.Objects { return openURI(t, in(s3test.Bucket(t), "site-1/objects")) })
	})
}

// openURI opens a bucket, with the log in the test's output.
func openURI(t testing.TB, uri string) *Store {
	t.Helper()
	s, err := OpenBucket(t.Context(), uri, slog.New(slog.NewTextHandler(t.Output(), nil)))
	return untilEnd(t, s, err)
}

// in names a folder of a bucket.
func in(uri, folder string) string { return strings.Replace(uri, "?", "/"+folder+"?", 1) }

// TestFolder asserts the content of the disk: private files, no partial
// data, and no path of the folder in what clients see.
func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "objects")
	s := openTest(t, dir)
	if err := s.Put(t.Context(), "a/b/c.csv", strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), "a/b/d.csv", &failing{}); !errors.Is(err, errFailing) {
		t.Errorf("a reader's error becomes %v", err)
	}
	var files []string
	err := filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s is open to others: %v", name, info.Mode())
		}
		if !d.IsDir() {
			files = append(files, name)
		}
		return nil
	})
	if err != nil || len(files) != 1 || files[0] != filepath.Join(dir, "a", "b", "c.csv") {
		t.Errorf("files %q, %v", files, err)
	}
	_, err = s.Open(t.Context(), "none")
	if !errors.Is(err, store.ErrNotFound) || strings.Contains(err.Error(), dir) {
		t.Errorf("error of an absent object: %v", err)
	}
	if uri := s.URI("a/b/c.csv"); uri != "sunloop://objects/a/b/c.csv" {
		t.Errorf("URI %s", uri)
	}
}

// TestSweep removes what a killed process was writing, and nothing else.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	half := filepath.Join(dir, "a", "x.csv.18c2f0a1b2c3d4e5.tmp")
	whole := filepath.Join(dir, "a", "x.csv")
	if err := os.Mkdir(filepath.Dir(half), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{half, whole} {
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	openTest(t, dir)
	if _, err := os.Stat(half); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half a file stays: %v", err)
	}
	if _, err := os.Stat(whole); err != nil {
		t.Error(err)
	}
}

var errFailing = errors.New("failing")

type failing struct{ n int }

func (f *failing) Read(p []byte) (int, error) {
	if f.n++; f.n > 3 {
		return 0, errFailing
	}
	return len(p), nil
}

func TestUploadKey(t *testing.T) {
	at := time.Date(2026, 3, 1, 14, 5, 6, 0, time.FixedZone("", 7200))
	for _, c := range []struct {
		in   Upload
		want string
	}{
		{Upload{"historical", "Sunloop", "customer123", "KwaZulu-Natal", "Sibaya", "sma", at},
			"historical/Sunloop/customer123/KwaZulu-Natal/Sibaya/sma/20260301T120506Z_historical.csv"},
		{Upload{Kind: "nowcast", Client: "c", Customer: "d", At: at},
			"nowcast/c/d/unknown/unknown/unknown/20260301T120506Z_nowcast.csv"},
	} {
		if got := c.in.Key(); got != c.want {
			t.Errorf("%+v: %s, want %s", c.in, got, c.want)
		}
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"Sibaya":               "Sibaya",
		"INV-1000000054495190": "INV-1000000054495190",
		"a.b_c-d":              "a.b_c-d",
		"S\u00e3o Paulo":       "S_o_Paulo--f00fd81daee53cae",
		"CON":                  "x--a3dbc4b644a9a2c5",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
	// One name in two spellings of Unicode is one name.
	if a, b := Clean("S\u00e3o"), Clean("Sa\u0303o"); a != b {
		t.Errorf("%q and %q", a, b)
	}
}

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

var nasty = []string{"", ".", "..", "...", "a..b", ".a", "a.", "/", "a/b", "../../etc/passwd", "%2e%2e", "a\x00b", `a\b`, "CON", "con.csv", "lpt1",
	strings.Repeat("x", 4096), strings.Repeat("é", 40), "a b", "a_b", "a--0123456789abcdef", "\xff\xfe", "\u202e", "a\n", "x.tmp", "é", "-", "_", "-rf"}

func TestCleanNasty(t *testing.T) {
	seen := map[string]string{}
	for _, in := range nasty {
		out := Clean(in)
		// Said apart from the code, which would agree with itself.
		if len(out) == 0 || len(out) > 64 || strings.Trim(out, letters+"._-") != "" || strings.HasPrefix(out, ".") || strings.HasSuffix(out, ".") || strings.Contains(out, "..") {
			t.Errorf("Clean(%q) = %q", in, out)
		}
		if again := Clean(out); out != in && again == out {
			t.Errorf("who is called %q takes the place of %q", out, in)
		}
		if other, ok := seen[out]; ok {
			t.Errorf("%q and %q both become %q", in, other, out)
		}
		seen[out] = in
	}
}

// FuzzUploadKey: whatever the parts, a key stays under its customer's prefix
// and no other customer's parts lead there.
func FuzzUploadKey(f *testing.F) {
	for i, n := range nasty {
		f.Add(n, nasty[(i+1)%len(nasty)], n, n)
	}
	at := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, customer, other, region, location string) {
		u := Upload{"historical", "client", customer, region, location, location, at}
		key := u.Key()
		if err := check(key); err != nil {
			t.Fatal(err)
		}
		parts := strings.Split(key, "/")
		if len(parts) != 7 || !strings.HasPrefix(key, "historical/client/"+parts[2]+"/") {
			t.Fatalf("key %q", key)
		}
		// Whether the same text or not is asked of the customer's normal form.
		u.Customer = other
		if u.Key() == key && !sameCustomer(customer, other) {
			t.Fatalf("customers %q and %q share %q", customer, other, key)
		}
		if parts[2] != Clean(parts[2]) && !hashed.MatchString(parts[2]) {
			t.Fatalf("%q is cleaned once more", parts[2])
		}
	})
}

func sameCustomer(a, b string) bool {
	normal := func(s string) string {
		if strings.TrimSpace(s) == "" {
			return "unknown"
		}
		return norm.NFC.String(s)
	}
	return normal(a) == normal(b)
}
