package auth

import (
	"strings"
	"testing"
	"unicode"

	"app.sunloop/backend/api"
)

const fuzzKeyLine = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f ana@example.org"

// FuzzParseSSHKey asserts that a line which is taken becomes one that can be
// shown anywhere, carries no options and reads back as the same key.
func FuzzParseSSHKey(f *testing.F) {
	for _, line := range []string{fuzzKeyLine, "no-pty,command=\"rm\" " + fuzzKeyLine, fuzzKeyLine + "\x1b[2J\u202e", fuzzKeyLine + "\n" + fuzzKeyLine, "ssh-ed25519", "ssh-rsa AAAA",
		"-----BEGIN OPENSSH PRIVATE KEY-----", "# " + fuzzKeyLine, "\t" + fuzzKeyLine + strings.Repeat("x", 200)} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		k, err := ParseSSHKey(line)
		if err != nil {
			return
		}
		if strings.ContainsFunc(k.Line, func(r rune) bool { return !unicode.IsGraphic(r) }) || len([]rune(k.Comment)) > maxSSHCommentRunes {
			t.Fatalf("%q is kept as %q", line, k.Line)
		}
		again, err := ParseSSHKey(k.Line)
		if err != nil || again != k {
			t.Fatalf("%+v reads back as %+v, %v", k, again, err)
		}
	})
}

// FuzzKeyID asserts that an accepted API key has its canonical form: its check
// digits are right, and another letter at any position makes them wrong.
func FuzzKeyID(f *testing.F) {
	body := keyPrefix + strings.Repeat("0", keyIDLen) + strings.Repeat("a", keySecretLen)
	f.Add(body+checkOf(body), uint8(0))
	f.Add(body+"00000000", uint8(99))
	f.Add(keyPrefix, uint8(1))
	f.Fuzz(func(t *testing.T, plain string, at uint8) {
		id, ok := keyID(plain)
		if !ok {
			return
		}
		if len(plain) != keyLen || !looksLikeKey(plain) || !strings.EqualFold(id, "key_"+plain[len(keyPrefix):len(keyPrefix)+keyIDLen]) {
			t.Fatalf("%q is the key %q", plain, id)
		}
		other := []byte(plain)
		other[int(at)%keyLen] ^= 1
		if _, ok := keyID(string(other)); ok {
			t.Fatalf("%q and %q are both keys", plain, other)
		}
	})
}

// FuzzToken asserts that no text but the token that was signed is one.
func FuzzToken(f *testing.F) {
	w := newWorld(f, noMFA)
	w.user("fuzz", api.RoleOperator, "c")
	in, err := w.Login(f.Context(), "fuzz", goodPassword, "192.0.2.1")
	if err != nil {
		f.Fatal(err)
	}
	parts := strings.Split(in.Token, ".")
	f.Add(in.Token)
	f.Add(parts[0] + "." + parts[1] + ".")
	f.Add("eyJhbGciOiJub25lIiwidHlwIjoiSldUIn0." + parts[1] + ".")
	f.Add(parts[0] + ".e30." + parts[2])
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := w.parse(t.Context(), token, w.clock.now()); err == nil && token != in.Token {
			t.Fatalf("%q is taken for a token", token)
		}
	})
}
