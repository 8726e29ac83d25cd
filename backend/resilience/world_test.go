package resilience

import (
	"testing"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/backend/servetest"
)

// newSite makes a site of a customer with inverters of 50 kW each.
func newSite(t testing.TB, root *client.Client, customer, site string, inverters ...string) {
	t.Helper()
	_, err := root.SetSite(t.Context(), api.Site{SiteID: site, CustomerID: customer, Timezone: "Europe/Vienna", CapacityKW: 50 * float64(len(inverters))})
	if err != nil {
		t.Fatalf("make the site %s: %v", site, err)
	}
	for _, id := range inverters {
		_, err := root.AddAsset(t.Context(), api.Asset{AssetID: id, SiteID: site, CustomerID: customer, Name: id, Type: "inverter", CapacityKW: 50, Location: "48.2,16.4"})
		if err != nil {
			t.Fatalf("make the inverter %s of %s: %v", id, site, err)
		}
	}
}

// newKey makes a key for the whole of a customer.
func newKey(t testing.TB, root *client.Client, customer, role string) string {
	t.Helper()
	made, err := root.CreateKey(t.Context(), api.KeysRequest{Name: customer + " " + role, RoleID: role, CustomerIDs: []string{customer}})
	if err != nil {
		t.Fatalf("make a key of %s: %v", customer, err)
	}
	return made.APIKey
}

// newUser makes a user of a customer; it has no second factor yet.
func newUser(t testing.TB, root *client.Client, customer, role, name, password string) (userID string) {
	t.Helper()
	made, err := root.AddUser(t.Context(), api.UsersRequest{Username: name, Password: password, RoleID: role, CustomerIDs: []string{customer}})
	if err != nil {
		t.Fatalf("make the user %s: %v", name, err)
	}
	return made.UserID
}

// A service starts, serves, and shuts down cleanly on request.
func TestStartAndStop(t *testing.T) {
	dir := t.TempDir()
	key := servetest.RootKey(t, dir)
	p := servetest.Start(t, dir, "--no-mfa")
	root := p.Client(key)
	defer root.Close()
	newSite(t, root, "acme", "South", "INV-1")
	operator := p.Client(newKey(t, root, "acme", api.RoleOperator))
	defer operator.Close()
	newUser(t, root, "acme", api.RoleOperator, "grace", "correct horse battery staple")
	signed := p.Client("")
	defer signed.Close()
	if _, err := signed.Login(t.Context(), "grace", "correct horse battery staple"); err != nil {
		t.Error(err)
	}
	for _, c := range []*client.Client{operator, signed} {
		if list, err := c.Assets(t.Context(), api.ListQuery{CustomerID: "acme"}); err != nil || list.Count != 1 {
			t.Errorf("assets %+v, %v", list, err)
		}
	}
	if u, ok := p.Usage(); ok && (u.RSSBytes == 0 || u.Threads == 0 || u.Files == 0) {
		t.Errorf("it takes %+v", u)
	}
	if status, err := p.Stop(); status != 0 || err != nil {
		t.Errorf("it ended with %d, %v:\n%s", status, err, p.Log())
	}
}
