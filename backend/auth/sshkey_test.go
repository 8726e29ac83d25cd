package auth

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/pem"
	"errors"
	"strings"
	"testing"

	"app.sunloop/backend/api"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/crypto/ssh"
)

// sshKey is a fresh Ed25519 key as a line and in wire format.
func sshKey(t *testing.T, comment string) (line string, wire []byte) {
	t.Helper()
	public, _, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return sshLine(t, public, comment)
}

func sshLine(t *testing.T, public crypto.PublicKey, comment string) (line string, wire []byte) {
	t.Helper()
	k, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(k))) + " " + comment, k.Marshal()
}

func TestSSHKeysInUse(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	long, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	short, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		t.Fatal(err)
	}
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	certificate := &ssh.Certificate{Key: signer.PublicKey(), CertType: ssh.UserCert, ValidPrincipals: []string{"ana"}}
	if err := certificate.SignCert(rand.Reader, signer); err != nil {
		t.Fatal(err)
	}
	good, wire := sshKey(t, "naledi@desk")
	fromEC, _ := sshLine(t, ec.Public(), "")
	fromLong, _ := sshLine(t, long.Public(), "gateway")
	fromShort, _ := sshLine(t, short.Public(), "old")
	for line, want := range map[string]string{
		good:     "",
		fromEC:   "",
		fromLong: "",
		"  " + strings.Replace(good, " ", "\t", 1) + "\n": "",
		fromShort:                         "RSA keys have 2048 bits or more, not 1024",
		"":                                "each is a public key, as in a .pub file",
		"ssh-ed25519 AAAA":                "each is a public key, as in a .pub file",
		good + "\n" + good:                "each is one line, as in a .pub file",
		strings.Repeat("x", 9000):         "each is one line, as in a .pub file",
		`from="192.0.2.*" ` + good:        "options before a key would not be obeyed",
		"-----BEGIN OPENSSH PRIVATE KEY":  "that is a private key; the public one is in the .pub file",
		string(pem.EncodeToMemory(block)): "that is a private key; the public one is in the .pub file",
		string(ssh.MarshalAuthorizedKey(certificate)): "keys are Ed25519, ECDSA or RSA, not ssh-ed25519-cert-v01@openssh.com",
	} {
		k, err := ParseSSHKey(line)
		got := ""
		if refusal := (*api.Error)(nil); errors.As(err, &refusal) {
			got, _ = refusal.Details["reason"].(string)
			if refusal.Details["field"] != api.FieldSSHKeys {
				t.Errorf("the refusal of %q is about %v", line, refusal.Details["field"])
			}
		}
		if got != want || (err == nil) != (want == "") {
			t.Errorf("%.60q: %v (%q), want %q", line, err, got, want)
		}
		if err == nil && !strings.HasPrefix(k.Fingerprint, "SHA256:") {
			t.Errorf("%.60q has the fingerprint %q", line, k.Fingerprint)
		}
	}
	key, err := ssh.ParsePublicKey(wire)
	if err != nil {
		t.Fatal(err)
	}
	k, err := ParseSSHKey(strings.TrimSuffix(good, "naledi@desk") + " naledi \x1b[31m at\u202e the\tdesk " + strings.Repeat("z", 200))
	if err != nil || k.Fingerprint != ssh.FingerprintSHA256(key) || !strings.HasPrefix(k.Comment, "naledi [31m at the desk zz") || len([]rune(k.Comment)) != maxSSHCommentRunes {
		t.Errorf("the comment is kept as %q (%v)", k.Comment, err)
	}
}

