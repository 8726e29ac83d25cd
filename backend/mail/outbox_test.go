package mail_test

import (
	"fmt"
	"io"
	"mime"
	"mime/quotedprintable"
	netmail "net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/mail"
)

// check reads a message as a mail program would.
func check(t *testing.T, data string) {
	t.Helper()
	m, err := netmail.ReadMessage(strings.NewReader(data))
	if err != nil {
		t.Fatalf("not a message: %v\n%s", err, data)
	}
	subject, err := new(mime.WordDecoder).DecodeHeader(m.Header.Get("Subject"))
	if err != nil || subject != sample.Subject {
		t.Errorf("subject %q, %v", subject, err)
	}
	if at, err := m.Header.Date(); err != nil || !at.Equal(sample.At) {
		t.Errorf("date %v, %v", at, err)
	}
	from, err := m.Header.AddressList("From")
	if err != nil || *from[0] != (netmail.Address{Name: "Sunloop", Address: "forecasts@plant.example"}) {
		t.Errorf("from %v, %v", from, err)
	}
	if id := m.Header.Get("Message-Id"); !strings.HasSuffix(id, "@plant.example>") {
		t.Errorf("message id %s", id)
	}
	if got := m.Header.Get("Auto-Submitted"); got != "auto-generated" {
		t.Errorf("Auto-Submitted %q", got)
	}
	body, err := io.ReadAll(quotedprintable.NewReader(m.Body))
	if got := strings.TrimRight(strings.ReplaceAll(string(body), "\r\n", "\n"), "\n"); err != nil || got != strings.TrimRight(sample.Text, "\n") {
		t.Errorf("text %q, %v", got, err)
	}
}

func TestOutbox(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "outbox")
	o, err := mail.OpenOutbox(dir, "Sunloop <forecasts@plant.example>")
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Send(t.Context(), sample); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 || !strings.HasSuffix(entries[0].Name(), ".eml") {
		t.Fatalf("%v, %v", entries, err)
	}
	info, err := entries[0].Info()
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v: a message may hold a code", info.Mode(), err)
	}
	b, err := os.ReadFile(filepath.Join(dir, entries[0].Name()))
	if err != nil {
		t.Fatal(err)
	}
	check(t, string(b))
}

func TestOutboxDropsTheOldest(t *testing.T) {
	dir := t.TempDir()
	for i := range 1005 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%04d.eml", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "0000.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o, err := mail.OpenOutbox(dir, "s@example.org")
	if err != nil {
		t.Fatal(err)
	}
	if err := o.Send(t.Context(), mail.Message{To: "a@example.org", At: time.Unix(1_800_000_000, 0)}); err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1001 || entries[0].Name() != "0000.txt" || entries[1].Name() != "0006.eml" {
		t.Errorf("%d entries, first %v, %v", len(entries), entries[:2], err)
	}
}

func TestAddress(t *testing.T) {
	for text, want := range map[string]string{
		" Ana.Lima+pv@Example.ORG ":      "Ana.Lima+pv@example.org",
		"jürgen@example.org":             "jürgen@example.org",
		"a@münchen.example":              "a@münchen.example",
		"":                               "",
		"ana":                            "",
		"ana@localhost":                  "",
		"ana@example..org":               "",
		"ana@-example.org":               "",
		"ana@exa_mple.org":               "",
		"ana@[127.0.0.1]":                "",
		"Ana <ana@example.org>":          "",
		"<ana@example.org>":              "",
		`"a b"@example.org`:              "",
		"ana@example.org, b@example.org": "",
		"ana@example.org\r\nBcc: all@example.org":      "",
		strings.Repeat("a", 65) + "@example.org":       "",
		"a@" + strings.Repeat("abcdefgh.", 30) + "org": "",
	} {
		got, err := mail.Address(text)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", text, got, err, want)
		}
	}
}

func FuzzAddress(f *testing.F) {
	f.Add("ana@example.org")
	f.Add("\"a\"@b.c")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := mail.Address(text)
		if err != nil {
			return
		}
		if strings.ContainsAny(a, "\r\n\x00<>, ") {
			t.Errorf("%q came through", a)
		}
		if again, err := mail.Address(a); err != nil || again != a {
			t.Errorf("%q is not stable: %q, %v", a, again, err)
		}
	})
}
