package deploy

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// read is a file of the tree, by its path from its root.
func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// strict decodes YAML as a cluster does when it is strict: a key twice, a field
// that into lacks and a name in another case fail.
func strict(t *testing.T, name, text string, into any) {
	t.Helper()
	b, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	unknown, err := json.UnmarshalStrict(b, into)
	if err := errors.Join(append(unknown, err)...); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

var (
	envTag  = regexp.MustCompile(`env:"([A-Z_]+)"`)
	setting = regexp.MustCompile(`\b(?:SUNLOOP|OTEL)_[A-Z_]+\b`)
)

// known are the variables that the program reads.
func known(t *testing.T) map[string]bool {
	files, err := filepath.Glob("../cmd/sunloop/*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	vars := map[string]bool{"SUNLOOP_CONFIG": true} // read before the flags
	for _, f := range files {
		for _, m := range envTag.FindAllStringSubmatch(read(t, filepath.Join("cmd/sunloop", filepath.Base(f))), -1) {
			vars[m[1]] = true
		}
	}
	return vars
}

// TestSettingsExist finds each variable that the files set among those that the
// program reads: a misspelt one would say nothing.
func TestSettingsExist(t *testing.T) {
	vars, found := known(t), 0
	// Variables of the compose file itself.
	vars["SUNLOOP_VERSION"], vars["SUNLOOP_SECRETS"], vars["SUNLOOP_SECRETS_DIR"] = true, true, true
	for _, pattern := range []string{"systemd/*", "compose/*", "kubernetes/*.yaml", "kubernetes/replicas/*", "../docs/deployment.md", "../docs/operations.md", "../docs/replicas.md", "../docs/runbook.md", "../docs/configuration.md"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			for _, name := range setting.FindAllString(read(t, filepath.Join("deploy", f)), -1) {
				if found++; !vars[name] {
					t.Errorf("%s sets %s, which the program does not read", f, name)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d settings were found", found)
	}
}
