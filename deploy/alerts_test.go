package deploy

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	link    = regexp.MustCompile(`\]\(([a-zA-Z_./-]*)(?:#([a-z0-9-]+))?\)`)
	unsaid  = regexp.MustCompile(`[^a-z0-9 -]`)
)

// anchors are those of the headings of a document, in their order.
func anchors(text string) []string {
	var all []string
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		all = append(all, strings.ReplaceAll(unsaid.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-"))
	}
	return all
}

// TestAlertsHaveSections holds the rules and the sections about them to each
// other, in one order, each rule with the anchor of its section.
func TestAlertsHaveSections(t *testing.T) {
	var rules struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []struct {
				Alert       string            `json:"alert"`
				Expr        string            `json:"expr"`
				For         string            `json:"for"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"rules"`
		} `json:"groups"`
	}
	strict(t, "alerts.yml", read(t, "docs/alerts.yml"), &rules)
	_, text, _ := strings.Cut(read(t, "docs/runbook.md"), "\n## Alerts\n")
	text, _, found := strings.Cut(text, "\n## ")
	if !found {
		t.Fatal("docs/runbook.md has no section Alerts")
	}
	var names []string
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			names = append(names, strings.ToLower(r.Alert))
			if want := "docs/runbook.md#" + strings.ToLower(r.Alert); r.Annotations["runbook"] != want {
				t.Errorf("%s: its runbook is %q, not %q", r.Alert, r.Annotations["runbook"], want)
			}
			if s := r.Labels["severity"]; s != "page" && s != "ticket" {
				t.Errorf("%s: its severity is %q", r.Alert, s)
			}
		}
	}
	if sections := anchors(text); !slices.Equal(names, sections) {
		t.Errorf("alerts  %v\nsections %v", names, sections)
	}
}

// TestLinksOfDocuments checks that the target of each link exists, in another
// document or as a heading of the same one.
func TestLinksOfDocuments(t *testing.T) {
	docs, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	top, err := filepath.Glob("../*.md")
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, f := range append(docs, top...) {
		name := strings.TrimPrefix(f, "../")
		text := read(t, name)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			links++
			in, target := name, text
			if m[1] != "" {
				in = path.Join(path.Dir(name), m[1])
				if _, err := os.Stat(filepath.Join("..", in)); err != nil {
					t.Errorf("%s links to %s, which does not exist", name, in)
					continue
				}
				if m[2] != "" {
					target = read(t, in)
				}
			}
			if m[2] != "" && !slices.Contains(anchors(target), m[2]) {
				t.Errorf("%s: there is no %s#%s", name, in, m[2])
			}
		}
	}
	if links < 60 {
		t.Errorf("only %d links were found", links)
	}
}
