package auth

import (
	"bytes"
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"golang.org/x/crypto/ssh"
	"golang.org/x/text/unicode/norm"
)

// sshKeyKinds are the kinds of public key that are taken.
var sshKeyKinds = []string{ssh.KeyAlgoED25519, ssh.KeyAlgoSKED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoSKECDSA256, ssh.KeyAlgoRSA}

// leastRSABits is the shortest RSA key that is taken (NIST SP 800-57: 112 bits
// of strength).
const leastRSABits = 2048

// maxSSHKeyBytes is the longest line of a public key; one of 16384 bits of RSA
// has 2.8 kB.
const maxSSHKeyBytes = 8 << 10

// maxSSHCommentRunes is how much of a key's comment is kept.
const maxSSHCommentRunes = 80

// SSHKey is a public key of a user.
type SSHKey struct {
	Line        string // kind, key and comment, as in a .pub file
	Comment     string
	Fingerprint string // SHA256:…, as ssh-keygen -l prints it
}

// ParseSSHKey reads a public key in the format of a .pub file. The error is
// a refusal of the field ssh_public_keys.
func ParseSSHKey(line string) (SSHKey, error) {
	wrong := func(why string) (SSHKey, error) { return SSHKey{}, api.InvalidField(api.FieldSSHKeys, why) }
	line = strings.TrimSpace(line)
	switch {
	case strings.HasPrefix(line, "-----BEGIN") && strings.Contains(line, "PRIVATE KEY"):
		return wrong("that is a private key; the public one is in the .pub file")
	case len(line) > maxSSHKeyBytes || strings.ContainsAny(line, "\r\n"):
		return wrong("each is one line, as in a .pub file")
	}
	key, comment, options, _, err := ssh.ParseAuthorizedKey([]byte(line))
	switch {
	case err != nil:
		return wrong("each is a public key, as in a .pub file")
	case len(options) > 0:
		return wrong("options before a key would not be obeyed")
	case !slices.Contains(sshKeyKinds, key.Type()):
		return wrong("keys are Ed25519, ECDSA or RSA, not " + key.Type())
	}
	if c, ok := key.(ssh.CryptoPublicKey); ok {
		if r, ok := c.CryptoPublicKey().(*rsa.PublicKey); ok && r.N.BitLen() < leastRSABits {
			return wrong(fmt.Sprintf("RSA keys have %d bits or more, not %d", leastRSABits, r.N.BitLen()))
		}
	}
	comment = cleanComment(comment)
	plain := strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
	return SSHKey{Line: strings.TrimSpace(plain + " " + comment), Comment: comment, Fingerprint: ssh.FingerprintSHA256(key)}, nil
}

// cleanComment is a comment that may be shown anywhere.
func cleanComment(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) {
			return ' '
		}
		return r
	}, norm.NFC.String(text))
	runes := []rune(strings.Join(strings.Fields(text), " "))
	return strings.TrimSpace(string(runes[:min(len(runes), maxSSHCommentRunes)]))
}

// cleanSSHKeys are the keys as they are stored: each once, none for nil.
func cleanSSHKeys(lines []string) ([]string, error) {
	if len(lines) > api.MaxSSHKeys {
		return nil, api.InvalidField(api.FieldSSHKeys, fmt.Sprintf("a user has at most %d keys", api.MaxSSHKeys))
	}
	var kept []string
	var seen []string
	for _, line := range lines {
		k, err := ParseSSHKey(line)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(seen, k.Fingerprint) {
			kept, seen = append(kept, k.Line), append(seen, k.Fingerprint)
		}
	}
	return kept, nil
}

// losesKey says whether a key is not among those that replace it.
func losesKey(was, is []string) bool {
	return slices.ContainsFunc(was, func(line string) bool {
		return !slices.ContainsFunc(is, func(other string) bool { return sameKey(line, other) })
	})
}

// sameKey compares kind and key, without the comments.
func sameKey(a, b string) bool {
	one, two := strings.Fields(a), strings.Fields(b)
	return len(one) > 1 && len(two) > 1 && one[0] == two[0] && one[1] == two[1]
}

// HasSSHKey says whether the public key, in SSH's wire format, is one of a user
// who may sign in.
func (s *Service) HasSSHKey(ctx context.Context, username string, key []byte) (bool, error) {
	_, err := s.keyHolder(ctx, username, key)
	if refusal := (*api.Error)(nil); errors.As(err, &refusal) {
		return false, nil
	}
	return err == nil, err
}

// LoginByKey signs in the holder of a public key of the user, in SSH's wire
// format. The caller has checked a signature by it. The key replaces only the
// password: the response is that of Login. address is where the caller is.
func (s *Service) LoginByKey(ctx context.Context, username string, key []byte, address string) (api.LoginResponse, error) {
	a, err := s.keyHolder(ctx, username, key)
	if err != nil {
		return api.LoginResponse{}, about(a.ID, err)
	}
	now := s.now()
	if a.TOTP == nil && !s.requireMFA {
		return s.admit(ctx, a, "", address, now)
	}
	return s.challenge(ctx, a, "", address, now)
}

// keyHolder is the account that has the key.
func (s *Service) keyHolder(ctx context.Context, username string, key []byte) (a account, err error) {
	if len(username) > 4*MaxUsernameRunes {
		return a, api.ErrInvalidCredential
	}
	err = s.records.View(ctx, func(tx store.Tx) (err error) {
		a, err = byName(tx, username)
		return err
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return account{}, api.ErrInvalidCredential
	case err != nil:
		return account{}, err
	case !slices.ContainsFunc(a.SSHKeys, func(line string) bool { return holds(line, key) }):
		return a, api.ErrInvalidCredential
	case a.Inactive:
		return a, api.ErrUserInactive
	}
	return a, nil
}

// holds says whether a stored line is of the key.
func holds(line string, key []byte) bool {
	k, _, _, _, err := ssh.ParseAuthorizedKey([]byte(line))
	return err == nil && bytes.Equal(k.Marshal(), key)
}
