package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"app.sunloop/backend/api"
)

// addUser adds an analyst over the handler and returns status and answer.
func (w *world) addUser(credential, name string, customers ...string) (status int, answer string) {
	w.t.Helper()
	body, err := json.Marshal(api.UsersRequest{Action: "add", Username: name, Password: password, RoleID: api.RoleAnalyst, CustomerIDs: customers})
	if err != nil {
		w.t.Fatal(err)
	}
	r := w.as(credential, http.MethodPost, api.PathUsers, string(body))
	return r.Code, r.Body.String()
}

// TestLookalikeUser over the handler: a name that looks like the name of an
// existing user is refused, and so is one that mixes scripts or has invisible
// characters. Names of one script are accepted.
func TestLookalikeUser(t *testing.T) {
	w := newWorld(t, nil)
	for _, name := range []string{"alice", "root", "vince", "Anna", "Михаил", "СЕВЕР", "Ελένη", "ian", "lan"} {
		if status, answer := w.addUser("admin", name); status != http.StatusOK {
			t.Errorf("%s: HTTP %d %s", name, status, answer)
		}
	}
	for name, want := range map[string]int{
		"aIice": 409, "a1ice": 409, "AL1CE": 409, "r00t": 409, "v\u0131nce": 409, "al\u0069\u0307ce": 409,
		"\u0391\u039d\u039d\u0391":             409, // Greek
		"\u13aa\u13de\u13a5\u13df\u13ac":       409, // Cherokee
		"\ua4ee\ua4e1\ua4f2\ua4da\ua4f0":       409, // Lisu
		"\u0441\u0435\u0432\u0435\u0440":       409, // the same name
		"\U0001d41a\U0001d427\U0001d427\u0430": 400,
		"r\u043e\u043et":                       400,
		"a\u034flice":                          400,
		"a\u0336lice":                          400,
		".":                                    400,
		"..":                                   400,
		"alice2":                               200,
		"\u0430\u043d\u043d\u0430":             200, // Cyrillic анна, with its own н
		"alic\u00e9":                           200,
	} {
		if status, answer := w.addUser("admin", name); status != want || want == 400 && !strings.Contains(answer, `"field":"username"`) || want == 409 && strings.Contains(answer, "alice is") {
			t.Errorf("%q (%+q): HTTP %d %s, want %d", name, name, status, answer, want)
		}
	}
}

// TestLookalikeReservedName: names of other users cannot end in a text that looks
// like @ and the id of a customer.
func TestLookalikeReservedName(t *testing.T) {
	w := newWorld(t, nil)
	w.user("boss@acme", api.RoleAdmin, "acme")
	for name, want := range map[string]int{"boss@acrne": 400, "ben@ACRNE": 400, "ben@example.com": 200} {
		if status, answer := w.addUser("admin", name, ownCustomer); status != want {
			t.Errorf("%s: HTTP %d %s, want %d", name, status, answer, want)
		}
	}
	// Of two customers whose ids look alike each has its names.
	if status, answer := w.addUser("admin", "ben@acrne", "acrne"); status != http.StatusOK {
		t.Errorf("a name of the other customer: HTTP %d %s", status, answer)
	}
}

// TestForeignLookalikeIsNotRevealed: the answer to an administrator of one customer
// does not depend on whether the name looks like one of another customer's users.
func TestForeignLookalikeIsNotRevealed(t *testing.T) {
	w := newWorld(t, nil)
	w.user("ana@acrne", api.RoleAnalyst, "acrne")
	w.keys["ours"] = w.user("boss@acme", api.RoleAdmin, "acme")
	// The administrator cannot manage these.
	w.user("secret@acme", api.RoleAdmin, "acme", foreignCustomer)
	w.user("lola@acme", api.RoleAdmin, "acme", foreignCustomer)
	for _, c := range []struct {
		name string
		want int
	}{
		{"ana@acme", 200},  // looks like ana@acrne
		{"ANA@acme", 409},  // the same name
		{"b0ss@acme", 409}, // of a user whom the administrator manages
		{"s\u0435cret@acme", 400},
		{"secr\u0435t", 400}, // no name of the customer
		{"5ecret@acme", 200},
		{"1o1a@acme", 409}, // as the conflict with lola@acme
		{"sec\u0433et@acme", 400},
		{"bo\u0455s@acme", 400},
		{"\u0455\u0435\u0441\u0433\u0435\u0442@acme", 200}, // Cyrillic г and т differ from r and t
		{"secret@acme", 409},
	} {
		if status, answer := w.addUser("ours", c.name); status != c.want {
			t.Errorf("%s: HTTP %d %s, want %d", c.name, status, answer, c.want)
		}
	}
}

// TestLookalikeIDs over the handler: new ids of customers and sites do not mix
// scripts within a word. Ids of other scripts are accepted.
func TestLookalikeIDs(t *testing.T) {
	w := newWorld(t, nil)
	for _, c := range []struct {
		path, body string
		field      string // empty: accepted
	}{
		{api.PathSites, `{"action":"set","site":{"site_id":"\u0421ibaya","customer_id":"customer123"}}`, "site_id"},
		{api.PathSites, `{"action":"set","site":{"site_id":"S9","customer_id":"\u0441ustomer123"}}`, "customer_id"},
		{api.PathSites, `{"action":"set","site":{"site_id":"S\u0336ibaya","customer_id":"customer123"}}`, "site_id"},
		{api.PathSites, `{"action":"set","site":{"site_id":"СЕВЕР","customer_id":"ООО Ромашка"}}`, ""},
		{api.PathSites, `{"action":"set","site":{"site_id":"Ελένη 2","customer_id":"customer123"}}`, ""},
		{api.PathAssets, `{"action":"add","asset_id":"A","name":"n","type":"t","capacity_kw":1,"location":"l","site_id":"N\u043erth","customer_id":"customer123"}`, "site_id"},
		{api.PathAssets, `{"action":"add","asset_id":"屋顶 INV-1","name":"n","type":"t","capacity_kw":1,"location":"l","site_id":"Ελένη 2","customer_id":"customer123"}`, ""},
		{api.PathUsers, `{"action":"add","username":"zoe","password":"` + password + `","role_id":"role_analyst","customer_ids":["\u0441ustomer123"]}`, "customer_ids"},
		{api.PathUsers, `{"action":"add","username":"zoe","password":"` + password + `","role_id":"role_analyst","customer_ids":["ЮГ"]}`, ""},
		{api.PathUsers, `{"action":"set","username":"zoe","customer_ids":["\u0441ustomer123"]}`, "customer_ids"},
		{api.PathKeys, `{"action":"create","name":"k","customer_ids":["\u0441ustomer123"]}`, "customer_ids"},
		{api.PathKeys, `{"action":"create","name":"k","customer_ids":["ЮГ"]}`, ""},
	} {
		r := w.as("admin", http.MethodPost, c.path, c.body)
		if want := map[bool]int{true: http.StatusOK, false: http.StatusBadRequest}[c.field == ""]; r.Code != want || c.field != "" && !strings.Contains(r.Body.String(), `"field":"`+c.field+`"`) {
			t.Errorf("%s %s: HTTP %d %s", c.path, c.body, r.Code, r.Body)
		}
	}
	// A caller without the customer learns nothing about ids.
	if r := w.as("customer", http.MethodPost, api.PathSites, `{"action":"set","site":{"site_id":"S9","customer_id":"\u0441ustomer123"}}`); r.Code != http.StatusForbidden {
		t.Errorf("another customer: HTTP %d %s", r.Code, r.Body)
	}
}
