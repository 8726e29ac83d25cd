//go:build !windows

package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	gossh "golang.org/x/crypto/ssh"

	"app.sunloop/backend/regularfile"
)

// hostKey is the key by which clients know this machine; the first time, it is
// made.
func hostKey(dataDir string) (key gossh.Signer, path string, err error) {
	path = filepath.Join(dataDir, "ssh", "host_ed25519")
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeHostKey(path); err != nil {
			return nil, path, fmt.Errorf("make the host key for SSH: %w", err)
		}
		info, err = os.Stat(path)
	}
	if err != nil {
		return nil, path, err
	}
	if open := info.Mode().Perm() & 0o077; open != 0 {
		return nil, path, fmt.Errorf("the host key %s may be read by others (mode %04o): chmod 600 it, or remove it for a new one", path, info.Mode().Perm())
	}
	b, err := regularfile.Read(path)
	if err != nil {
		return nil, path, err
	}
	if key, err = gossh.ParsePrivateKey(b); err != nil {
		return nil, path, fmt.Errorf("the host key %s cannot be read (remove it for a new one): %w", path, err)
	}
	return key, path, nil
}

// makeHostKey writes a new key, unless another process has been faster.
func makeHostKey(path string) error {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	block, err := gossh.MarshalPrivateKey(private, "sunloop")
	if err != nil {
		return err
	}
	own := path + "." + rand.Text()
	defer os.Remove(own)
	if err := writePrivate(own, pem.EncodeToMemory(block)); err != nil {
		return err
	}
	if err := os.Link(own, path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// showHostKey prints how clients know this machine.
func showHostKey(dataDir string, std streams) error {
	key, path, err := hostKey(dataDir)
	if err != nil {
		return err
	}
	line := strings.TrimSpace(string(gossh.MarshalAuthorizedKey(key.PublicKey())))
	_, err = fmt.Fprintf(std.out, "file      %s\nsha256    %s\nkey       %s\n", path, gossh.FingerprintSHA256(key.PublicKey()), line)
	return err
}
