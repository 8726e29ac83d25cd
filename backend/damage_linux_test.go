package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"app.sunloop/backend/admin"
	"app.sunloop/backend/api"
	"app.sunloop/backend/backup"
	"app.sunloop/backend/check"
	"app.sunloop/backend/store/bolt"
)

// Of the process that works on a damaged folder.
const (
	damageDir    = "SUNLOOP_TEST_DAMAGE_DIR"
	damageResult = "result.json"
	damageKeys   = "keys.json"
	damageMemory = 4 << 30          // address space, of which 1 GiB is set aside for the map
	damageTime   = 90 * time.Second // after which it hangs, on a busy machine too
)

// damageReport is what the commands made of a folder.
type damageReport struct {
	Check      string            `json:"check"` // faults; empty when all is well
	Serve      string            `json:"serve"` // why the service does not start
	Answers    map[string]string `json:"answers"`
	Backup     string            `json:"backup"`  // the reason if there is no result
	Restore    string            `json:"restore"` // of the backup
	Restored   string            `json:"restored"`
	Answers2   map[string]string `json:"restored_answers"`
	Compact    string            `json:"compact"`
	Compacted  string            `json:"compacted"` // faults after it
	Completed  bool              `json:"completed"`
	BackupSize int64             `json:"backup_size"`
}

// refused begins the answer of a read that the service refused with a 5xx.
const refused = "refused: "

// asked are the answers of the service over a folder.
func asked(t *testing.T, dir string, keys filled) (answers map[string]string, err error) {
	s, err := New(lookConfig(dir))
	if err != nil {
		return nil, err
	}
	h := &instance{t: t, service: s, key: keys.Key}
	h.connect()
	answers = map[string]string{}
	for name, read := range reads(t.Context(), h) {
		v, err := read()
		var e *api.Error
		if errors.As(err, &e) && e.Status >= 500 || err != nil && name == "customers" {
			answers[name] = refused + err.Error()
			continue
		}
		b, encoding := json.Marshal(v)
		answers[name] = fmt.Sprint(string(b), err, encoding)
	}
	h.Close()
	// The jobs and timers meet the damage too.
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	_ = s.Run(ctx)
	return answers, s.Close()
}

// TestDamageChild runs the commands over a folder, for TestDamage.
func TestDamageChild(t *testing.T) {
	dir := os.Getenv(damageDir)
	if dir == "" {
		t.Skip("it runs for TestDamage")
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_AS, &syscall.Rlimit{Cur: damageMemory, Max: damageMemory}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(dir, damageKeys))
	var keys filled
	if err = errors.Join(err, json.Unmarshal(b, &keys)); err != nil {
		t.Fatal(err)
	}
	var r damageReport
	text := func(err error) string {
		if err != nil {
			return err.Error()
		}
		return ""
	}
	faults := func(data string) string {
		c, err := checkFolder(t.Context(), data)
		return strings.Join(append(c.Faults, text(err)), "\n")
	}
	data := filepath.Join(dir, "data")
	r.Check = strings.TrimSpace(faults(data))
	copied := filepath.Join(dir, "copy")
	if err := os.CopyFS(copied, os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
	r.Answers, err = asked(t, copied, keys)
	r.Serve = text(err)
	file := filepath.Join(dir, "backup")
	r.Backup = text(backUp(t.Context(), data, file))
	if r.Backup == "" {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		restored := filepath.Join(dir, "restored")
		_, err = admin.Restore(t.Context(), f, restored, nil, false)
		r.Restore = text(errors.Join(err, f.Close()))
		if r.Restore == "" {
			r.Restored = strings.TrimSpace(faults(restored))
			var asking error
			r.Answers2, asking = asked(t, restored, keys)
			r.Restored = strings.TrimSpace(r.Restored + "\n" + text(asking))
		}
	}
	_, _, err = bolt.Compact(t.Context(), data)
	r.Compact = text(err)
	if err == nil {
		err = bolt.VerifyFolder(t.Context(), data, func(err error) { r.Compacted += err.Error() + "\n" })
		r.Compacted += text(err)
	}
	r.Completed = true
	if b, err = json.Marshal(r); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, damageResult), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// backUp makes a backup as the command does.
func backUp(ctx context.Context, data, file string) error {
	s, err := New(lookConfig(data))
	if err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return errors.Join(err, s.Close())
	}
	_, err = s.Admin().Backup(ctx, f)
	if err == nil {
		_, err = f.Seek(0, 0)
	}
	if err == nil {
		_, err = backup.Verify(ctx, f, nil)
	}
	return errors.Join(err, f.Close(), s.Close())
}

// runDamaged runs the commands over the folder of dir in a process of their own.
func runDamaged(t *testing.T, dir string) (r damageReport, how string) {
	ctx, cancel := context.WithTimeout(t.Context(), damageTime)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestDamageChild$")
	child.Env = append(os.Environ(), damageDir+"="+dir, "TMPDIR="+dir)
	out, err := child.CombinedOutput()
	if ctx.Err() != nil {
		return r, "hangs"
	}
	b, unread := os.ReadFile(filepath.Join(dir, damageResult))
	if unread == nil {
		unread = json.Unmarshal(b, &r)
	}
	if err != nil || unread != nil || !r.Completed {
		return r, fmt.Sprintf("crashes: %v, %v\n%s", err, unread, out[:min(len(out), 4000)])
	}
	return r, ""
}

