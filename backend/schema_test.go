package backend

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"app.sunloop/backend/check"
	"app.sunloop/backend/store/block"
	"app.sunloop/backend/store/bolt"
	"app.sunloop/backend/store/postgres"
)

// storedForms are the versions of what a schema number holds: of each table that has
// one above 1, and of the blocks of telemetry.
type storedForms map[string]int

// TestSchemaNumbers refuses a stored form that has changed without a new schema
// number, which keeps earlier versions of the program from opening the data.
// testdata/schemas.json has the stored forms of each number; -update-stored adds those
// of a new number and never changes those of an old one.
func TestSchemaNumbers(t *testing.T) {
	forms := storedForms{"blocks": block.Version}
	for _, table := range check.Tables() {
		if v, ok := table.(versioned); ok && v.Version() > 1 {
			forms[table.Buckets()[0]] = v.Version()
		}
	}
	numbers := map[string]int{"folder": bolt.SchemaVersion}
	if n := postgres.SchemaVersion(); n > 0 { // not with the tag gateway
		numbers["database"] = n
	}
	file := filepath.Join("testdata", "schemas.json")
	kept := map[string]storedForms{}
	b, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(b, &kept)
	}
	if err != nil {
		t.Fatal(err)
	}
	added := false
	for name, problem := range unnumbered(kept, numbers, forms) {
		if _, ok := kept[name]; !ok && *updateStored {
			kept[name], added = forms, true
			continue
		}
		t.Error(problem)
	}
	if added {
		b, err := json.MarshalIndent(kept, "", "\t")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(b, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// unnumbered returns what is wrong with the stored forms of the present numbers, by
// their names in the file.
func unnumbered(kept map[string]storedForms, numbers map[string]int, forms storedForms) map[string]string {
	problems := map[string]string{}
	for _, store := range slices.Sorted(maps.Keys(numbers)) {
		name := fmt.Sprintf("%s %d", store, numbers[store])
		switch was, ok := kept[name]; {
		case !ok:
			problems[name] = fmt.Sprintf("schemas.json has no stored forms of %s: run the test with -update-stored", name)
		case !maps.Equal(was, forms):
			problems[name] = fmt.Sprintf("the schema %s holds %v, and the program stores %v: raise the schema number of the %s", name, was, forms, store)
		}
	}
	return problems
}

// TestUnnumberedForm: an Upgrade of a table without a new number is refused for each
// store, and with one it is not.
func TestUnnumberedForm(t *testing.T) {
	kept := map[string]storedForms{"folder 2": {"blocks": 1}, "database 2": {"blocks": 1}, "folder 3": {"blocks": 1, "orders": 2}}
	upgraded := storedForms{"blocks": 1, "orders": 2}
	for want, numbers := range map[int]map[string]int{
		0: {"folder": 3}, 1: {"folder": 3, "database": 2}, 2: {"folder": 2, "database": 3},
	} {
		if got := unnumbered(kept, numbers, upgraded); len(got) != want {
			t.Errorf("numbers %v: %v, want %d problems", numbers, got, want)
		}
	}
}
