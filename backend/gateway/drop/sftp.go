package drop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"path"
	"slices"
	"strings"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// SFTP is a folder of an SFTP server.
type SFTP struct {
	Config
	Address      string   // host:port
	User         string   //
	HostKeys     []string // fingerprints, SHA256:…; at least one
	PasswordFile string   // either this
	KeyFile      string   // or this
	Passphrase   string   // file with that of the key; empty: the key has none
	Folder       string   // empty: that in which the server begins
	Subfolders   bool
}

// Check returns an error if a configuration cannot work. It reads the files.
func (c *SFTP) Check() error {
	if err := checkAddress(c.Address); err != nil {
		return err
	}
	if c.User == "" {
		return errors.New("user: required")
	}
	if len(c.HostKeys) == 0 {
		return errors.New(`host_keys: required: the fingerprints of the server's keys as of "ssh-keygen -lf", such as ["SHA256:…"]`)
	}
	for _, k := range c.HostKeys {
		if rest, ok := strings.CutPrefix(k, "SHA256:"); !ok || len(rest) != 43 {
			return fmt.Errorf("host_keys: invalid fingerprint %q: SHA256: and 43 characters", k)
		}
	}
	if (c.PasswordFile == "") == (c.KeyFile == "") {
		return errors.New("password_file or key_file: one of them is required")
	}
	_, _, err := c.method()
	return err
}

// method is how the client signs in. secret must not appear in errors.
func (c *SFTP) method() (m ssh.AuthMethod, secret string, err error) {
	if c.PasswordFile != "" {
		secret, err = readSecret("password_file", c.PasswordFile)
		return ssh.Password(secret), secret, err
	}
	b, err := readSmall("key_file", c.KeyFile)
	if err != nil {
		return nil, "", err
	}
	var signer ssh.Signer
	if c.Passphrase == "" {
		signer, err = ssh.ParsePrivateKey(b)
	} else {
		if secret, err = readSecret("passphrase_file", c.Passphrase); err != nil {
			return nil, "", err
		}
		signer, err = ssh.ParsePrivateKeyWithPassphrase(b, []byte(secret))
	}
	if err != nil {
		return nil, secret, fmt.Errorf("key_file: %s is not a private key that can be used: %w", c.KeyFile, withoutSecret(err, secret))
	}
	return ssh.PublicKeys(signer), secret, nil
}

// NewSFTP returns the source of an SFTP server.
func NewSFTP(c SFTP, o Options) *Source {
	return newSource(KindSFTP, c.Config, &sftpPlace{SFTP: c, options: o, settler: settler{after: c.Settle}}, o)
}

// sftpPlace is a place with one connection for each scan.
type sftpPlace struct {
	SFTP
	options Options
	settler settler

	meter  *meter
	ssh    *ssh.Client
	client *sftp.Client
	stop   func() bool
}

func (p *sftpPlace) where() string {
	return "sftp://" + p.User + "@" + p.Address + "/" + strings.TrimPrefix(p.Folder, "/")
}

func (p *sftpPlace) end() {
	if p.stop != nil {
		p.stop()
	}
	if p.client != nil {
		_ = p.client.Close() // what was asked for is there
	}
	if p.ssh != nil {
		_ = p.ssh.Close()
	}
	p.client, p.ssh, p.stop = nil, nil, nil
}

// hostKeyAlgorithms are tried in turn, as a server has several keys and the fingerprint of
// one may be configured.
var hostKeyAlgorithms = [][]string{
	{ssh.KeyAlgoED25519}, {ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521}, {ssh.KeyAlgoRSASHA256, ssh.KeyAlgoRSASHA512},
}

// errHostKey is the error for a server with another key.
var errHostKey = errors.New("the server has another key")

