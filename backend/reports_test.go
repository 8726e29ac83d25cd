package backend

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/check"
)

// TestReportsAreSent: a person who subscribed to the morning summary receives it as e-mail
// at seven, once, also if the service is started again.
func TestReportsAreSent(t *testing.T) {
	now := time.Date(2026, 6, 15, 5, 1, 0, 0, time.UTC) // 07:01 in Vienna
	dir := t.TempDir()
	h := open(t, Config{DataDir: dir, Now: func() time.Time { return now }, Wall: func() time.Time { return now }, PublicURL: "https://sunloop.example"})
	o := h.service.opened.Load()
	person := api.NotificationPerson{PersonID: "ana", Name: "Ana", Timezone: "Europe/Vienna", Reports: []string{"daily"}, Numbers: "comma", Addresses: []api.NotificationAddress{{ChannelID: "mail", Address: "ana@example.org"}}}
	_, err := o.notify.Apply(t.Context(), api.Unlimited("test"), api.NotificationsRequest{CustomerID: "acme",
		Configuration: &api.NotificationConfig{Channels: []api.NotificationChannel{{ChannelID: "mail", Kind: "email"}}, People: []api.NotificationPerson{person}}})
	if err != nil {
		t.Fatal(err)
	}
	if err := o.reports.SendDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	messages := func() (list []string) {
		t.Helper()
		files, err := filepath.Glob(filepath.Join(dir, check.OutboxFolder, "*.eml"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if bytes.Contains(b, []byte("Morning summary")) || bytes.Contains(b, []byte("Morning_summary")) {
				list = append(list, string(b))
			}
		}
		return list
	}
	for end := time.Now().Add(5 * time.Minute); len(messages()) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("no report was sent")
		}
	}
	h.down()
	h.up()
	if err := h.service.opened.Load().reports.SendDue(t.Context()); err != nil {
		t.Fatal(err)
	}
	list := messages()
	if len(list) != 1 || !strings.Contains(list[0], "ana@example.org") || !strings.Contains(list[0], "There are no sites.") || !strings.Contains(list[0], "multipart/alternative") {
		t.Errorf("%d messages: %s", len(list), strings.Join(list, "\n"))
	}
}
