package backup

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"
)

const schema = 3

var madeAt = time.Date(2026, 11, 28, 3, 15, 0, 0, time.UTC)

// content is a small data folder.
func content() map[string]string {
	noise := rand.New(rand.NewPCG(1, 2))
	db := make([]byte, 150_000)
	for i := range db[:70_000] {
		db[i] = byte(noise.Uint32())
	}
	return map[string]string{
		Database: string(db), Key: strings.Repeat("k", 32), "objects/historical/a/x.csv": "time,kw\n", "objects/empty": "",
		"outbox/01J.eml": "Subject: code\n", "tls/key.pem": "key", "ssh/host_ed25519": "host", "demo.json": "{}",
	}
}

func sources(files map[string]string) (all []Source) {
	for _, name := range []string{Database, Key, "demo.json", "objects/empty", "objects/historical/a/x.csv", "outbox/01J.eml", "ssh/host_ed25519", "tls/key.pem"} {
		all = append(all, Source{name, func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(files[name])), nil }})
	}
	return all
}

func made(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	m, err := Write(t.Context(), &b, Manifest{Schema: schema, Version: "1.2.3", MadeAt: madeAt}, sources(content()))
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Parts) != 8 || m.Size() != 150_000+32+8+14+3+4+2 {
		t.Errorf("%d parts of %d bytes", len(m.Parts), m.Size())
	}
	return b.Bytes()
}

// tree reads the files of a folder; there must be no others than plain ones
// that only their owner may read.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s may be read by others: %v", name, info.Mode())
		}
		if d.IsDir() {
			return nil
		}
		b, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		files[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// refused restores into an empty place, and finds that nothing stays of it.
func refused(t *testing.T, file []byte, o Restoring) error {
	t.Helper()
	place := t.TempDir()
	o.Dir, o.Schema = filepath.Join(place, "new", "data"), schema
	_, err := Restore(t.Context(), bytes.NewReader(file), o)
	if err == nil {
		t.Fatal("it is restored")
	}
	if left, _ := os.ReadDir(place); len(left) > 0 {
		t.Fatalf("%s stays after: %v", left[0].Name(), err)
	}
	return err
}

func TestRestore(t *testing.T) {
	file := made(t)
	for _, empty := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "far", "data")
		if empty {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		checked := false
		m, err := Restore(t.Context(), bytes.NewReader(file), Restoring{Dir: dir, Schema: schema, Check: func(_ context.Context, part string) error {
			checked = len(tree(t, part)) == 8
			return nil
		}})
		if err != nil {
			t.Fatal(err)
		}
		if !checked {
			t.Error("the folder was not checked whole")
		}
		if m.Version != "1.2.3" || !m.MadeAt.Equal(madeAt) || m.Schema != schema || m.Format != Format {
			t.Errorf("manifest %+v", m)
		}
		if d := cmp.Diff(content(), tree(t, dir)); d != "" {
			t.Errorf("restored (-want +got):\n%s", d)
		}
		if left, _ := os.ReadDir(filepath.Dir(dir)); len(left) != 1 {
			t.Errorf("in the parent folder: %v", left)
		}
	}
}

// TestDamage flips a bit at a sample of offsets, the first and last among
// them, and cuts the file off at as many: each is refused as damaged.
func TestDamage(t *testing.T) {
	file := made(t)
	if _, err := Verify(t.Context(), bytes.NewReader(file), nil); err != nil {
		t.Errorf("a whole backup: %v", err)
	}
	offsets := []int{0, 1, 3, 4, 5, 6, 7, 8, 9, len(file) - 1, len(file) - trailerSize, len(file) - trailerSize - 1}
	for range 150 {
		offsets = append(offsets, rand.IntN(len(file)))
	}
	for _, at := range offsets {
		changed := bytes.Clone(file)
		changed[at] ^= 1 << rand.IntN(8)
		if err := refused(t, changed, Restoring{}); at > 3 && !errors.Is(err, ErrDamaged) {
			t.Errorf("byte %d changed: %v", at, err)
		}
		if err := refused(t, file[:at], Restoring{}); at > 3 && !errors.Is(err, ErrDamaged) {
			t.Errorf("cut off at %d: %v", at, err)
		}
		for _, bad := range [][]byte{changed, file[:at]} {
			if _, err := Verify(t.Context(), bytes.NewReader(bad), nil); err == nil {
				t.Errorf("damaged at %d, and verified", at)
			}
		}
	}
	for _, more := range [][]byte{{0}, file, make([]byte, 1000)} {
		if err := refused(t, append(bytes.Clone(file), more...), Restoring{}); !errors.Is(err, ErrDamaged) {
			t.Errorf("%d bytes more: %v", len(more), err)
		}
	}
}

