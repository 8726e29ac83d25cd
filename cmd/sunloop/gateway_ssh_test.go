//go:build !windows

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"
	gossh "golang.org/x/crypto/ssh"

	"app.sunloop/backend"
	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// TestOpenSSHToGateway signs in with OpenSSH's own client to the console of a gateway that
// reads a device and has no other service: no one enters without a key and
// a second factor, and the console has the live power of the site.
func TestOpenSSHToGateway(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for _, program := range []string{"ssh", "tmux"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	folder, err := os.MkdirTemp("", "gs") // a short path: a socket has at most 100 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	data, sources := filepath.Join(folder, "d"), filepath.Join(folder, "s.toml")
	text := fmt.Sprintf("poll = \"1s\"\nstep = \"1s\"\ncommit = \"1s\"\n[site]\nid = \"roof\"\ntimezone = \"UTC\"\n[[source]]\naddress = \"tcp://%s\"\n[[source.device]]\nasset = \"INV-1\"\nkind = \"inverter\"\nunit = 1\nbase = 40000\ncapacity_kw = 10\n", servedInverter(t))
	if err := os.WriteFile(sources, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	key, file := newSSHKey(t)
	_, strange := newSSHKey(t)
	var recovery []string
	func() {
		service, err := backend.New(backend.Config{DataDir: data, Now: time.Now, RequireMFA: true})
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := service.Close(); err != nil {
				t.Error(err)
			}
		}()
		for _, name := range []string{"ana", "ben"} {
			if _, err := service.Auth().CreateUser(t.Context(), auth.NewUser{Username: name, Password: sshPassword, Role: api.RoleAdmin, SSHKeys: []string{string(gossh.MarshalAuthorizedKey(key.PublicKey()))}}); err != nil {
				t.Fatal(err)
			}
		}
		r, err := service.Auth().Login(t.Context(), "ana", sshPassword, "192.0.2.1")
		if err != nil {
			t.Fatal(err)
		}
		_, secret, _ := strings.Cut(r.ProvisioningURI, "secret=")
		secret, _, _ = strings.Cut(secret, "&")
		code, err := totp.GenerateCode(secret, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if r, err = service.Auth().VerifyMFA(t.Context(), r.MFAToken, code); err != nil || len(r.RecoveryCodes) == 0 {
			t.Fatal(r, err)
		}
		recovery = r.RecoveryCodes
	}()
	address, _ := sshLine(t, "ssh", "--listen", "127.0.0.1:0", "--sources", sources, "--data", data)
	_, port, _ := net.SplitHostPort(address)
	command := func(user string, options ...string) []string {
		return append([]string{"ssh", "-F", "none", "-p", port, "-o", "UserKnownHostsFile=" + filepath.Join(folder, "known"), "-o", "StrictHostKeyChecking=accept-new", "-o", "IdentityAgent=none", "-o", "IdentitiesOnly=yes"},
			append(options, user+"@127.0.0.1")...)
	}
	for name, args := range map[string][]string{
		"a key of no user":        command("ana", "-o", "BatchMode=yes", "-i", strange),
		"a user that is not":      command("eve", "-o", "BatchMode=yes", "-i", file),
		"neither key nor answers": command("ana", "-o", "BatchMode=yes", "-o", "PubkeyAuthentication=no"),
	} {
		if out, err := exec.Command(args[0], args[1:]...).CombinedOutput(); err == nil || !strings.Contains(string(out), "Permission denied") {
			t.Errorf("%s: %v, %q", name, err, out)
		}
	}

	x := openWindow(t, 130, 40, nil, strings.Join(command("ana", "-i", file), " ")+"; echo after $?; exec cat")
	x.shows("Code of the authenticator, or a recovery code:")
	x.keys("000000", "Enter")
	x.shows("Invalid TOTP code.")
	x.keys(recovery[0], "Enter")
	x.shows("roof", "5.00 kW", "ana Administrator")
	x.keys("g", "y")
	x.shows("INV-1", "reading", "5.00 kW")
	x.keys("q")
	x.keys("q")
	x.shows("after 0")

	// The code was used, and a person without an authenticator has to set one up first.
	x = openWindow(t, 130, 50, nil, strings.Join(command("ana", "-i", file), " ")+"; echo after $?; exec cat")
	x.shows("Code of the authenticator, or a recovery code:")
	x.keys(recovery[0], "Enter")
	x.shows("Invalid TOTP code.")
	x = openWindow(t, 130, 50, nil, strings.Join(command("ben", "-i", file), " ")+"; echo after $?; exec cat")
	if screen := x.shows("Set up the second factor"); strings.Contains(screen, "roof") {
		t.Errorf("the site is shown before:\n%s", screen)
	}
}
