package api

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

func TestHideSiteKeys(t *testing.T) {
	key := SiteKey("acme", "Roof 1")
	if PublicSiteID(key) != "Roof 1" || PublicSiteID("Roof 1") != "Roof 1" || key == SiteKey("else", "Roof 1") {
		t.Errorf("the key is %q", key)
	}
	for _, text := range []string{"", "Roof", key, "Site " + key + " and " + key + " have data", `a literal \u001f and \` + key, "one mark \x1f alone"} {
		b, err := json.Marshal(map[string]string{"site_id": text})
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]string
		if err := json.Unmarshal(HideSiteKeys(b), &got); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if want := strings.ReplaceAll(text, key, "Roof 1"); got["site_id"] != want {
			t.Errorf("%q becomes %q, want %q", text, got["site_id"], want)
		}
	}
}

// TestScopeOfSiteKeys: a list of sites means the sites of the customers whom it
// was made for.
func TestScopeOfSiteKeys(t *testing.T) {
	key := SiteKey("acme", "Roof")
	for _, c := range []struct {
		scope    Scope
		customer string
		site     string
		want     bool
	}{
		{Scope{Customers: []string{"acme"}, Sites: []string{"Roof"}}, "acme", key, true},
		{Scope{Customers: []string{"acme"}, Sites: []string{"Roof"}}, "else", "Roof", false},
		{Scope{Customers: []string{Every}, Sites: []string{"Roof"}}, "else", "Roof", true},
		{Scope{Customers: []string{Every}, Sites: []string{"Roof"}}, "acme", key, false},
		{Scope{Customers: []string{"acme", "else"}, Sites: []string{"Roof"}}, "acme", key, false},
		{Scope{Customers: []string{"acme", "else"}, Sites: []string{key}}, "acme", key, true},
		{Scope{Customers: []string{"acme", "else"}, Sites: []string{key}}, "else", "Roof", false},
	} {
		if got := c.scope.Allows(c.customer, c.site); got != c.want {
			t.Errorf("%v allows %s of %s: %v", c.scope, c.site, c.customer, got)
		}
	}
}

// TestGrantedSite grants sites of one id to users and keys.
func TestGrantedSite(t *testing.T) {
	key := SiteKey("globex", "Roof")
	all := []Site{{SiteID: "Roof", CustomerID: "acme"}, {SiteID: key, CustomerID: "globex"}}
	limited := Scope{Customers: []string{"acme"}, Sites: []string{Every}}
	for _, c := range []struct {
		scope     Scope
		customers []string
		want      string
		err       error
	}{
		{Unlimited(""), []string{"acme"}, "Roof", nil},
		{Unlimited(""), []string{"globex"}, key, nil},
		{Unlimited(""), []string{"acme", "globex"}, "", ErrAmbiguousSite},
		{Unlimited(""), []string{Every}, "", ErrAmbiguousSite},
		{Unlimited(""), []string{"third"}, "Roof", nil},
		{limited, []string{Every}, "Roof", nil},
		{limited, []string{"globex"}, "Roof", nil},
	} {
		if got, err := c.scope.GrantedSite("Roof", all, c.customers); got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%v grants %v the site %q, %v", c.scope, c.customers, got, err)
		}
	}
}
