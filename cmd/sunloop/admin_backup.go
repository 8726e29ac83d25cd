package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/term"

	"app.sunloop/backend"
	"app.sunloop/backend/admin"
	"app.sunloop/backend/admin/socket"
	"app.sunloop/backend/backup"
	"app.sunloop/backend/check"
	"app.sunloop/backend/regularfile"
	"app.sunloop/backend/store"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/postgres"
	"app.sunloop/internal/clock"
	"app.sunloop/internal/display"
)

// BackupCmd puts the data folder into one file.
type BackupCmd struct {
	File           string `arg:"" help:"File to create; - for standard output. It contains all secrets of the service: protect it like the data folder."`
	Encrypt        bool   `help:"Encrypt with a passphrase (age), which is prompted for."`
	PassphraseFile string `placeholder:"FILE" env:"SUNLOOP_PASSPHRASE_FILE" help:"File whose first line is the passphrase; requires --encrypt." type:"path"`
}

// Run makes the backup, of a running service or of a folder that no process uses.
func (c *BackupCmd) Run(ctx context.Context, g *Globals, std streams) error {
	passphrase := ""
	if c.Encrypt {
		var err error
		if passphrase, err = newPassphrase(std, c.PassphraseFile); err != nil {
			return err
		}
	}
	if c.File == "-" {
		if out, ok := fileOf(std.out); ok && term.IsTerminal(int(out.Fd())) {
			return errors.New("a backup is not for a terminal: name a file, or lead standard output into one")
		}
		_, err := c.write(ctx, g, below(std.out), passphrase)
		return err
	}
	// Without a name until it is whole and on the disk.
	f, err := createFile(c.File)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already: remove it, or name another file", c.File)
	}
	if err != nil {
		return fmt.Errorf("make the backup: %w", err)
	}
	done, err := c.write(ctx, g, f, passphrase)
	if err == nil {
		err = verifyBackup(ctx, f, passphrase)
	}
	if err != nil {
		return errors.Join(err, f.discard())
	}
	if err := f.commit(); err != nil {
		return fmt.Errorf("name the backup: %w", err)
	}
	info, err := os.Stat(c.File)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "%s holds %s of %s in %s\n", c.File, display.CountOf(done.Files, "file", "files"), display.Bytes(done.Bytes), display.Bytes(info.Size()))
	if strings.HasPrefix(g.Objects, "s3://") {
		fmt.Fprintln(std.out, "Objects are not included: use versioning or replication of their bucket.")
	}
	return nil
}

// verifyBackup reads a backup that was written, from its first byte to its last.
func verifyBackup(ctx context.Context, f *newFile, passphrase string) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err = errors.Join(err, f.Sync()); err != nil {
		return fmt.Errorf("write the backup: %w", err)
	}
	var words func() (string, error)
	if passphrase != "" {
		words = func() (string, error) { return passphrase, nil }
	}
	if _, err := backup.Verify(ctx, io.NewSectionReader(f, 0, size), words); err != nil {
		return fmt.Errorf("verify the backup that was written: %w", err)
	}
	return nil
}

// write writes the backup, encrypted where there is a passphrase.
func (c *BackupCmd) write(ctx context.Context, g *Globals, w io.Writer, passphrase string) (done socket.Backup, err error) {
	if passphrase == "" {
		return backupTo(ctx, g, w)
	}
	e, err := backup.Encrypt(w, passphrase)
	if err != nil {
		return done, err
	}
	if done, err = backupTo(ctx, g, e); err != nil {
		return done, err // without its end it cannot be taken for whole
	}
	return done, e.Close()
}

// takeOver is how long a process that has the folder may take to listen.
const takeOver = 3 * time.Second

// backupTo asks the process that holds the data folder, or opens it.
func backupTo(ctx context.Context, g *Globals, w io.Writer) (socket.Backup, error) {
	if g.Store != "" {
		var done socket.Backup
		err := withDataFolder(g, func(s *backend.Service) (err error) {
			done, err = s.Admin().Backup(ctx, w)
			return err
		})
		return done, err
	}
	if err := regularfile.Check(filepath.Join(g.Data, backup.Database)); err != nil {
		return socket.Backup{}, fmt.Errorf("there is no data folder to back up: %w", err)
	}
	for waited := time.Duration(0); ; waited += takeOver / 30 {
		done, err := socket.Fetch(ctx, g.Data, w)
		if !errors.Is(err, socket.ErrNoProcess) {
			return done, err
		}
		err = withDataFolder(g, func(s *backend.Service) (err error) {
			done, err = s.Admin().Backup(ctx, w)
			return err
		})
		if !errors.Is(err, store.ErrLocked) || waited >= takeOver {
			return done, err
		}
		if err := clock.Sleep(ctx, takeOver/30); err != nil {
			return done, err
		}
	}
}

