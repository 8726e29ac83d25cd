//go:build gateway

package main

import (
	"errors"
	"strings"
)

// checkBuild returns an error if a flag, its environment variable or the
// configuration file names storage that this build does not have.
func (f StoreFlags) checkBuild() error {
	switch {
	case f.Store != "":
		return errors.New("--store: this build of Sunloop (gateway) has no PostgreSQL; use the full build, or a data folder")
	case f.StoreFile != "":
		return errors.New("--store-file: this build of Sunloop (gateway) has no PostgreSQL; use the full build, or a data folder")
	case strings.Contains(f.Objects, "://") && !strings.HasPrefix(f.Objects, "file://"):
		return errors.New("--objects: this build of Sunloop (gateway) has no S3 buckets; use the full build, or a folder")
	}
	return nil
}

// Run returns an error: there is no database to move to.
func (*MigrateCmd) Run() error {
	return errors.New("admin migrate: this build of Sunloop (gateway) has no PostgreSQL; use the full build")
}
