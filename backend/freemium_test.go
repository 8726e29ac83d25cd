package backend

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// TestFreemiumThroughTheOutbox has a forecast without an account from a
// service that has no mail server: the code is in a file of the data folder.
func TestFreemiumThroughTheOutbox(t *testing.T) {
	dir := t.TempDir()
	h := open(t, Config{DataDir: dir, Now: time.Now})
	h.SetCredential("")
	if _, err := h.FreemiumVerify(t.Context(), "ana@example.org"); err != nil {
		t.Fatal(err)
	}
	code := codeFor(t, dir, "ana@example.org")
	var file strings.Builder
	file.WriteString("timestamp,power_kw\n")
	for at := time.Now().UTC().Truncate(time.Hour).AddDate(0, 0, -4); at.Before(time.Now()); at = at.Add(time.Hour) {
		power := "0"
		if at.Hour() > 5 && at.Hour() < 16 {
			power = "40"
		}
		file.WriteString(at.Format(time.RFC3339) + "," + power + "\n")
	}
	req := api.FreemiumRequest{Email: "ana@example.org", VerificationCode: code, SiteName: "Roof", Location: "Durban", CapacityKW: 50, TOUAccepted: true}
	f, err := h.FreemiumForecast(t.Context(), req, strings.NewReader(file.String()), nil)
	if err != nil || len(f.Forecasts) != api.FreemiumHours || f.Summary.TotalKWh24h <= 0 {
		t.Fatalf("%+v, %v", f, err)
	}
	list, err := h.service.Freemium().Customers(t.Context())
	if err != nil || len(list) != 1 || list[0].Email != "ana@example.org" {
		t.Errorf("%+v, %v", list, err)
	}
}

// codeFor is the code in the one message of a data folder's outbox, which is to an
// address.
func codeFor(t *testing.T, dir, address string) string {
	t.Helper()
	messages, err := filepath.Glob(filepath.Join(dir, "outbox", "*.eml"))
	if err != nil || len(messages) != 1 {
		t.Fatalf("%v, %v", messages, err)
	}
	b, err := os.ReadFile(messages[0])
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile(`(?m)^ +([0-9]{6})\r?$`).FindSubmatch(b)
	if code == nil || !strings.Contains(string(b), address) {
		t.Fatalf("no code in %s", b)
	}
	return string(code[1])
}
