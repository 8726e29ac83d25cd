package contract

import (
	"encoding/json"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"

	"app.sunloop/backend/api"
)

// TestEveryOperationHasACase requires a case of each operation, except those for
// browsers.
func TestEveryOperationHasACase(t *testing.T) {
	for _, o := range api.Operations() {
		if o != api.GetOpenAPI.Operation && o != api.GetDocs.Operation && o != api.GetSnapshot.Operation && !Tested(o) {
			t.Errorf("%s has no case", o.Name())
		}
	}
}

var update = flag.Bool("update", false, "write the golden list of rules")

const golden = "testdata/rules.jsonl"

// TestGoldenRules compares the rules with the committed list: request,
// credential and expected response of each. After an intended change run
// `go test ./backend/api/contract -run TestGoldenRules -update`.
func TestGoldenRules(t *testing.T) {
	var got []string
	for _, r := range Rules() {
		row := map[string]any{
			"rule": r.Name(), "route": r.Route.Name, "action": r.Action, "as": r.As, "params": shortened(r.Params), "credential": r.Credential,
			"state": r.State, "status": r.Status, "message": r.Message, "field": r.Field, "fields": r.Fields,
		}
		if r.Query != "" {
			row["query"] = r.Query
		}
		if r.Twice != "" {
			row["twice"] = r.Twice
		}
		line, err := json.Marshal(row)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(line))
	}
	slices.Sort(got)
	if *update {
		if err := os.WriteFile(golden, []byte(strings.Join(got, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(golden)
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

// shortened returns the parameters with long texts as their length.
func shortened(params map[string]any) map[string]any {
	out := map[string]any{}
	for name, v := range params {
		if text, ok := v.(string); ok && len(text) > 1000 {
			v = map[string]int{"characters": len(text)}
		}
		out[name] = v
	}
	return out
}