// RestoreCmd makes a data folder from a backup.
type RestoreCmd struct {
	File           string `arg:"" help:"Backup file; - for standard input."`
	PassphraseFile string `placeholder:"FILE" env:"SUNLOOP_PASSPHRASE_FILE" help:"File whose first line is the passphrase of an encrypted backup (prompted for). An unencrypted backup is then an error." type:"path"`
}

// Run restores into --data, which must be a new folder or an empty one.
func (c *RestoreCmd) Run(ctx context.Context, g *Globals, std streams) error {
	in, passphrase := std.in, func() (string, error) { return askPassword(std, "Passphrase of the backup: ") }
	if c.File == "-" && c.PassphraseFile == "" {
		passphrase = nil // standard input is the backup itself
	}
	if c.PassphraseFile != "" {
		passphrase = func() (string, error) { return passphraseIn(c.PassphraseFile) }
	}
	if c.File != "-" {
		f, err := os.Open(c.File) // also a pipe
		if err != nil {
			return fmt.Errorf("read the backup: %w", err)
		}
		defer f.Close()
		in = f
	}
	if g.Store != "" {
		m, err := admin.RestoreReplica(ctx, in, g.embedded().Paths(), postgres.Options{Now: time.Now, URLFile: g.StoreFile}, passphrase, c.PassphraseFile != "")
		if err != nil {
			return err
		}
		fmt.Fprintf(std.out, "the database is restored: %s of %s, as they were at %s\n", display.CountOf(len(m.Parts), "file", "files"), display.Bytes(m.Size()), m.MadeAt.Format(time.RFC3339))
		return nil
	}
	m, err := admin.Restore(ctx, in, g.Data, passphrase, c.PassphraseFile != "")
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "%s is restored: %s of %s, as they were at %s, checked\n", g.Data, display.CountOf(len(m.Parts), "file", "files"), display.Bytes(m.Size()), m.MadeAt.Format(time.RFC3339))
	// What the folder itself lacked when it was copied is said, and no reason to have nothing.
	found, err := check.Folder(ctx, check.Paths{DataDir: g.Data})
	if n := len(found.Faults); n > 0 {
		fmt.Fprintf(std.err, "the folder had %s when it was copied, or files of unfinished uploads: sunloop admin check lists them\n", display.CountOf(n, "fault", "faults"))
	}
	return err
}

// CompactCmd rewrites the database without its free pages.
type CompactCmd struct{}

// Run compacts the database of a folder that no process uses.
func (CompactCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if g.Store != "" {
		return errors.New("compact is for the file of a data folder: a PostgreSQL server gives room back by itself, with autovacuum")
	}
	before, after, err := bolt.Compact(ctx, g.Data)
	if errors.Is(err, store.ErrLocked) {
		return fmt.Errorf("%w; compaction needs exclusive access: stop that process first", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "%s took %s and takes %s\n", filepath.Join(g.Data, backup.Database), display.Bytes(before), display.Bytes(after))
	return nil
}

// minPassphrase is the fewest characters that a guess must find.
const minPassphrase = 12

// newPassphrase is the passphrase in the file, or one that is typed twice.
func newPassphrase(std streams, file string) (words string, err error) {
	if file != "" {
		words, err = passphraseIn(file)
	} else {
		words, err = askPassword(std, "Passphrase for the backup: ")
	}
	if err != nil {
		return "", err
	}
	if len([]rune(words)) < minPassphrase {
		return "", fmt.Errorf("the passphrase of a backup has at least %d characters", minPassphrase)
	}
	if file != "" || !term.IsTerminal(int(std.in.Fd())) {
		return words, nil
	}
	again, err := askPassword(std, "Once more: ")
	if err == nil && again != words {
		err = errors.New("the two passphrases differ")
	}
	return words, err
}

// passphraseIn is the first line of a file.
func passphraseIn(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("read the passphrase: %w", err)
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the passphrase: %w", err)
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", fmt.Errorf("the first line of %s is empty, and should be the passphrase", file)
	}
	return line, nil
}
