package compat

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
)

// provider is an OpenID Connect provider for people who sign in elsewhere.
type provider struct {
	*httptest.Server
	key ed25519.PrivateKey
}

const clientID = "console"

func newProvider() (*provider, error) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	p := &provider{key: private}
	p.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/keys" {
			_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: public, KeyID: "k", Algorithm: "EdDSA", Use: "sig"}}})
			return
		}
		fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, p.URL, p.URL+"/keys")
	}))
	return p, nil
}

// token is a token for a person, with a validity.
func (p *provider) token(name string, life time.Duration) (string, error) {
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, jwt.MapClaims{
		"iss": p.URL, "aud": clientID, "sub": "subject-" + name, "preferred_username": name, "exp": time.Now().Add(life).Unix(),
	})
	t.Header["kid"] = "k"
	return t.SignedString(p.key)
}
