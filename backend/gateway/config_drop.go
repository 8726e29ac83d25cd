package gateway

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/gateway/drop"
)

// FileSource is what all sources of files have.
type FileSource struct {
	Name     string   `toml:"name"`              // unique in the file; the files that were read belong to it
	Pattern  []string `toml:"pattern,omitempty"` // of the names of files; all of the kind
	Poll     Duration `toml:"poll,omitempty"`    // 10 s for a folder, 5 min for a server
	History  bool     `toml:"history,omitempty"` // files are a history, after which the site is trained; otherwise recent data
	Asset    string   `toml:"asset,omitempty"`   // unit of files that name none
	Timezone string   `toml:"timezone,omitempty"`
}

// Folder is a folder of the machine.
type Folder struct {
	FileSource
	Path       string   `toml:"path"`
	Subfolders bool     `toml:"subfolders,omitempty"`
	Settle     Duration `toml:"settle,omitempty"` // 10 s
	After      string   `toml:"after,omitempty"`  // move or keep; move
}

// SFTP is a folder of an SFTP server; see [drop.SFTP].
type SFTP struct {
	FileSource
	Address        string   `toml:"address"`
	User           string   `toml:"user"`
	HostKeys       []string `toml:"host_keys"`
	PasswordFile   string   `toml:"password_file,omitempty"`
	KeyFile        string   `toml:"key_file,omitempty"`
	PassphraseFile string   `toml:"passphrase_file,omitempty"`
	Path           string   `toml:"path,omitempty"`
	Subfolders     bool     `toml:"subfolders,omitempty"`
	Settle         Duration `toml:"settle,omitempty"` // 30 s
	After          string   `toml:"after,omitempty"`  // move or keep; keep
}

// IMAP is a mailbox; see [drop.IMAP].
type IMAP struct {
	FileSource
	Address      string   `toml:"address"`
	User         string   `toml:"user"`
	PasswordFile string   `toml:"password_file"`
	CAFile       string   `toml:"ca_file,omitempty"`
	Mailbox      string   `toml:"mailbox,omitempty"` // INBOX
	Senders      []string `toml:"senders,omitempty"` // all
	OncePerID    bool     `toml:"once_per_message_id,omitempty"`
}

// What is done with a file that was read.
const (
	afterMove = "move"
	afterKeep = "keep"
)

// hasDrops reports whether the file has sources of files.
func (c *Config) hasDrops() bool { return len(c.Folders)+len(c.SFTP)+len(c.IMAP) > 0 }

// config returns what all kinds have, with the defaults of a kind.
func (f *FileSource) config(site Site, poll, settle time.Duration, move bool) drop.Config {
	c := drop.Config{Name: f.Name, Patterns: f.Pattern, Poll: time.Duration(f.Poll), Settle: settle, Move: move,
		Request: api.UploadRequest{Kind: api.UploadNowcast, AssetID: f.Asset, Timezone: f.Timezone}}
	if c.Poll == 0 {
		c.Poll = poll
	}
	if f.History {
		c.Request.Kind = api.UploadTrain
	}
	if c.Request.Timezone == "" && site.Timezone != "UTC" { // which is also the default: the import takes the zone of the site
		c.Request.Timezone = site.Timezone
	}
	if site.Latitude != nil && site.Longitude != nil {
		c.Request.Location = fmt.Sprintf("%g,%g", *site.Latitude, *site.Longitude)
	}
	return c
}

func orDefault(d Duration, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return time.Duration(d)
}

func (f *Folder) source(site Site) drop.Folder {
	return drop.Folder{Config: f.config(site, 10*time.Second, orDefault(f.Settle, 10*time.Second), f.After != afterKeep), Path: f.Path, Subfolders: f.Subfolders}
}

func (f *SFTP) source(site Site) drop.SFTP {
	return drop.SFTP{Config: f.config(site, 5*time.Minute, orDefault(f.Settle, 30*time.Second), f.After == afterMove), Address: f.Address, User: f.User, HostKeys: f.HostKeys,
		PasswordFile: f.PasswordFile, KeyFile: f.KeyFile, Passphrase: f.PassphraseFile, Folder: f.Path, Subfolders: f.Subfolders}
}

