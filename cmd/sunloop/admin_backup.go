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

	"github.com/alecthomas/kong"
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
func (c *BackupCmd) Run(ctx context.Context, k *kong.Context, g *Globals, std streams) error {
	if !c.Encrypt && givenFlags(k)["passphrase-file"] {
		return wrong("--passphrase-file: requires --encrypt")
	}
	passphrase := ""
	if c.Encrypt {
		var err error
		if passphrase, err = newPassphrase(std, c.PassphraseFile); err != nil {
			return err
		}
	}
	if c.File == "-" {
		if out, ok := fileOf(std.out); ok && term.IsTerminal(int(out.Fd())) {
			return errors.New("standard output is a terminal: name a file, or redirect the backup to one")
		}
		_, err := c.write(ctx, g, below(std.out), passphrase)
		return err
	}
	// Without a name until it is whole and on the disk.
	f, err := createFile(c.File)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("create backup %s: the file exists; remove it, or name another one", c.File)
	}
	if err != nil {
		return fmt.Errorf("create backup %s: %w", c.File, err)
	}
	done, err := c.write(ctx, g, f, passphrase)
	if err == nil {
		err = verifyBackup(ctx, f, passphrase)
	}
	if err != nil {
		return errors.Join(err, f.discard())
	}
	if err := f.commit(); err != nil {
		return fmt.Errorf("complete backup %s: %w", c.File, err)
	}
	info, err := os.Stat(c.File)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "Backup %s created and verified: %s, %s; size of the backup %s.\n", c.File, display.CountOf(done.Files, "file", "files"), display.Bytes(done.Bytes), display.Bytes(info.Size()))
	if strings.HasPrefix(g.Objects, "s3://") {
		fmt.Fprintln(std.out, "The objects of the bucket are not included: use its versioning or replication.")
	}
	return nil
}

// verifyBackup reads a backup that was written, from its first byte to its last.
func verifyBackup(ctx context.Context, f *newFile, passphrase string) error {
	size, err := f.Seek(0, io.SeekEnd)
	if err = errors.Join(err, f.Sync()); err != nil {
		return fmt.Errorf("write backup: %w", err)
	}
	var words func() (string, error)
	if passphrase != "" {
		words = func() (string, error) { return passphrase, nil }
	}
	if _, err := backup.Verify(ctx, io.NewSectionReader(f, 0, size), words); err != nil {
		return fmt.Errorf("verify backup: %w", err)
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
		return socket.Backup{}, fmt.Errorf("no data folder to back up in %s: %w", g.Data, err)
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
	in, passphrase := std.in, func() (string, error) {
		words, err := askPassword(std, "Passphrase of the backup: ")
		if errors.Is(err, io.EOF) {
			return "", errors.New("the backup is encrypted; give its passphrase with --passphrase-file, or on standard input")
		}
		return words, err
	}
	if c.File == "-" && c.PassphraseFile == "" {
		passphrase = nil // standard input is the backup itself
	}
	if c.PassphraseFile != "" {
		passphrase = func() (string, error) { return passphraseIn(c.PassphraseFile) }
	}
	if c.File != "-" {
		f, err := os.Open(c.File) // also a pipe
		if err != nil {
			return fmt.Errorf("open backup: %w", err)
		}
		defer f.Close()
		in = f
	}
	if g.Store != "" {
		m, err := admin.RestoreReplica(ctx, in, g.embedded().Paths(), postgres.Options{Now: time.Now, URLFile: g.StoreFile}, passphrase, c.PassphraseFile != "")
		if err != nil {
			return c.failed(err)
		}
		fmt.Fprintf(std.out, "Database restored from the backup of %s: %s, %s.\n", m.MadeAt.Format(time.RFC3339), display.CountOf(len(m.Parts), "file", "files"), display.Bytes(m.Size()))
		return nil
	}
	m, err := admin.Restore(ctx, in, g.Data, passphrase, c.PassphraseFile != "")
	if err != nil {
		return c.failed(err)
	}
	fmt.Fprintf(std.out, "Data folder %s restored from the backup of %s and verified: %s, %s.\n", g.Data, m.MadeAt.Format(time.RFC3339), display.CountOf(len(m.Parts), "file", "files"), display.Bytes(m.Size()))
	// Faults that the folder had before the backup are reported; the restored data are still useful.
	found, err := check.Folder(ctx, check.Paths{DataDir: g.Data})
	if n := len(found.Faults); n > 0 {
		fmt.Fprintf(std.err, "sunloop: the backup has %s of its folder, or files of unfinished uploads; sunloop admin check lists them\n", display.CountOf(n, "fault", "faults"))
	}
	return err
}

// failed returns the error of a restore with the name of the backup.
func (c *RestoreCmd) failed(err error) error {
	if c.File == "-" {
		return fmt.Errorf("restore from standard input: %w", err)
	}
	return fmt.Errorf("restore %s: %w", c.File, err)
}

// CompactCmd rewrites the database without its free pages.
type CompactCmd struct{}

// Run compacts the database of a folder that no process uses.
func (CompactCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if g.Store != "" {
		return errors.New("compact is for the database file of a data folder; PostgreSQL frees space by autovacuum")
	}
	before, after, err := bolt.Compact(ctx, g.Data)
	if errors.Is(err, store.ErrLocked) {
		return fmt.Errorf("%w; stop that process first", err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(std.out, "%s compacted from %s to %s.\n", filepath.Join(g.Data, backup.Database), display.Bytes(before), display.Bytes(after))
	return nil
}

// minPassphrase is the fewest characters that a guess must find.
const minPassphrase = 12

// newPassphrase is the passphrase in the file, or one that is typed twice.
func newPassphrase(std streams, file string) (words string, err error) {
	if file != "" {
		words, err = passphraseIn(file)
	} else {
		words, err = askPassword(std, "Passphrase of the backup: ")
	}
	if err != nil {
		return "", err
	}
	if len([]rune(words)) < minPassphrase {
		return "", fmt.Errorf("passphrase: at least %d characters are required", minPassphrase)
	}
	if file != "" || !term.IsTerminal(int(std.in.Fd())) {
		return words, nil
	}
	again, err := askPassword(std, "Repeat the passphrase: ")
	if err == nil && again != words {
		err = errors.New("the two passphrases differ")
	}
	return words, err
}

// passphraseIn is the first line of a file.
func passphraseIn(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("read passphrase: %w", err)
	}
	defer f.Close()
	line, err := bufio.NewReader(io.LimitReader(f, 4096)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read passphrase: %w", err)
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", fmt.Errorf("read passphrase: the first line of %s is empty", file)
	}
	return line, nil
}
