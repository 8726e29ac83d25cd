package openapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"testing"

	"app.sunloop/backend/openapi"
)

var update = flag.Bool("update", false, "write the golden document")

const golden = "testdata/openapi.json"

// TestGoldenDocument compares /openapi.json with the committed document, so
// that a change of the published contract is visible in a diff. After an
// intended change run `go test ./backend/openapi -run TestGoldenDocument -update`.
func TestGoldenDocument(t *testing.T) {
	var got bytes.Buffer
	if err := json.Indent(&got, openapi.JSON(), "", " "); err != nil {
		t.Fatal(err)
	}
	got.WriteByte('\n')
	if *update {
		if err := os.WriteFile(golden, got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got.Bytes(), want) {
		return
	}
	gotLines, wantLines := bytes.Split(got.Bytes(), []byte("\n")), bytes.Split(want, []byte("\n"))
	for i := range min(len(gotLines), len(wantLines)) {
		if !bytes.Equal(gotLines[i], wantLines[i]) {
			t.Fatalf("line %d of the document is\n%s\nwant\n%s", i+1, gotLines[i], wantLines[i])
		}
	}
	t.Fatalf("the document has %d lines, want %d", len(gotLines), len(wantLines))
}
