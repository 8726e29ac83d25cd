package main

import (
	"errors"
	"log/slog"
	"net/url"
	"time"

	"github.com/alecthomas/kong"

	"app.sunloop/backend"
	"app.sunloop/backend/store/postgres"
)

// StoreFlags say where the embedded service keeps its data, if not in its data
// folder alone.
type StoreFlags struct {
	Store     string `placeholder:"URL" env:"SUNLOOP_STORE" help:"Database of records, telemetry and jobs that replicas share [postgres://sunloop@db.example.org/sunloop] (a file in the data folder). Pass its password by PGPASSWORD, a password file (PGPASSFILE) or this variable, as others see a command line."`
	StoreFile string `placeholder:"FILE" env:"SUNLOOP_STORE_FILE" help:"File that holds the URL of the database, instead of --store. User and password in it are read again for each new connection, so that a rotation needs no restart." type:"path"`
	Objects   string `placeholder:"URL" env:"SUNLOOP_OBJECTS" help:"Storage of uploads and models that replicas share [s3://bucket/prefix] (a folder of the data folder)."`
	New       bool   `help:"Start an empty service in a data folder that has files of an earlier service but no database."`
	KeyFile   string `placeholder:"FILE" env:"SUNLOOP_KEY_FILE" help:"File of the key that encrypts secrets, the same on all replicas (sunloop.key in the data folder)." type:"path"`
}

// embedded is the configuration of a service over the data folder, or the
// database in its place.
func (g *Globals) embedded() backend.Config {
	return backend.Config{DataDir: g.Data, Store: g.Store, StoreFile: g.StoreFile, Objects: g.Objects, KeyFile: g.KeyFile, New: g.New, Now: time.Now, Wall: time.Now, Version: version}
}

// readStoreFile takes the URL of the database from --store-file.
func (f *StoreFlags) readStoreFile() error {
	switch {
	case f.StoreFile == "":
		return nil
	case f.Store != "":
		return errors.New("--store-file: --store or SUNLOOP_STORE is set too; give only one of them")
	}
	var err error
	f.Store, err = postgres.ReadURL(f.StoreFile)
	return err
}

// warnOfReplica logs what several replicas cannot share.
func (f StoreFlags) warnOfReplica(log *slog.Logger, smtp string) {
	if f.Store == "" {
		return
	}
	if f.Objects == "" {
		log.Warn("uploads and models are stored in the data folder, which is not shared with other replicas; set --objects")
	}
	if smtp == "" {
		log.Warn("no SMTP server configured; messages are written to the outbox folder")
	}
}

// withoutPassword is a URL with its passwords hidden; other text stays as it is.
func withoutPassword(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	if q := u.Query(); q.Has("password") {
		q.Set("password", "xxxxx")
		u.RawQuery = q.Encode()
	} else if u.User == nil {
		return text
	}
	return u.Redacted()
}

// errDemoStore refuses a database for the demo.
var errDemoStore = errors.New("--store, --store-file, --objects and --key-file: the demo has its own data folder; use them with the other commands")

// namesStore says whether the command line itself names a store.
func namesStore(k *kong.Context) bool {
	for _, p := range k.Path {
		if p.Flag != nil && (p.Flag.Name == "store" || p.Flag.Name == "store-file" || p.Flag.Name == "objects" || p.Flag.Name == "key-file") {
			return true
		}
	}
	return false
}
