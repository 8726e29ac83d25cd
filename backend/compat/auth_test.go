package compat

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"

	"app.sunloop/backend/api"
	"app.sunloop/backend/auth"
)

// signIn posts to the sign-in service, without a credential.
func signIn(t *testing.T, path string, namesAndValues ...any) answer {
	t.Helper()
	return post(t, bare, shared.hosts[api.HostAuth], path, bodyOf(namesAndValues...))
}

// person is as clients read who has signed in.
var person = object(fields{
	"user_id": text, "username": text, "role_id": exactly("role_admin", "role_operator", "role_technician", "role_analyst"), "role_name": text,
	"customer_ids": list(text), "group_id": maybe, "skin_id": maybe, "application_permissions": list(text),
})

var signedIn = object(fields{"token": matches(`^[\w-]+\.[\w-]+\.[\w-]+$`), "user": person, "expires_in?": integer})

// TestSignInFromEnrolmentToTheEnd goes the whole way: an authenticator is set
// up, the token asks every service in either header, is renewed, and dropped.
func TestSignInFromEnrolmentToTheEnd(t *testing.T) {
	_, err := shared.service.Auth().CreateUser(t.Context(), auth.NewUser{Username: username, Password: password, Role: api.RoleAnalyst, Customers: []string{customer}})
	if err != nil {
		t.Fatal(err)
	}
	challenge := object(fields{"mfa_required": exactly(true), "mfa_token": text})
	first := signIn(t, "/api/auth/login", "username", username, "password", password).
		is(both(challenge, object(fields{"mfa_enrollment": exactly(true), "provisioning_uri": matches("^otpauth://totp/")})))
	key, err := otp.NewKeyFromURL(first.text("provisioning_uri"))
	if err != nil {
		t.Fatal(err)
	}
	code := func(at time.Time) string {
		c, err := totp.GenerateCode(key.Secret(), at)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	wrong := "000000"
	if wrong == code(time.Now()) {
		wrong = "000001"
	}
	signIn(t, "/api/auth/verify-mfa", "mfa_token", first.text("mfa_token"), "totp_code", wrong).refused(http.StatusUnauthorized, "Invalid TOTP code")
	enrolled := signIn(t, "/api/auth/verify-mfa", "mfa_token", first.text("mfa_token"), "totp_code", code(time.Now())).
		is(both(signedIn, object(fields{"recovery_codes": some(text)})))
	if enrolled.text("user.username") != username || enrolled.text("user.role_id") != "role_analyst" || enrolled.text("user.customer_ids.0") != customer {
		t.Errorf("%s", enrolled.body)
	}
	signIn(t, "/api/auth/verify-mfa", "mfa_token", first.text("mfa_token"), "totp_code", code(time.Now())).refused(http.StatusUnauthorized, "MFA token expired")

	second := signIn(t, "/api/auth/login", "username", username, "password", password).is(challenge)
	if o := second.value.(map[string]any); o["mfa_enrollment"] != nil || o["provisioning_uri"] != nil || o["token"] != nil {
		t.Errorf("a second sign-in: %s", second.body)
	}
	recovered := signIn(t, "/api/auth/verify-mfa", "mfa_token", second.text("mfa_token"), "totp_code", enrolled.text("recovery_codes.0")).is(signedIn)
	token := recovered.text("token")
	claims(t, token).is(object(fields{
		"user_id": text, "username": exactly(username), "role_id": exactly("role_analyst"), "customer_ids": count(1, exactly(customer)),
		"group_id": maybe, "skin_id": maybe, "exp": integer, "iat": integer, "jti": text, "iss": text,
	}))

	for _, h := range []header{bearer, xAPIKey} {
		for _, ask := range []struct {
			host api.Host
			path string
		}{
			{api.HostTelemetry, "/telemetry/data-period?site_id=" + site}, {api.HostAlerts, "/ooda/data-period?site_id=" + site},
			{api.HostPartner, "/forecast-snapshot?site_id=" + site}, {api.HostMain, "/forecast?customer_id=" + customer},
		} {
			q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shared.hosts[ask.host]+ask.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			h.set(q, token)
			send(t, q, ".first_record", ".last_record").is(object(fields{}))
		}
		postAs(t, h, token, shared.url, "/terminal/assets", map[string]any{"action": "list", "customer_id": customer}).is(object(fields{"success": exactly(true)}))
		postAs(t, h, token, shared.url, "/terminal/assets", map[string]any{"action": "list", "customer_id": secondCustomer}).refused(http.StatusForbidden, "Access denied")
		// An analyst reads.
		postAs(t, h, token, shared.url, "/terminal/detect", map[string]any{"action": "run", "asset_id": asset, "customer_id": customer}).refused(http.StatusForbidden, "Access denied")
	}

	renewed := postAs(t, bearer, token, shared.hosts[api.HostAuth], "/api/auth/refresh", nil).is(object(fields{"token": text, "expires_in": exactly(86400.0)}))
	next := renewed.text("token")
	if next == token {
		t.Error("a renewed token is the old one")
	}
	postAs(t, bearer, next, shared.hosts[api.HostAuth], "/api/auth/logout", map[string]any{}).is(object(fields{"success": exactly(true)}))
	postAs(t, bearer, next, shared.hosts[api.HostAuth], "/api/auth/refresh", nil).refused(http.StatusUnauthorized, "Invalid token")
	get401 := func(token string) {
		q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shared.url+"/telemetry/data-period?site_id="+site, nil)
		if err != nil {
			t.Fatal(err)
		}
		bearer.set(q, token)
		send(t, q).refused(http.StatusUnauthorized, "Invalid token")
	}
	get401(next)
	get401(token)
}

