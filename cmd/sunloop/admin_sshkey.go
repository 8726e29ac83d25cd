package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// SSHKeyCmd manages the public keys of users.
type SSHKeyCmd struct {
	Add    SSHKeyAddCmd    `cmd:"" help:"Add a public key of a user."`
	List   SSHKeyListCmd   `cmd:"" help:"List a user's public keys."`
	Remove SSHKeyRemoveCmd `cmd:"" help:"Remove a public key; the user's sessions end."`
}

// publicKey reads the one key of a file, or of the standard input.
func publicKey(std streams, file string) (auth.SSHKey, error) {
	from := io.Reader(std.in)
	if file != "" {
		f, err := os.Open(file)
		if err != nil {
			return auth.SSHKey{}, fmt.Errorf("read public key: %w", err)
		}
		defer f.Close()
		from = f
	}
	b, err := io.ReadAll(io.LimitReader(from, 64<<10))
	if err != nil {
		return auth.SSHKey{}, fmt.Errorf("read public key: %w", err)
	}
	k, err := auth.ParseSSHKey(string(b))
	return k, clientError(err)
}

// keysOf are the keys of a user, as the operator of the machine sees them.
func keysOf(ctx context.Context, m auth.Administrator, name string) ([]auth.SSHKey, error) {
	u, err := m.User(ctx, auth.UserRef{Username: name})
	if err != nil {
		return nil, &subject{"user " + name, err}
	}
	keys := make([]auth.SSHKey, len(u.SSHKeys))
	for i, line := range u.SSHKeys {
		if keys[i], err = auth.ParseSSHKey(line); err != nil {
			return nil, err
		}
	}
	return keys, nil
}

// changeKeys replaces the keys of a user.
func changeKeys(ctx context.Context, g *Globals, name string, change func([]auth.SSHKey) ([]auth.SSHKey, error)) error {
	return administer(ctx, g, "users", api.ActionSet, func(m auth.Administrator, r *api.AuditRecord) error {
		keys, err := keysOf(ctx, m, name)
		if err != nil {
			return err
		}
		if keys, err = change(keys); err != nil {
			return err
		}
		lines := make([]string, len(keys)) // never nil: no key is a change too
		for i, k := range keys {
			lines[i] = k.Line
		}
		before, after, err := m.ChangeUser(ctx, auth.UserRef{Username: name}, auth.UserChange{SSHKeys: lines})
		if err != nil {
			return &subject{"user " + name, err}
		}
		noteUser(r, after)
		r.Before, r.After = before.Record(), after.Record()
		return nil
	})
}

// SSHKeyAddCmd adds a key.
type SSHKeyAddCmd struct {
	Name string `arg:"" help:"Username."`
	File string `arg:"" optional:"" help:"Public key file, for example ~/.ssh/id_ed25519.pub (standard input)." type:"path"`
}

// Run adds the key.
func (c *SSHKeyAddCmd) Run(ctx context.Context, g *Globals, std streams) error {
	k, err := publicKey(std, c.File)
	if err != nil {
		return err
	}
	there := false
	err = changeKeys(ctx, g, c.Name, func(keys []auth.SSHKey) ([]auth.SSHKey, error) {
		there = slices.ContainsFunc(keys, func(other auth.SSHKey) bool { return other.Fingerprint == k.Fingerprint })
		return append(keys, k), nil
	})
	switch {
	case err != nil:
		return err
	case there:
		fmt.Fprintf(std.out, "User %s already has the key %s.\n", c.Name, k.Fingerprint)
	default:
		fmt.Fprintf(std.out, "User %s can sign in over SSH with the key %s.\n", c.Name, k.Fingerprint)
	}
	return nil
}

// SSHKeyListCmd lists keys.
type SSHKeyListCmd struct {
	Name string `arg:"" help:"Username."`
}

// Run lists the keys.
func (c *SSHKeyListCmd) Run(ctx context.Context, g *Globals, std streams) error {
	return readDataFolder(g, func(s *backend.Service) error {
		keys, err := keysOf(ctx, s.Auth().As(api.Unlimited(commandLine)), c.Name)
		for _, k := range keys {
			kind, _, _ := strings.Cut(k.Line, " ")
			fmt.Fprintf(std.out, "%-50s %-12s %s\n", k.Fingerprint, kind, k.Comment)
		}
		return clientError(err)
	})
}

// SSHKeyRemoveCmd removes a key.
type SSHKeyRemoveCmd struct {
	Name        string `arg:"" help:"Username."`
	File        string `arg:"" optional:"" help:"Public key file (standard input)." type:"path"`
	Fingerprint string `placeholder:"SHA256:…" help:"Fingerprint of the key, as shown by the list, instead of a file."`
}

// Run removes the key.
func (c *SSHKeyRemoveCmd) Run(ctx context.Context, g *Globals, std streams) error {
	fingerprint := c.Fingerprint
	switch {
	case fingerprint != "" && c.File != "":
		return wrong("give the file of the key or --fingerprint, not both")
	case fingerprint == "":
		k, err := publicKey(std, c.File)
		if err != nil {
			return err
		}
		fingerprint = k.Fingerprint
	}
	err := changeKeys(ctx, g, c.Name, func(keys []auth.SSHKey) ([]auth.SSHKey, error) {
		left := slices.DeleteFunc(slices.Clone(keys), func(k auth.SSHKey) bool { return k.Fingerprint == fingerprint })
		if len(left) == len(keys) {
			return nil, fmt.Errorf("user %s has no key %s; sunloop admin user ssh-key list %s shows the keys", c.Name, fingerprint, c.Name)
		}
		return left, nil
	})
	if err == nil {
		fmt.Fprintf(std.out, "Key %s of user %s removed; the sessions of the user ended.\n", fingerprint, c.Name)
	}
	return err
}