func TestSSHKeysOfAUser(t *testing.T) {
	w, ctx := newWorld(t, noMFA), context.Background()
	one, oneWire := sshKey(t, "one")
	two, _ := sshKey(t, "two")
	u, err := w.CreateUser(ctx, NewUser{Username: "ana", Password: goodPassword, Role: api.RoleOperator, SSHKeys: []string{one}})
	if err != nil || !cmp.Equal(u.SSHKeys, []string{one}) || !cmp.Equal(u.Record().SSHPublicKeys, []string{one}) {
		t.Fatalf("made with %v: %v", u.SSHKeys, err)
	}
	token := w.login("ana").Token
	good := func() bool { _, err := w.Authenticate(ctx, token); return err == nil }
	change := func(keys []string, want ...string) {
		t.Helper()
		if err := w.change("ana", UserChange{SSHKeys: keys}); err != nil {
			t.Fatal(err)
		}
		if got := w.account("ana").SSHKeys; !cmp.Equal(got, want) {
			t.Errorf("the keys are %v, want %v", got, want)
		}
	}
	change([]string{one, two, one}, one, two)
	renamed := strings.TrimSuffix(one, "one") + "the first"
	change([]string{two, renamed}, two, renamed)
	if !good() {
		t.Error("a key more, and another comment, ended the sessions")
	}
	change([]string{renamed}, renamed)
	if good() {
		t.Error("a session continues after a key was removed")
	}
	change(nil, renamed)
	if err := w.change("ana", UserChange{SSHKeys: []string{two, "rubbish"}}); err == nil {
		t.Error("a key that is none is taken")
	}
	many := make([]string, api.MaxSSHKeys+1)
	for i := range many {
		many[i], _ = sshKey(t, "")
	}
	if err := w.change("ana", UserChange{SSHKeys: many}); err == nil {
		t.Error("any number of keys is taken")
	}
	change([]string{renamed}, renamed)
	if ok, err := w.HasSSHKey(ctx, "ANA", oneWire); !ok || err != nil {
		t.Errorf("the user has the key: %v %v", ok, err)
	}
	change([]string{})
	if ok, err := w.HasSSHKey(ctx, "ana", oneWire); ok || err != nil {
		t.Errorf("the user still has the key: %v %v", ok, err)
	}
}

// TestLoginByKey holds a key to being worth a password and no more.
func TestLoginByKey(t *testing.T) {
	ctx := context.Background()
	line, wire := sshKey(t, "desk")
	_, other := sshKey(t, "other")
	t.Run("no second factor", func(t *testing.T) {
		w := newWorld(t, noMFA)
		w.user("ana", api.RoleOperator, "c")
		w.user("ben", api.RoleOperator, "c")
		if err := w.change("ana", UserChange{SSHKeys: []string{line}}); err != nil {
			t.Fatal(err)
		}
		r, err := w.LoginByKey(ctx, "Ana", wire, "192.0.2.1")
		if err != nil || r.MFARequired || r.User.Username != "ana" {
			t.Fatalf("sign-in by a key: %+v %v", r, err)
		}
		if !w.knowsNetwork(w.account("ana"), "192.0.2.9") || w.knowsNetwork(w.account("ana"), "198.51.100.9") {
			t.Error("the network of the sign-in is not known")
		}
		if p, err := w.Authenticate(ctx, r.Token); err != nil || p.Name != "ana" {
			t.Errorf("the token is %+v's: %v", p, err)
		}
		for name, key := range map[string][]byte{"ana": other, "ben": wire, "unknown": wire, strings.Repeat("n", 9999): wire} {
			if _, err := w.LoginByKey(ctx, name, key, "192.0.2.1"); !errors.Is(err, api.ErrInvalidCredential) {
				t.Errorf("%.20s: %v", name, err)
			}
		}
		if err := w.change("ana", UserChange{Active: new(false)}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.LoginByKey(ctx, "ana", wire, "192.0.2.1"); !errors.Is(err, api.ErrUserInactive) || SubjectOf(err) != r.User.UserID {
			t.Errorf("kept out: %v about %q", err, SubjectOf(err))
		}
		if ok, err := w.HasSSHKey(ctx, "ana", wire); ok || err != nil {
			t.Errorf("kept out: %v %v", ok, err)
		}
	})
	t.Run("second factor", func(t *testing.T) {
		w := newWorld(t, nil)
		w.user("ana", api.RoleOperator, "c")
		if err := w.change("ana", UserChange{SSHKeys: []string{line}}); err != nil {
			t.Fatal(err)
		}
		if r, err := w.LoginByKey(ctx, "ana", wire, "192.0.2.1"); err != nil || r.Token != "" || !r.MFAEnrollment {
			t.Fatalf("before the authenticator is set up: %+v %v", r, err)
		}
		secret, _ := w.enrolled("ana")
		w.clock.add(api.ChallengeLifetime)
		r, err := w.LoginByKey(ctx, "ana", wire, "192.0.2.1")
		if err != nil || r.Token != "" || !r.MFARequired || r.MFAEnrollment {
			t.Fatalf("the key alone: %+v %v", r, err)
		}
		if _, err := w.VerifyMFA(ctx, r.MFAToken, "000000"); !errors.Is(err, api.ErrInvalidTOTP) {
			t.Errorf("a wrong code: %v", err)
		}
		if r, err = w.VerifyMFA(ctx, r.MFAToken, w.code(secret)); err != nil || r.Token == "" {
			t.Errorf("key and code: %+v %v", r, err)
		}
	})
}
