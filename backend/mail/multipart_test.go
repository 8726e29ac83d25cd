package mail_test

import (
	"mime"
	"mime/multipart"
	netmail "net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/mail"
)

// TestPicturesAndThreads: a message has plain text, HTML and a picture, and names the
// message that it follows; ids that could end a header are refused.
func TestPicturesAndThreads(t *testing.T) {
	dir := t.TempDir()
	o, err := mail.OpenOutbox(dir, "Sunloop <alarms@plant.example>")
	if err != nil {
		t.Fatal(err)
	}
	picture := mail.Picture{Name: "chart.png", PNG: []byte("picture")}
	m := mail.Message{To: "ana@example.org", Subject: "Alarm", Text: "text", HTML: `<img src="` + picture.URL() + `">`, Pictures: []mail.Picture{picture},
		ID: "ntf_2", Thread: []string{"ntf_0", "ntf_1"}, At: time.Unix(1_800_000_000, 0)}
	if err := o.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.eml"))
	if err != nil || len(files) != 1 {
		t.Fatal(files, err)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	got, err := netmail.ReadMessage(strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	h := got.Header
	if h.Get("Message-Id") != "<ntf_2@plant.example>" || h.Get("In-Reply-To") != "<ntf_1@plant.example>" || h.Get("References") != "<ntf_0@plant.example> <ntf_1@plant.example>" {
		t.Errorf("headers %v", h)
	}
	kind, parameters, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || kind != "multipart/related" {
		t.Fatal(kind, err)
	}
	parts := multipart.NewReader(got.Body, parameters["boundary"])
	texts, err := parts.NextPart()
	if err != nil || !strings.HasPrefix(texts.Header.Get("Content-Type"), "multipart/alternative") {
		t.Errorf("first part %v, %v", texts.Header, err)
	}
	shown, err := parts.NextPart()
	if err != nil || "cid:"+strings.Trim(shown.Header.Get("Content-Id"), "<>") != picture.URL() || !strings.HasPrefix(shown.Header.Get("Content-Type"), "image/png") {
		t.Errorf("second part %v, %v", shown.Header, err)
	}

	for _, bad := range []string{"a b", "a>\r\nBcc: all@example.org", "a@b", strings.Repeat("x", 65), "é"} {
		for _, change := range []func(*mail.Message){
			func(m *mail.Message) { m.ID = bad },
			func(m *mail.Message) { m.Thread = []string{bad} },
			func(m *mail.Message) { m.Pictures = []mail.Picture{{Name: bad}} },
		} {
			m := m
			change(&m)
			if err := o.Send(t.Context(), m); err == nil {
				t.Errorf("%q was sent", bad)
			}
		}
	}
}