func (p *sftpPlace) connect(ctx context.Context) error {
	method, secret, err := p.method()
	if err != nil {
		return err
	}
	var offered []string
	for _, algorithms := range hostKeyAlgorithms {
		var found string
		err = p.dial(ctx, &ssh.ClientConfig{User: p.User, Auth: []ssh.AuthMethod{method}, HostKeyAlgorithms: algorithms, Timeout: dialTimeout, ClientVersion: "SSH-2.0-Sunloop",
			HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
				if found = ssh.FingerprintSHA256(key); slices.Contains(p.HostKeys, found) {
					return nil
				}
				offered = append(offered, key.Type()+" "+found)
				return errHostKey
			}})
		var unknown *ssh.AlgorithmNegotiationError
		if err == nil || !errors.Is(err, errHostKey) && !errors.As(err, &unknown) {
			break
		}
	}
	if err != nil && len(offered) > 0 && !slices.ContainsFunc(p.HostKeys, func(k string) bool { return strings.Contains(strings.Join(offered, " "), k) }) {
		return fmt.Errorf("%w: it offers %s, which host_keys does not have", errHostKey, strings.Join(offered, ", "))
	}
	return withoutSecret(err, secret)
}

// dial makes one attempt.
func (p *sftpPlace) dial(ctx context.Context, c *ssh.ClientConfig) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.Address)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	p.meter = &meter{Conn: conn}
	p.meter.allow(0)
	abort := context.AfterFunc(ctx, func() { _ = conn.Close() })
	made, channels, requests, err := ssh.NewClientConn(p.meter, p.Address, c)
	if !abort() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		return fmt.Errorf("sign in: %w", err)
	}
	p.ssh = ssh.NewClient(made, channels, requests)
	return nil
}

func (p *sftpPlace) list(ctx context.Context) (files []file, more bool, err error) {
	if err := p.connect(ctx); err != nil {
		return nil, false, err
	}
	p.stop = context.AfterFunc(ctx, func() { _ = p.meter.Close() })
	if p.client, err = sftp.NewClient(p.ssh); err != nil {
		return nil, false, fmt.Errorf("start sftp: %w", err)
	}
	found := listing{config: &p.Config}
	var walk func(in string, depth int) error
	walk = func(in string, depth int) error {
		if depth > maxDepth {
			return fmt.Errorf("%s: folders are more than %d deep", in, maxDepth)
		}
		entries, err := p.client.ReadDirContext(ctx, p.at(in))
		if err != nil {
			return fmt.Errorf("read folder %s: %w", p.at(in), err)
		}
		for _, info := range entries {
			base := info.Name()
			name := path.Join(in, base)
			switch {
			case base == "" || base == "." || base == ".." || strings.ContainsRune(base, '/'): // no name of an entry
				continue
			case info.IsDir():
				if p.Subfolders && found.enters(in, base) {
					if err := walk(name, depth+1); err != nil {
						return err
					}
				}
				continue
			case !info.Mode().IsRegular(): // links too: they are not followed
				continue
			}
			if err := found.add(name, info); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(".", 0); err != nil {
		return nil, false, err
	}
	return found.settled(&p.settler, p.options.Now()), false, found.unusable.err()
}

// at is the path of a name on the server.
func (p *sftpPlace) at(name string) string {
	if p.Folder == "" {
		return name
	}
	return path.Join(p.Folder, name)
}

func (p *sftpPlace) open(_ context.Context, f file) (io.ReadCloser, error) {
	p.meter.allow(f.size)
	if err := f.check(p.client.Lstat(p.at(f.name))); err != nil {
		return nil, err
	}
	r, err := p.client.Open(p.at(f.name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errGone
	}
	if err != nil {
		return nil, fmt.Errorf("open file: %w", err)
	}
	return &atEnd{r, func() error { return f.check(r.Stat()) }}, nil
}

func (p *sftpPlace) move(_ context.Context, f file, hash string, failed bool) error {
	p.meter.allow(0)
	if err := f.check(p.client.Lstat(p.at(f.name))); err != nil {
		return err
	}
	to := movedTo(f.name, hash, failed, func(name string) bool {
		_, err := p.client.Lstat(p.at(name))
		return err == nil
	})
	if err := p.client.MkdirAll(path.Dir(p.at(to))); err != nil {
		return fmt.Errorf("move file: make folder %s: %w", path.Dir(p.at(to)), err)
	}
	err := p.client.Rename(p.at(f.name), p.at(to))
	if err != nil { // the name may be that of an equal file, which a rename of SFTP does not replace
		err = p.client.PosixRename(p.at(f.name), p.at(to))
	}
	if err != nil {
		return fmt.Errorf("move file to %s: %w", p.at(to), err)
	}
	return nil
}

func (p *sftpPlace) delivered(context.Context) error { return nil }
