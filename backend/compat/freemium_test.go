package compat

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

// code asks for a code and reads it in the message.
func code(t *testing.T, email string) string {
	t.Helper()
	post(t, bare, shared.hosts[api.HostFreemium], "/api/v1/freemium-forecast/verify", bodyOf("email", email)).
		is(object(fields{"status": exactly("success"), "message": exactly("Verification code sent")}))
	messages, err := filepath.Glob(filepath.Join(shared.dir, "outbox", "*.eml"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(messages)
	for _, path := range slices.Backward(messages) {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if found := regexp.MustCompile(`(?m)^ +([0-9]{6})\r?$`).FindSubmatch(b); found != nil && strings.Contains(string(b), email) {
			return string(found[1])
		}
	}
	t.Fatalf("there is no message to %s", email)
	return ""
}

// recent is a CSV of the last days by the wall's clock, which this forecast
// goes by.
func recent() string {
	var b strings.Builder
	b.WriteString("timestamp,power\n")
	for at := time.Now().UTC().Truncate(time.Hour).AddDate(0, 0, -5); at.Before(time.Now()); at = at.Add(time.Hour) {
		fmt.Fprintf(&b, "%s,%.1f\n", at.Format(time.RFC3339), max(0, 40*(1-float64((at.Hour()-10)*(at.Hour()-10))/25)))
	}
	return b.String()
}

func freemiumParts(email, code string, without ...string) []part {
	all := []part{
		{"file", recent(), "my plant.csv"}, {"email", email, ""}, {"verification_code", code, ""}, {"site_name", "Roof", ""}, {"location", "Durban, ZA", ""},
		{"capacity_kw", "50", ""}, {"tou_accepted", "true", ""}, {"marketing_opt_in", "false", ""},
	}
	return slices.DeleteFunc(all, func(p part) bool { return slices.Contains(without, p.name) })
}

func TestForecastWithoutAnAccount(t *testing.T) {
	forecast := object(fields{"status": exactly("success"), "forecast": object(fields{
		"site_name": exactly("Roof"), "location": text, "manufacturer": text, "forecast_hours": exactly(24.0), "generated_at": instant, "model_type": text,
		"forecasts": both(count(24, object(fields{"timestamp": instant, "hour_ahead": integer, "kWh_forecast": number, "confidence": share})), ascending("timestamp")),
		"summary":   object(fields{"total_kwh_24h": number, "peak_hour": instant, "peak_kwh": number, "average_hourly_kwh": number}),
	})})
	ask := func(parts ...part) answer {
		return postForm(t, bare, shared.hosts[api.HostFreemium], "/api/v1/freemium-forecast", parts...)
	}
	// A wrong form costs nothing: the code is good for the right one.
	good := code(t, "ana@example.org")
	terms := "You must accept the Terms of Use (tou_accepted=true) to use this service."
	ask(freemiumParts("ana@example.org", good, "file")...).refused(http.StatusBadRequest, "CSV file is required")
	ask(freemiumParts("ana@example.org", good, "tou_accepted")...).refused(http.StatusBadRequest, terms)
	ask(append(freemiumParts("ana@example.org", good, "tou_accepted"), part{"tou_accepted", "false", ""})...).refused(http.StatusBadRequest, terms)
	ask(freemiumParts("ana@example.org", good, "site_name", "location")...).refused(http.StatusBadRequest, "Missing required fields: site_name, location")
	ask(freemiumParts("ana@example.org", "", "capacity_kw")...).refused(http.StatusBadRequest, "Missing required fields: verification_code, capacity_kw")
	wrong := "000000"
	if wrong == good {
		wrong = "000001"
	}
	ask(freemiumParts("ana@example.org", wrong)...).refused(http.StatusBadRequest, "Invalid or expired verification code")

	parts := freemiumParts("ana@example.org", good)
	slices.Reverse(parts) // the file last, the terms near the beginning
	a := ask(parts...).is(forecast)
	if total := a.at("forecast.summary.total_kwh_24h").(float64); total <= 0 || a.at("forecast.forecasts.0.hour_ahead") != 1.0 {
		t.Errorf("%s", a.body)
	}
	ask(parts...).refused(http.StatusBadRequest, "Invalid or expired verification code") // used once

	parts = freemiumParts("ben@example.org", code(t, "ben@example.org"))
	parts = append(slices.Clone(parts[4:]), parts[:4]...)
	for i, p := range parts {
		if p.name == "tou_accepted" {
			parts[i].value = "True" // as Python writes it
		}
	}
	ask(parts...).is(forecast)

	text := freemiumParts("cara@example.org", code(t, "cara@example.org"), "file")
	ask(append(text, part{"file", "Dear operator,\nhello\n", "letter.csv"})...).refused(http.StatusBadRequest, "Invalid CSV Format")
	ask(freemiumParts("cara", "123456")...).refused(http.StatusBadRequest, "Invalid email address format")
	verify := func(body map[string]any) answer {
		return post(t, bare, shared.url, "/api/v1/freemium-forecast/verify", body)
	}
	verify(bodyOf("email", "cara")).refused(http.StatusBadRequest, "Invalid email address format")
	verify(bodyOf()).refused(http.StatusBadRequest, "Missing required field: email")
}
