package deploy

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	link    = regexp.MustCompile(`\]\(([a-z./-]*)#([a-z0-9-]+)\)`)
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
	_, text, _ := strings.Cut(read(t, "docs/operations.md"), "\n## Alerts\n")
	text, _, found := strings.Cut(text, "\n## ")
	if !found {
		t.Fatal("docs/operations.md has no part about alerts")
	}
	var names []string
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			names = append(names, strings.ToLower(r.Alert))
			if want := "docs/operations.md#" + strings.ToLower(r.Alert); r.Annotations["runbook"] != want {
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

// TestLinksOfOperations finds what the document's links into documents name.
func TestLinksOfOperations(t *testing.T) {
	text := read(t, "docs/operations.md")
	links := link.FindAllStringSubmatch(text, -1)
	for _, m := range links {
		in := text
		if m[1] != "" {
			in = read(t, "docs/"+m[1])
		}
		if !slices.Contains(anchors(in), m[2]) {
			t.Errorf("there is no %s#%s", m[1], m[2])
		}
	}
	if len(links) < 10 {
		t.Errorf("only %d links were found", len(links))
	}
}