func (f *IMAP) source(site Site) drop.IMAP {
	return drop.IMAP{Config: f.config(site, 5*time.Minute, 0, false), Address: f.Address, User: f.User, PasswordFile: f.PasswordFile, CAFile: f.CAFile, Mailbox: f.Mailbox,
		Senders: f.Senders, OncePerID: f.OncePerID}
}

// drops returns the sources of files.
func (c *Config) drops(o drop.Options) (out []*drop.Source) {
	for i := range c.Folders {
		out = append(out, drop.NewFolder(c.Folders[i].source(c.Site), o))
	}
	for i := range c.SFTP {
		out = append(out, drop.NewSFTP(c.SFTP[i].source(c.Site), o))
	}
	for i := range c.IMAP {
		out = append(out, drop.NewIMAP(c.IMAP[i].source(c.Site), o))
	}
	return out
}

// checkDrops checks the sources of files.
func (c *Config) checkDrops() error {
	names := map[string]bool{}
	check := func(section string, f *FileSource, after string, settle Duration) error {
		switch {
		case f.Name == "":
			return fmt.Errorf("%s: name: required", section)
		case len(f.Name) > 100 || strings.ContainsFunc(f.Name, func(r rune) bool { return r < ' ' || r == 0x7f }):
			return fmt.Errorf("%s: name %q: at most 100 characters in one line", section, f.Name)
		case names[f.Name]:
			return fmt.Errorf("%s: name %q: two sources have it", section, f.Name)
		case f.Poll != 0 && (time.Duration(f.Poll) < time.Second || time.Duration(f.Poll) > 24*time.Hour):
			return fmt.Errorf("%s %s: poll: invalid value %s: from 1s to 24h", section, f.Name, time.Duration(f.Poll))
		case settle != 0 && (time.Duration(settle) < time.Second || time.Duration(settle) > time.Hour):
			return fmt.Errorf("%s %s: settle: invalid value %s: from 1s to 1h", section, f.Name, time.Duration(settle))
		case after != "" && after != afterMove && after != afterKeep:
			return fmt.Errorf("%s %s: after: invalid value %q: move or keep", section, f.Name, after)
		case len(f.Asset) > 64:
			return fmt.Errorf("%s %s: asset: at most 64 characters", section, f.Name)
		}
		names[f.Name] = true
		if _, err := time.LoadLocation(f.Timezone); err != nil {
			return fmt.Errorf("%s %s: timezone: %w", section, f.Name, err)
		}
		for _, p := range f.Pattern {
			if err := drop.CheckPattern(p); err != nil {
				return fmt.Errorf("%s %s: %w", section, f.Name, err)
			}
		}
		return nil
	}
	for i := range c.Folders {
		f := &c.Folders[i]
		if err := check("folder", &f.FileSource, f.After, f.Settle); err != nil {
			return err
		}
		if !filepath.IsAbs(f.Path) {
			return fmt.Errorf("folder %s: path %q: must be an absolute path", f.Name, f.Path)
		}
	}
	for i := range c.SFTP {
		f := &c.SFTP[i]
		if err := check("sftp", &f.FileSource, f.After, f.Settle); err != nil {
			return err
		}
		s := f.source(c.Site)
		if err := s.Check(); err != nil {
			return fmt.Errorf("sftp %s: %w", f.Name, err)
		}
	}
	for i := range c.IMAP {
		f := &c.IMAP[i]
		if err := check("imap", &f.FileSource, "", 0); err != nil {
			return err
		}
		s := f.source(c.Site)
		if err := s.Check(); err != nil {
			return fmt.Errorf("imap %s: %w", f.Name, err)
		}
	}
	return nil
}

// CheckFolders returns an error if a watched folder has files of the data folder, which
// would be moved.
func (c *Config) CheckFolders(data string) error {
	data = resolved(data)
	for _, f := range c.Folders {
		at := resolved(f.Path)
		if within(data, at) && f.Subfolders || at == data || within(at, data) {
			return fmt.Errorf("folder %s: path %s: must not be in the data folder %s, nor around it", f.Name, f.Path, data)
		}
	}
	return nil
}

// resolved is a path without links, as far as it exists.
func resolved(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if is, err := filepath.EvalSymlinks(path); err == nil {
		return is
	}
	return filepath.Clean(path)
}

// within reports whether a path is in a folder.
func within(path, folder string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && rel != "." && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
