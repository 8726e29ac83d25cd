//go:build !gateway

package postgres

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// maxURLFile is the size of the largest file of a URL, in bytes.
const maxURLFile = 16 << 10

// ReadURL returns the URL of a database that a file holds, without the spaces
// and line breaks around it.
func ReadURL(file string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("read the database's URL: %w", err)
	}
	if info.Size() > maxURLFile {
		return "", fmt.Errorf("read the database's URL: %s has more than %d bytes", file, maxURLFile)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the database's URL: %w", err)
	}
	url := strings.TrimSpace(string(b))
	if CheckURL(url) != nil {
		return "", fmt.Errorf("read the database's URL: %s: %w", file, errURL)
	}
	return url, nil
}

// readCredentials reads user, password and certificates of a new connection
// again: from the file of the URL, the password file, and the files of keys and
// certificates that the URL names. Host and database stay as they were at the
// start. What cannot be read, or names other hosts, changes nothing.
func readCredentials(c *pgx.ConnConfig, url, file string) {
	if file != "" {
		again, err := ReadURL(file)
		if err != nil {
			return
		}
		url = again
	}
	again, err := pgx.ParseConfig(url)
	if err != nil || !sameHosts(&again.Config, &c.Config) {
		return
	}
	c.User, c.Password, c.TLSConfig, c.Fallbacks = again.User, again.Password, again.TLSConfig, again.Fallbacks
}

func sameHosts(a, b *pgconn.Config) bool {
	if a.Host != b.Host || a.Port != b.Port || len(a.Fallbacks) != len(b.Fallbacks) {
		return false
	}
	for i, f := range a.Fallbacks {
		if g := b.Fallbacks[i]; f.Host != g.Host || f.Port != g.Port {
			return false
		}
	}
	return true
}

// refusesCredentials reports whether a connection was refused for its user,
// password or certificate.
func refusesCredentials(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && strings.HasPrefix(pg.Code, authorization)
}

// credentialPause is the time between the two tries of a connection whose
// credentials were refused: a rotation changes database and file one after the
// other.
const credentialPause = 250 * time.Millisecond
