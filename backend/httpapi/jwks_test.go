package httpapi_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"

	"app.sunloop/backend/api"
	"github.com/go-jose/go-jose/v4"
)

// TestKeySetChecksTokens: another library reads the published keys, and they
// check the tokens of before and after a rotation.
func TestKeySetChecksTokens(t *testing.T) {
	w := newWorld(t, nil)
	tokens := []string{w.user("before", api.RoleAnalyst, ownCustomer)}
	first := w.ask(http.MethodGet, api.PathKeySet, "")
	if err := w.auth.RotateSigningKey(context.Background()); err != nil {
		t.Fatal(err)
	}
	tokens = append(tokens, w.user("after", api.RoleAnalyst, ownCustomer))
	r := w.ask(http.MethodGet, api.PathKeySet, "", "If-None-Match", first.Header().Get("Etag"))
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(r.Body.Bytes(), &set); err != nil || len(set.Keys) != 2 {
		t.Fatalf("%d keys, %v", len(set.Keys), err)
	}
	for i, token := range tokens {
		signed, err := jose.ParseSignedCompact(token, []jose.SignatureAlgorithm{jose.EdDSA})
		if err != nil {
			t.Fatal(err)
		}
		found := set.Key(signed.Signatures[0].Header.KeyID)
		if len(found) != 1 || !found[0].IsPublic() || found[0].Use != "sig" || found[0].Algorithm != "EdDSA" {
			t.Fatalf("key %+v", found)
		}
		payload, err := signed.Verify(found[0])
		var claims struct {
			Username string `json:"username"`
		}
		if err == nil {
			err = json.Unmarshal(payload, &claims)
		}
		if err != nil || claims.Username != []string{"before", "after"}[i] {
			t.Errorf("token %d: %q, %v", i, claims.Username, err)
		}
		for _, other := range set.Keys {
			if _, err := signed.Verify(other); (err == nil) != (other.KeyID == found[0].KeyID) {
				t.Errorf("token %d of key %s, by key %s: %v", i, found[0].KeyID, other.KeyID, err)
			}
		}
	}
}