// entry is a file of an archive made for a test.
type entry struct {
	tar.Header
	data string
}

func plainEntry(name, data string) entry {
	return entry{tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(data)), Mode: 0o644}, data}
}

// craft is a file with a right checksum around whatever is wanted; more
// follows the archive's end.
func craft(t *testing.T, manifest any, entries []entry, more string) []byte {
	t.Helper()
	list, err := json.Marshal(manifest)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	if err != nil {
		t.Fatal(err)
	}
	w := tar.NewWriter(z)
	for _, e := range append([]entry{plainEntry(manifestName, string(list))}, entries...) {
		if err := w.WriteHeader(&e.Header); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, e.data); err != nil {
			t.Fatal(err)
		}
	}
	_ = w.Close()
	_, _ = io.WriteString(z, more)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(b.Bytes())
	return append(b.Bytes(), trailer(sum[:])...)
}

// TestHostile tries malicious archives: their checksum is right, and each is
// rejected with one sentence.
func TestHostile(t *testing.T) {
	part := func(name, data string) File {
		sum := sha256.Sum256([]byte(data))
		return File{name, int64(len(data)), hex.EncodeToString(sum[:])}
	}
	with := func(parts ...File) Manifest {
		return Manifest{Format: Format, Schema: schema, Version: "9.9", MadeAt: madeAt, Parts: append([]File{part(Database, "db"), part(Key, "key")}, parts...)}
	}
	good := []entry{plainEntry(Database, "db"), plainEntry(Key, "key")}
	and := func(e ...entry) []entry { return append(append([]entry{}, good...), e...) }
	link := func(kind byte, name, to string) entry {
		return entry{Header: tar.Header{Typeflag: kind, Name: name, Linkname: to}}
	}
	newer, newSchema, noFormat, noKey, noSum, negative := with(), with(), with(), with(), with(), with()
	newer.Format, newSchema.Schema, noFormat.Format = Format+1, schema+1, 0
	noKey.Parts = noKey.Parts[:1]
	noSum.Parts[1].SHA256 = "abc"
	negative.Parts[1].Size = -1
	cases := []struct {
		name     string
		manifest any
		entries  []entry
		more     string
		want     string
	}{
		{"a newer format", newer, good, "", "the backup is of format 2, made by Sunloop 9.9; this one reads up to 1"},
		{"a newer schema", newSchema, good, "", "the backup's data are of schema 4, made by Sunloop 9.9; this one knows up to 3"},
		{"no format", noFormat, good, "", "names no format"},
		{"no manifest", "text", good, "", "manifest cannot be read"},
		{"no key", noKey, good[:1], "", "the backup has no sunloop.key"},
		{"no checksum", noSum, good, "", "no size and checksum of sunloop.key"},
		{"a negative size", negative, good, "", "no size and checksum of sunloop.key"},
		{"a size without end", with(File{"tls/a", 1 << 62, with().Parts[0].SHA256}, File{"tls/b", 1 << 62, with().Parts[0].SHA256}), good, "", "no size and checksum of tls/a"},
		{"a part missing", with(part("tls/key.pem", "k")), good, "", "the backup lacks tls/key.pem"},
		{"a part too many", with(), and(plainEntry("tls/key.pem", "k")), "", `the backup has "tls/key.pem", which its manifest does not name`},
		{"another part", with(part("tls/key.pem", "k")), and(plainEntry("tls/other.pem", "k")), "", `has "tls/other.pem" of 1 bytes where its manifest names tls/key.pem of 1`},
		{"a longer part", with(part("tls/key.pem", "k")), and(plainEntry("tls/key.pem", "kk")), "", "of 2 bytes where"},
		{"other content", with(part("tls/key.pem", "k")), and(plainEntry("tls/key.pem", "q")), "", "tls/key.pem is not what its manifest says"},
		{"a part twice", with(part("tls/k", "k"), part("tls/k", "k")), and(plainEntry("tls/k", "k"), plainEntry("tls/k", "k")), "", "names tls/k twice"},
		{"a file as a folder", with(part("tls/k", "k"), part("tls/k/l", "l")), and(plainEntry("tls/k", "k"), plainEntry("tls/k/l", "l")), "", "unpack the backup"},
		{"a way out", with(part("../evil", "e")), and(plainEntry("../evil", "e")), "", `names "../evil", which is no part of a data folder`},
		{"a way out within", with(part("objects/../../evil", "e")), and(plainEntry("objects/../../evil", "e")), "", "no part of a data folder"},
		{"from the root", with(part("/etc/evil", "e")), and(plainEntry("/etc/evil", "e")), "", "no part of a data folder"},
		{"a backslash", with(part(`objects\..\evil`, "e")), and(plainEntry(`objects\..\evil`, "e")), "", "no part of a data folder"},
		{"a folder of no data", with(part("bin/evil", "e")), and(plainEntry("bin/evil", "e")), "", "no part of a data folder"},
		{"a name with an end", with(part("tls/k\x00", "e")), good, "", "no part of a data folder"},
		{"a symbolic link", with(part("tls/k", "")), and(link(tar.TypeSymlink, "tls/k", "/etc/passwd")), "", `"tls/k", which is not a plain file`},
		{"a hard link", with(part("tls/k", "")), and(link(tar.TypeLink, "tls/k", Key)), "", "not a plain file"},
		{"a device", with(part("tls/k", "")), and(link(tar.TypeChar, "tls/k", "")), "", "not a plain file"},
		{"a pipe", with(part("tls/k", "")), and(link(tar.TypeFifo, "tls/k", "")), "", "not a plain file"},
		{"a folder", with(), and(link(tar.TypeDir, "tls/", "")), "", "not a plain file"},
		{"more behind", with(), good, strings.Repeat("\x00", 1<<20), "has data after its last part"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := refused(t, craft(t, c.manifest, c.entries, c.more), Restoring{}); !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	for file, want := range map[string]string{"": "the backup is empty", "PK\x03\x04 something else entirely": "this is not a backup of Sunloop"} {
		if err := refused(t, []byte(file), Restoring{}); err.Error() != want {
			t.Errorf("%q: %v", file, err)
		}
	}
	dir := filepath.Join(t.TempDir(), "data")
	if _, err := Restore(t.Context(), bytes.NewReader(craft(t, with(), good, "")), Restoring{Dir: dir, Schema: schema}); err != nil {
		t.Errorf("the made-up file with nothing wrong: %v", err)
	}
}

// TestBomb limits unpacking to the sizes in the manifest: a gigabyte that
// compresses well is not written.
func TestBomb(t *testing.T) {
	sum := strings.Repeat("0", 64)
	m := Manifest{Format: Format, Schema: schema, Parts: []File{{Database, 2, sum}, {Key, 3, sum}}}
	big := strings.Repeat("\x00", 64<<20)
	if err := refused(t, craft(t, m, []entry{plainEntry(Database, big)}, ""), Restoring{}); !strings.Contains(err.Error(), "of 67108864 bytes where") {
		t.Error(err)
	}
}

func TestPlaces(t *testing.T) {
	file := made(t)
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "note"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	var r *Refusal
	if _, err := Restore(t.Context(), bytes.NewReader(file), Restoring{Dir: full, Schema: schema}); !errors.As(err, &r) || !strings.Contains(err.Error(), "is not empty") {
		t.Errorf("a folder that is not empty: %v", err)
	}
	if _, err := Restore(t.Context(), bytes.NewReader(file), Restoring{Dir: filepath.Join(full, "note"), Schema: schema}); !errors.As(err, &r) || !strings.Contains(err.Error(), "is not a folder") {
		t.Errorf("a file: %v", err)
	}
	// What comes into the folder meanwhile is not lost.
	place := filepath.Join(t.TempDir(), "data")
	late := func(context.Context, string) error {
		return errors.Join(os.Mkdir(place, 0o700), os.WriteFile(filepath.Join(place, "late"), nil, 0o600))
	}
	if _, err := Restore(t.Context(), bytes.NewReader(file), Restoring{Dir: place, Schema: schema, Check: late}); !errors.As(err, &r) || !strings.Contains(err.Error(), "cannot be replaced") {
		t.Errorf("a folder that is no longer empty: %v", err)
	}
	if d := cmp.Diff(map[string]string{"late": ""}, tree(t, place)); d != "" {
		t.Error(d)
	}
	bad := errors.New("a record is incomplete")
	if err := refused(t, file, Restoring{Check: func(context.Context, string) error { return bad }}); !errors.Is(err, bad) {
		t.Errorf("a folder that fails its check: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Restore(ctx, bytes.NewReader(file), Restoring{Dir: filepath.Join(t.TempDir(), "d"), Schema: schema}); !errors.Is(err, context.Canceled) {
		t.Errorf("given up: %v", err)
	}
}

func TestEncrypted(t *testing.T) {
	plain := made(t)
	recipient, err := age.NewScryptRecipient("correct horse")
	if err != nil {
		t.Fatal(err)
	}
	recipient.SetWorkFactor(4) // what is tried here is not how dear a guess is
	var b bytes.Buffer
	w, err := encrypt(&b, recipient)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	file := b.Bytes()
	if bytes.Contains(file, []byte(strings.Repeat("k", 32))) {
		t.Error("the key is there to read")
	}
	says := func(words string) func() (string, error) { return func() (string, error) { return words, nil } }
	dir := filepath.Join(t.TempDir(), "data")
	if _, err := Restore(t.Context(), bytes.NewReader(file), Restoring{Dir: dir, Schema: schema, Passphrase: says("correct horse"), Encrypted: true}); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(content(), tree(t, dir)); d != "" {
		t.Errorf("restored (-want +got):\n%s", d)
	}
	if err := refused(t, file, Restoring{Passphrase: says("battery staple")}); !strings.Contains(err.Error(), "wrong passphrase") {
		t.Errorf("a wrong passphrase: %v", err)
	}
	if err := refused(t, file, Restoring{}); !strings.Contains(err.Error(), "its passphrase is needed") {
		t.Errorf("no passphrase: %v", err)
	}
	if err := refused(t, plain, Restoring{Passphrase: says("correct horse"), Encrypted: true}); !strings.Contains(err.Error(), "is not encrypted") {
		t.Errorf("a plain file instead of an encrypted one: %v", err)
	}
	for range 60 {
		at := rand.IntN(len(file))
		changed := bytes.Clone(file)
		changed[at] ^= 1 << rand.IntN(8)
		refused(t, changed, Restoring{Passphrase: says("correct horse"), Encrypted: true})
		refused(t, file[:at], Restoring{Passphrase: says("correct horse"), Encrypted: true})
	}
}

// TestSources refuses a source that changes or fails.
func TestSources(t *testing.T) {
	n := 0
	growing := Source{Database, func() (io.ReadCloser, error) {
		n++
		return io.NopCloser(strings.NewReader(strings.Repeat("x", n))), nil
	}}
	if _, err := Write(t.Context(), io.Discard, Manifest{}, []Source{growing}); err == nil {
		t.Error("a part that changed is written")
	}
	broken := errors.New("broken")
	failing := Source{Key, func() (io.ReadCloser, error) { return nil, broken }}
	if _, err := Write(t.Context(), io.Discard, Manifest{}, []Source{failing}); !errors.Is(err, broken) || !strings.Contains(err.Error(), Key) {
		t.Errorf("a part that cannot be read: %v", err)
	}
	for name, want := range map[string]bool{
		Database: true, "sunloop.holder": false, "sunloop.sock": false, "spool/x": false, "console.log": false, "objects": false,
		"objects/a": true, "outbox/01J.eml": true, "objects/a/./b": false, "tls/../sunloop.key": false, "": false, "demo.json/x": false,
	} {
		if Kept(name) != want {
			t.Errorf("Kept(%q) is %t", name, !want)
		}
	}
}
