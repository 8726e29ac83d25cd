package mail_test

import (
	netmail "net/mail"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"app.sunloop/backend/mail"
)

// TestNoTextMakesAHeader: whatever an address, a subject or a text contains, a
// message has the same headers and one recipient, and is not sent if an address
// is invalid.
func TestNoTextMakesAHeader(t *testing.T) {
	want := []string{"Auto-Submitted", "Content-Transfer-Encoding", "Content-Type", "Date", "From", "Message-Id", "Mime-Version", "Subject", "To", "User-Agent", "X-Mailer"}
	piece := rapid.SampledFrom([]string{"\r\n", "\n", "\r", "\x00", "\u0085", "\u2028", "Bcc: all@example.org", "\r\n\r\nbody", "=?utf-8?q?=0D=0ABcc:_a@b.c?=", "<a@b.c>", ",", "é", strings.Repeat("x", 200)})
	text := func(rt *rapid.T, of string) string {
		return strings.Join(rapid.SliceOfN(piece, 0, 5).Draw(rt, of), "") + rapid.StringN(0, 20, -1).Draw(rt, of+"'s end")
	}
	dir := t.TempDir()
	o, err := mail.OpenOutbox(dir, "Sunloop <forecasts@plant.example>")
	if err != nil {
		t.Fatal(err)
	}
	sent := 0
	rapid.Check(t, func(rt *rapid.T) {
		to := "ana@example.org" + rapid.SampledFrom([]string{"", text(rt, "to")}).Draw(rt, "tail")
		err := o.Send(t.Context(), mail.Message{To: to, Subject: text(rt, "subject"), Text: text(rt, "text"), At: time.Unix(1_800_000_000, 0)})
		files, globErr := filepath.Glob(filepath.Join(dir, "*.eml"))
		if globErr != nil || len(files) > 1 || (err == nil) != (len(files) == 1) {
			rt.Fatalf("%d messages, %v, %v", len(files), err, globErr)
		}
		if err != nil {
			return
		}
		sent++
		b, err := os.ReadFile(files[0])
		if err == nil {
			err = os.Remove(files[0])
		}
		if err != nil {
			rt.Fatal(err)
		}
		m, err := netmail.ReadMessage(strings.NewReader(string(b)))
		if err != nil {
			rt.Fatalf("no message: %v\n%s", err, b)
		}
		for name, values := range m.Header {
			if !slices.Contains(want, name) || len(values) != 1 {
				rt.Errorf("the header has %s %d times:\n%s", name, len(values), b)
			}
		}
		if list, err := m.Header.AddressList("To"); err != nil || len(list) != 1 || list[0].Address != to {
			rt.Errorf("the message goes to %v, %v", list, err)
		}
	})
	if sent == 0 {
		t.Error("no message was sent")
	}
}
