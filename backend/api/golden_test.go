package api

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden list of contract rules")

const goldenRules = "testdata/contract.jsonl"

// TestGoldenRules compares the rules of the contract with the committed list:
// request, credential and expected answer of each. After an intended change run
// `go test ./backend/api -run TestGoldenRules -update`.
func TestGoldenRules(t *testing.T) {
	var got []string
	for _, r := range Rules() {
		line, err := json.Marshal(map[string]any{
			"rule": r.Name(), "route": r.Route.Name, "action": r.Action, "as": r.As, "params": r.Params, "credential": r.Credential,
			"state": r.State, "status": r.Status, "message": r.Message, "field": r.Field, "fields": r.Fields,
		})
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(line))
	}
	slices.Sort(got)
	if *update {
		if err := os.WriteFile(goldenRules, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(goldenRules)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	for _, line := range got {
		if _, ok := slices.BinarySearch(want, line); !ok {
			t.Errorf("a rule that is not in the golden list: %.400s", line)
		}
	}
	for _, line := range want {
		if _, ok := slices.BinarySearch(got, line); !ok {
			t.Errorf("the rule is missing: %.400s", line)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d rules, want %d", len(got), len(want))
	}
}