// claims are those of a token, which clients read without its key.
func claims(t *testing.T, token string) answer {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
	a := answer{t: t, what: "the token's claims", status: http.StatusOK, body: b}
	if err == nil {
		err = json.Unmarshal(b, &a.value)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestSignInRefusals(t *testing.T) {
	signIn(t, "/api/auth/login", "username", "unknown", "password", password).refused(http.StatusUnauthorized, "Invalid credentials")
	signIn(t, "/api/auth/login", "username", "unknown").refused(http.StatusBadRequest, "Missing required field: password")
	signIn(t, "/api/auth/login", "password", password).refused(http.StatusBadRequest, "Missing required field: username")
	signIn(t, "/api/auth/verify-mfa", "mfa_token", "unknown", "totp_code", "123456").refused(http.StatusUnauthorized, "MFA token expired")
	signIn(t, "/api/auth/verify-mfa", "mfa_token", "unknown").refused(http.StatusBadRequest, "Missing required field: totp_code")
	signIn(t, "/api/auth/refresh").refused(http.StatusUnauthorized, "Unauthorized")
	signIn(t, "/api/auth/logout").refused(http.StatusUnauthorized, "Unauthorized")
	signIn(t, "/api/auth/api-key-info", "api_key", "opa_prod_unknown").refused(http.StatusUnauthorized, "API key not found")
	signIn(t, "/api/auth/validate-api-key", "api_key", "opa_prod_unknown", "site_id", site).refused(http.StatusUnauthorized, "API key not found")
	get(t, bare, shared.hosts[api.HostAuth], "/api/auth/login", query()).refused(http.StatusMethodNotAllowed, "Method not allowed")
}

func TestSignInByExternalToken(t *testing.T) {
	token := func(name string, life time.Duration) string {
		s, err := shared.provider.token(name, life)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	a := signIn(t, "/api/auth/exchange", "external_token", token("eve@example.org", time.Minute), "provider", "company").is(signedIn)
	if a.text("user.username") != "eve@example.org" || a.text("user.customer_ids.0") != customer {
		t.Errorf("%s", a.body)
	}
	postAs(t, xAPIKey, a.text("token"), shared.url, "/terminal/assets", map[string]any{"action": "list", "customer_id": customer}).is(object(fields{"success": exactly(true)}))
	signIn(t, "/api/auth/exchange", "external_token", token("eve@example.org", -time.Minute), "provider", "company").refused(http.StatusUnauthorized, "Token expired")
	signIn(t, "/api/auth/exchange", "external_token", "x.y.z", "provider", "company").refused(http.StatusUnauthorized, "Invalid token")
	signIn(t, "/api/auth/exchange", "provider", "company").refused(http.StatusBadRequest, "Missing required field: external_token")
	signIn(t, "/api/auth/exchange", "external_token", "x.y.z").refused(http.StatusBadRequest, "Missing required field: provider")
}

func TestAPIKeysOfASite(t *testing.T) {
	expires := time.Now().Add(24 * time.Hour)
	key, _, err := shared.service.Auth().CreateKey(t.Context(), auth.NewKey{Name: "site", Role: api.RoleOperator, Customers: []string{customer}, Sites: []string{site}, ExpiresAt: expires})
	if err != nil {
		t.Fatal(err)
	}
	info := signIn(t, "/api/auth/api-key-info", "api_key", key).
		is(object(fields{"api_key_id": text, "permitted_site_ids": count(1, exactly(site)), "expires_at": exactly(api.At(expires).String()), "created_at": instant}))
	if strings.Contains(string(info.body), key) {
		t.Error("the key is shown again")
	}
	signIn(t, "/api/auth/validate-api-key", "api_key", key, "site_id", site).is(object(fields{"valid": exactly(true), "permitted_site_ids": count(1, exactly(site))}))
	signIn(t, "/api/auth/validate-api-key", "api_key", key, "site_id", "Havelland").is(object(fields{"valid": exactly(false), "permitted_site_ids": count(1, exactly(site))}))
	for _, h := range []header{bearer, xAPIKey} {
		for _, c := range []struct {
			site   string
			status int
		}{{site, http.StatusOK}, {"Havelland", http.StatusForbidden}} {
			q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, shared.hosts[api.HostTelemetry]+"/telemetry/data-period?site_id="+c.site, nil)
			if err != nil {
				t.Fatal(err)
			}
			h.set(q, key)
			if a := send(t, q); a.status != c.status {
				t.Errorf("%s of %s: HTTP %d %s", h, c.site, a.status, a.body)
			}
		}
	}
	// A key without an end has no expires_at, and no null in its place.
	open := signIn(t, "/api/auth/api-key-info", "api_key", shared.key).is(object(fields{"api_key_id": text, "permitted_site_ids": list(text), "expires_at?": instant, "created_at": instant}))
	if slices.Contains(open.elements("permitted_site_ids"), any(nil)) {
		t.Errorf("%s", open.body)
	}
}
