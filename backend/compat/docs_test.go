package compat

import (
	"bytes"
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
	"app.sunloop/backend/client"
)

// block is a fenced block of a document, and where it begins.
type block struct {
	language, text string
	line           int
}

var fence = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

func blocks(t *testing.T, name string) []block {
	text, err := os.ReadFile(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	var out []block
	for _, at := range fence.FindAllSubmatchIndex(text, -1) {
		out = append(out, block{string(text[at[2]:at[3]]), string(text[at[4]:at[5]]), 1 + bytes.Count(text[:at[0]], []byte("\n"))})
	}
	return out
}

// TestDocumentedCalls runs the curl examples of the documents in their order,
// and finds what they say is printed. Placeholders for secrets are filled in;
// commands other than curl are run by the tests of cmd.
func TestDocumentedCalls(t *testing.T) {
	t.Parallel() // after the tests that count what the demo has
	for _, tool := range []string{"sh", "curl", "jq"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("no ", tool)
		}
	}
	_, err := shared.service.Auth().CreateUser(t.Context(), auth.NewUser{Username: "ada", Password: password, Role: api.RoleAnalyst, Customers: []string{customer}})
	if err != nil {
		t.Fatal(err)
	}
	_, key, err := shared.service.Auth().CreateKey(t.Context(), auth.NewKey{Name: "dashboard", Role: api.RoleAnalyst, Customers: []string{customer}})
	if err != nil {
		t.Fatal(err)
	}
	// As the demo's, with the rate that a key has unless another is set.
	demo, _, err := shared.service.Auth().CreateKey(t.Context(), auth.NewKey{Name: "demo", Role: api.RoleOperator, Customers: []string{api.Every}, Sites: []string{api.Every}, Rate: new(60)})
	if err != nil {
		t.Fatal(err)
	}
	roof(t)
	dir := filepath.Dir(shared.exports())
	if err := os.Symlink("..", filepath.Join(dir, "demo")); err != nil { // the data folder of the first example
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		// From a separate network: each may request three codes an hour.
		".curlrc":        fmt.Sprintf("cacert = %q\nshow-error\ninterface = 127.0.99.1\n", filepath.Join(shared.dir, "tls", "certificate.pem")),
		"production.csv": history(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, calls := range map[string]int{"docs/api.md": 22, "README.md": 1, "docs/scripting.md": 6, "docs/freemium.md": 2} {
		all := blocks(t, name)
		script, calling := "set -eu\n", 0
		for i, b := range all {
			if b.language == "sh" && strings.Contains(b.text, "curl ") && !strings.Contains(b.text, "$ID_TOKEN") {
				text := strings.NewReplacer("localhost:8080", shared.url, `"password": "…"`, `"password": "`+password+`"`, "key_…", key.ID, "123456", lastCode()).Replace(onlyCurl(b.text))
				script += fmt.Sprintf("echo '%s%d'\n%s", separator, i, text)
				calling += strings.Count(text, "curl ")
			}
		}
		if calling < calls {
			t.Errorf("%s: there are only %d calls", name, calling)
		}
		c := exec.CommandContext(t.Context(), "sh", "-c", script)
		c.Dir, c.Env = dir, append(os.Environ(), "HOME="+dir, "CURL_HOME="+dir, "KEY="+demo, "TOKEN="+shared.key)
		var stderr bytes.Buffer
		c.Stderr = &stderr
		out, err := c.Output()
		if err != nil {
			t.Fatalf("%s: %v: %s\n%s", name, err, &stderr, out)
		}
		for part := range strings.SplitSeq(string(out), separator) {
			number, printed, _ := strings.Cut(part, "\n")
			i, err := strconv.Atoi(number)
			if err != nil {
				continue // before the first
			}
			if strings.Contains(printed, `"success":false`) {
				t.Errorf("%s:%d: refused: %s", name, all[i].line, printed)
			}
			if i+1 < len(all) && all[i+1].language == "text" && printed != all[i+1].text {
				t.Errorf("%s:%d: it prints\n%s\nnot\n%s", name, all[i].line, printed, all[i+1].text)
			}
		}
	}
}

const separator = "@@ block "

// lastCode is how a shell finds the code of the newest message.
func lastCode() string {
	return `$(cat "$(ls -t ` + filepath.Join(shared.dir, "outbox") + `/*.eml | head -1)" | tr -d '\r' | sed '1,/^$/d' | grep -oE '\b[0-9]{6}\b' | head -1)`
}

// roof is the site of the documents, with half a year of data and its model.
func roof(t *testing.T) {
	c := client.New(client.Options{BaseURL: shared.url, Credential: shared.key, TLS: &tls.Config{RootCAs: shared.roots}})
	defer c.Close()
	var csv bytes.Buffer
	if err := shared.fleet.Sites[0].WriteCSV(&csv, now.AddDate(0, 0, -190), now, time.Hour, asset); err != nil {
		t.Fatal(err)
	}
	ack, err := c.UploadTrain(t.Context(), api.UploadRequest{CustomerID: "default", SiteID: "roof", Region: "eu", Location: "-29.86,31.02", CapacityKW: 100}, &csv, nil)
	for err == nil {
		var u *api.Upload
		if u, err = c.Upload(t.Context(), ack.UploadID); err == nil && u.Ended() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatal(err)
}

// onlyCurl is a block without commands of Sunloop's own.
func onlyCurl(text string) string {
	var keep []string
	for line := range strings.Lines(text) {
		if !strings.Contains(line, "sunloop ") {
			keep = append(keep, line)
		}
	}
	return strings.Join(keep, "")
}