// damageFolder damages a file of a data folder by chance, and says what it did.
func damageFolder(t *testing.T, r *rand.Rand, data string) string {
	t.Helper()
	path := filepath.Join(data, "sunloop.db")
	switch r.IntN(20) {
	case 0:
		path = filepath.Join(data, "sunloop.key")
	case 1, 2:
		var files []string
		err := filepath.WalkDir(filepath.Join(data, "objects"), func(name string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				files = append(files, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		path = files[r.IntN(len(files))]
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	page := min(4096, max(1, len(b)/4))
	kinds := []string{"a bit", "50 bits", "head", "truncation", "zeros", "swapped pages", "lost"}
	kind := kinds[r.IntN(len(kinds))]
	if kind == "lost" && r.IntN(4) > 0 {
		kind = "head"
	}
	switch kind {
	case "a bit":
		b[r.IntN(len(b))] ^= 1 << r.IntN(8)
	case "50 bits":
		for range 50 {
			b[r.IntN(len(b))] ^= 1 << r.IntN(8)
		}
	case "head":
		at := r.IntN(len(b)/page) * page
		b[min(at+r.IntN(64), len(b)-1)] ^= 1 << r.IntN(8)
	case "truncation":
		b = b[:r.IntN(len(b))]
	case "zeros":
		at := r.IntN(len(b)/page) * page
		clear(b[at:min(len(b), at+page<<r.IntN(5))])
	case "swapped pages":
		i, j := r.IntN(len(b)/page)*page, r.IntN(len(b)/page)*page
		one := bytes.Clone(b[i : i+page])
		copy(b[i:i+page], b[j:j+page])
		copy(b[j:j+page], one)
	case "lost":
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		return "lost " + filepath.Base(path)
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return kind + " of " + filepath.Base(path)
}

// TestDamage damages data folders by chance and runs check, serve, backup,
// restore and compact over each, in a process with bounds of time and memory.
// None may crash or hang, no answer may differ from that of the whole folder
// unless it is a refusal, and no backup that is reported good may be without
// what the whole folder has. SUNLOOP_TEST_DAMAGE is the number of folders.
func TestDamage(t *testing.T) {
	base := t.TempDir()
	data, was := unpackFolder(t, bolt.SchemaVersion)
	whole := filepath.Join(base, "whole")
	prepare := func(dir string) {
		t.Helper()
		keys, err := json.Marshal(was.Keys)
		err = errors.Join(err, os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, damageKeys), keys, 0o600), os.CopyFS(filepath.Join(dir, "data"), os.DirFS(data)))
		if err == nil {
			err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
				mode := fs.FileMode(0o600)
				if err == nil && d.IsDir() {
					mode = 0o700
				}
				return errors.Join(err, os.Chmod(path, mode))
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	prepare(whole)
	want, how := runDamaged(t, whole)
	if how != "" || want.Check+want.Serve+want.Backup+want.Restore+want.Restored+want.Compact+want.Compacted != "" || len(want.Answers) < 20 {
		t.Fatalf("the whole folder: %s %+v", how, want)
	}
	for name, answer := range want.Answers {
		if strings.HasPrefix(answer, refused) || !strings.HasSuffix(answer, "<nil> <nil>") {
			t.Fatalf("%s of the whole folder: %s", name, answer)
		}
	}
	rounds := 24
	if n, err := strconv.Atoi(os.Getenv("SUNLOOP_TEST_DAMAGE")); err == nil {
		rounds = n
	}
	counts := map[string]int{}
	var mu sync.Mutex
	count := func(what string, wrong bool, where string, more any) {
		mu.Lock()
		defer mu.Unlock()
		counts[what]++
		if wrong {
			t.Errorf("%s: %s: %v", where, what, more)
		}
	}
	work := make(chan int)
	var workers sync.WaitGroup
	for range 2 {
		workers.Go(func() {
			for round := range work {
				dir := filepath.Join(base, strconv.Itoa(round))
				prepare(dir)
				where := fmt.Sprintf("damage %d, %s", round, damageFolder(t, rand.New(rand.NewPCG(uint64(round), 16)), filepath.Join(dir, "data")))
				r, how := runDamaged(t, dir)
				judgeDamage(r, how, want, where, count)
				if err := os.RemoveAll(dir); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for round := range rounds {
		work <- round
	}
	close(work)
	workers.Wait()
	var lines []string
	for what, n := range counts {
		lines = append(lines, fmt.Sprintf("%s %d", what, n))
	}
	slices.Sort(lines)
	t.Logf("%d damages: %s", rounds, strings.Join(lines, ", "))
}

// judgeDamage counts the effects of a damage.
func judgeDamage(r damageReport, how string, want damageReport, where string, count func(what string, wrong bool, where string, more any)) {
	switch {
	case how == "hangs":
		count("hangs", true, where, how)
		return
	case how != "":
		count("crashes", true, where, how)
		return
	}
	harmed := false
	compare := func(what string, got, want map[string]string) {
		for name, answer := range got {
			switch {
			case strings.HasPrefix(answer, refused):
				harmed = true
				count("answers refused", false, where, nil)
			case answer != want[name]:
				count(what, true, where, name)
			}
		}
	}
	compare("wrong answers served", r.Answers, want.Answers)
	if r.Serve != "" {
		harmed = true
		count("services refused", false, where, nil)
	}
	if r.Check != "" {
		count("damages found by check", false, where, nil)
	} else if harmed {
		count("damages not found by check", true, where, r.Serve)
	}
	switch {
	case r.Backup != "":
		count("backups refused", false, where, nil)
	case r.Restore+r.Restored != "":
		count("damaged backups reported good", true, where, r.Restore+r.Restored)
	default:
		harmed = false
		compare("damaged backups reported good", r.Answers2, want.Answers2)
		if harmed {
			count("damaged backups reported good", true, where, "it refuses answers")
		}
	}
	if r.Compact == "" && r.Compacted != "" {
		count("damaged files made by compact", true, where, r.Compacted)
	}
}

// TestNewServiceIsRefusedNextToRemains: a folder whose database is gone does not start
// empty, and so offers no setup, unless that is asked for.
func TestNewServiceIsRefusedNextToRemains(t *testing.T) {
	for _, left := range []string{"objects", "sunloop.key", "outbox", "sunloop.db.compact"} {
		data, _ := unpackFolder(t, bolt.SchemaVersion)
		for _, name := range []string{"objects", "sunloop.key", "outbox", "sunloop.db.compact"} {
			if name != left {
				if err := os.RemoveAll(filepath.Join(data, name)); err != nil {
					t.Fatal(err)
				}
			}
		}
		path := filepath.Join(data, "sunloop.db")
		if left == "sunloop.db.compact" {
			if err := os.Rename(path, filepath.Join(data, left)); err != nil {
				t.Fatal(err)
			}
		} else if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if left == "outbox" {
			if err := errors.Join(os.MkdirAll(filepath.Join(data, left), 0o700), os.WriteFile(filepath.Join(data, left, "a.eml"), nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		}
		before := state(t, data)
		_, err := New(lookConfig(data))
		if !errors.Is(err, check.ErrRemains) || !strings.Contains(err.Error(), left) || !strings.Contains(err.Error(), "--new") {
			t.Errorf("%s: %v", left, err)
		}
		if state(t, data) != before {
			t.Errorf("%s: the folder was changed", left)
		}
		cfg := lookConfig(data)
		cfg.New = true
		s, err := New(cfg)
		if err != nil {
			t.Errorf("%s: asked for a new one: %v", left, err)
			continue
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestBackupRefusesDamage: no backup is made of a copy that is not whole, nor of
// objects that are not what their records say, nor with a key that opens nothing.
func TestBackupRefusesDamage(t *testing.T) {
	flip := func(path string, at int) error {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		b[at%len(b)] ^= 1
		return os.WriteFile(path, b, 0o600)
	}
	anObject := func(data string, do func(path string) error) error {
		return filepath.WalkDir(filepath.Join(data, "objects", "historical"), func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() {
				return errors.Join(do(path), fs.SkipAll)
			}
			return err
		})
	}
	for name, damage := range map[string]func(data string) error{
		"row": func(data string) error {
			b, err := os.ReadFile(filepath.Join(data, "sunloop.db"))
			if err != nil {
				return err
			}
			return flip(filepath.Join(data, "sunloop.db"), bytes.Index(b, []byte(`"upload_id":"`))+14)
		},
		"object":      func(data string) error { return anObject(data, func(path string) error { return flip(path, 50) }) },
		"object gone": func(data string) error { return anObject(data, os.Remove) },
		"key":         func(data string) error { return flip(filepath.Join(data, "sunloop.key"), 5) },
		"no key":      func(data string) error { return os.Remove(filepath.Join(data, "sunloop.key")) },
	} {
		data, _ := unpackFolder(t, bolt.SchemaVersion)
		s, err := New(lookConfig(data)) // a service that runs while it happens
		if err != nil {
			t.Fatal(err)
		}
		if err := damage(data); err != nil && !errors.Is(err, fs.SkipAll) {
			t.Fatalf("%s: %v", name, err)
		}
		var b bytes.Buffer
		if _, err := s.Admin().Backup(t.Context(), &b); err == nil || b.Len() > 0 {
			t.Errorf("%s: %d bytes of a backup, %v", name, b.Len(), err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestMissingKeyIsNotReplaced: a new key would open none of the secrets.
func TestMissingKeyIsNotReplaced(t *testing.T) {
	data, _ := unpackFolder(t, bolt.SchemaVersion)
	key := filepath.Join(data, "sunloop.key")
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	if _, err := New(lookConfig(data)); err == nil || !strings.Contains(err.Error(), "sunloop.key is missing") {
		t.Errorf("without its key: %v", err)
	}
	if _, err := os.Stat(key); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a key was made: %v", err)
	}
}
