package api

import "net/http"

// LoginRequest is the body of POST /api/auth/login.
type LoginRequest struct {
	Username string `json:"username" limit:"name"`
	Password string `json:"password" limit:"token"`
}

// LoginResponse carries either Token and User, or a challenge: MFARequired
// with MFAToken, and at first enrolment the provisioning URI of the
// authenticator.
type LoginResponse struct {
	Success         bool     `json:"success"`
	Token           string   `json:"token,omitempty"`
	ExpiresIn       int      `json:"expires_in,omitempty"` // seconds
	User            *User    `json:"user,omitempty"`
	MFARequired     bool     `json:"mfa_required,omitempty"`
	MFAToken        string   `json:"mfa_token,omitempty"`
	MFAEnrollment   bool     `json:"mfa_enrollment,omitempty"`
	ProvisioningURI string   `json:"provisioning_uri,omitempty"`
	RecoveryCodes   []string `json:"recovery_codes,omitempty"` // shown once, at enrolment

	// For the audit trail, never sent: whose sign-in it is, also while a
	// challenge is open, and how the account was and is that the sign-in made
	// or linked to a provider.
	Account       *User       `json:"-"`
	Before, After *UserRecord `json:"-"`
}

// ActionSSHKey distinguishes a sign-in by a public key from one by a password, in the
// audit trail.
const ActionSSHKey = "ssh-key"

// User is who signed in, and what the person may do.
type User struct {
	UserID                 string   `json:"user_id"`
	Username               string   `json:"username"`
	RoleID                 string   `json:"role_id"`
	RoleName               string   `json:"role_name"`
	CustomerIDs            []string `json:"customer_ids"`
	SiteIDs                []string `json:"site_ids,omitempty"` // extension: the sites of these that alone are open
	GroupID                string   `json:"group_id"`           // empty without one
	SkinID                 string   `json:"skin_id"`
	ApplicationPermissions []string `json:"application_permissions"`
}

// VerifyMFARequest is the body of POST /api/auth/verify-mfa; TOTPCode may hold
// a recovery code.
type VerifyMFARequest struct {
	MFAToken string `json:"mfa_token" limit:"token"`
	TOTPCode string `json:"totp_code" limit:"token"`
}

// ExchangeRequest is the body of POST /api/auth/exchange.
type ExchangeRequest struct {
	ExternalToken string `json:"external_token" limit:"token"` // an ID token of the provider, for this service's client id
	Provider      string `json:"provider" limit:"id"`          // as the configuration of the service names it
	Nonce         string `json:"nonce,omitempty" limit:"text"` // if given, the token must have it
}

// RefreshResponse is the answer of POST /api/auth/refresh.
type RefreshResponse struct {
	Success   bool   `json:"success"`
	Token     string `json:"token"`
	ExpiresIn int    `json:"expires_in"` // seconds
}

// SetupRequest is the body of POST /api/auth/setup (extension): it makes the
// first administrator and is refused once any user exists.
type SetupRequest struct {
	Username string `json:"username" limit:"name"`
	Password string `json:"password" limit:"token"`
	// SetupToken is the one-time token that the service writes to the file
	// setup-token of its data folder and to its log when it starts.
	SetupToken string `json:"setup_token,omitempty" limit:"token"`
}

// SetupStatus is the answer of GET /api/auth/setup (extension).
type SetupStatus struct {
	Success    bool `json:"success"`
	NeedsAdmin bool `json:"needs_admin"`
	NeedsToken bool `json:"needs_token"` // setup_token is required
}

// APIKeyInfoRequest is the body of POST /api/auth/api-key-info.
type APIKeyInfoRequest struct {
	APIKey string `json:"api_key" limit:"token"`
}

// APIKeyInfo describes a key without the key.
type APIKeyInfo struct {
	Success          bool     `json:"success"`
	APIKeyID         string   `json:"api_key_id"`
	PermittedSiteIDs []string `json:"permitted_site_ids"`
	ExpiresAt        Time     `json:"expires_at,omitzero"`
	IsExpired        bool     `json:"is_expired"`
	CreatedAt        Time     `json:"created_at"`
}

// ValidateAPIKeyRequest is the body of POST /api/auth/validate-api-key.
type ValidateAPIKeyRequest struct {
	APIKey string `json:"api_key" limit:"token"`
	SiteID string `json:"site_id" limit:"id"`
}

// ValidateAPIKeyResponse says whether the key opens the site.
type ValidateAPIKeyResponse struct {
	Success          bool     `json:"success"`
	Valid            bool     `json:"valid"`
	PermittedSiteIDs []string `json:"permitted_site_ids"`
}

// Done is the answer of calls that return nothing else.
type Done struct {
	Success bool   `json:"success"`
	Message string `json:"message,omitempty"`
}

// KeySet is the answer of GET /.well-known/jwks.json: the public keys that
// check users' tokens, as RFC 7517 has them.
type KeySet struct {
	Keys []PublicKey `json:"keys"`
}

// PublicKey is one of them.
type PublicKey struct {
	KeyType   string `json:"kty"` // OKP
	Curve     string `json:"crv"` // Ed25519
	X         string `json:"x"`   // the key, base64url
	KeyID     string `json:"kid"`
	Use       string `json:"use"` // sig
	Algorithm string `json:"alg"` // EdDSA
}

var login = Route{
	Name: "login", Path: PathLogin, Host: HostAuth, Credential: CredentialNone,
	Summary: "Sign in", Description: "Returns a token, or a challenge for the second factor to pass to /api/auth/verify-mfa.",
	Example: LoginRequest{Username: "ada", Password: "correct horse battery"},
	Reply:   LoginResponse{Success: true, MFARequired: true, MFAToken: "mfa_…"},
	Errors:  []*Error{MissingField("username"), ErrInvalidCredential, ErrUserInactive},
}

// Login signs a person in.
var Login = define[LoginRequest, LoginResponse](&login, Operation{Fields: Fields{required("username"), required("password")}})

var verifyMFA = Route{
	Name: "verify-mfa", Path: PathVerifyMFA, Host: HostAuth, Credential: CredentialNone,
	Summary: "Answer the challenge of a sign-in", Description: "Takes the six digits of the authenticator, or a recovery code. A challenge is valid for 5 minutes and 5 attempts.",
	Example: VerifyMFARequest{MFAToken: "mfa_…", TOTPCode: "123456"},
	Errors:  []*Error{MissingField("totp_code"), ErrInvalidTOTP, ErrMFATokenExpired, ErrUserInactive},
}

// VerifyMFA completes a sign-in with a code.
var VerifyMFA = define[VerifyMFARequest, LoginResponse](&verifyMFA, Operation{Fields: Fields{required("mfa_token"), required("totp_code")}})

var exchange = Route{
	Name: "exchange", Path: PathExchange, Host: HostAuth, Credential: CredentialNone,
	Summary: "Sign in with the token of an identity provider", Description: "Takes an ID token of an OpenID Connect provider that the service is configured for; its sign-in replaces password and second factor.",
	Example: ExchangeRequest{ExternalToken: "eyJhbGciOiJSUzI1NiJ9.…", Provider: "company"},
	Errors: []*Error{MissingField("external_token"), InvalidField("provider", "no identity provider of this service"), ErrInvalidToken, ErrTokenExpired,
		ErrUserInactive, ErrForbidden.With("reason", "there is no user of this name")},
}

// Exchange signs a person in with the token of an identity provider.
var Exchange = define[ExchangeRequest, LoginResponse](&exchange, Operation{Fields: Fields{required("external_token"), required("provider")}})

var refresh = Route{
	Name: "refresh", Path: PathRefresh, Host: HostAuth, Credential: CredentialUser,
	Summary: "Renew a token", Description: "The given token is revoked.",
	Reply:  RefreshResponse{Success: true, Token: exampleJWT, ExpiresIn: 86400},
	Errors: []*Error{ErrTokenExpired, ErrInvalidToken, ErrUserInactive},
}

// Refresh replaces a user's token.
var Refresh = define[None, RefreshResponse](&refresh, Operation{})

var logout = Route{
	Name: "logout", Path: PathLogout, Host: HostAuth, Credential: CredentialUser,
	Summary: "Sign out", Description: "The token is revoked.", Errors: []*Error{ErrTokenExpired, ErrInvalidToken},
}

// Logout revokes a user's token.
var Logout = define[None, Done](&logout, Operation{})

var apiKeyInfo = Route{
	Name: "api-key-info", Path: PathAPIKeyInfo, Host: HostAuth, Credential: CredentialNone,
	Summary: "Get the scope of an API key", Description: "Returns the sites to which a key has access, and its expiry. An expired key is described too, with is_expired; a revoked or unknown one is a 401.",
	Example: APIKeyInfoRequest{APIKey: exampleKey}, Errors: []*Error{MissingField("api_key"), ErrAPIKeyNotFound},
}

// GetAPIKeyInfo describes an API key.
var GetAPIKeyInfo = define[APIKeyInfoRequest, APIKeyInfo](&apiKeyInfo, Operation{ReadOnly: true, Fields: Fields{required("api_key")}})

var validateAPIKey = Route{
	Name: "validate-api-key", Path: PathValidateAPIKey, Host: HostAuth, Credential: CredentialNone,
	Summary: "Check whether an API key has access to a site", Description: "A key without access gets 403.",
	Example: ValidateAPIKeyRequest{APIKey: exampleKey, SiteID: exampleSite},
	Errors:  []*Error{MissingField("site_id"), ErrAPIKeyNotFound, ErrSiteNotPermitted},
}

// ValidateAPIKey reports whether an API key permits a site.
var ValidateAPIKey = define[ValidateAPIKeyRequest, ValidateAPIKeyResponse](&validateAPIKey, Operation{ReadOnly: true, Fields: Fields{required("api_key"), required("site_id")}})

var setupStatus = Route{
	Name: "setup-status", Method: http.MethodGet, Path: PathSetup, Host: HostAuth, Credential: CredentialNone,
	Summary: "Check whether an administrator exists", Description: "A new service has none.",
}

// GetSetupStatus reports whether the service has an administrator.
var GetSetupStatus = define[None, SetupStatus](&setupStatus, Operation{})

var setup = Route{
	Name: "setup", Path: PathSetup, Host: HostAuth, Credential: CredentialNone,
	Summary: "Create the first administrator", Description: "Only from the service's own machine, with the one-time token that the service writes to the file setup-token of its data folder and to its log, and only while no user exists.",
	Errors: []*Error{MissingField("username"), ErrForbidden, AlreadyExists("The first administrator exists already")},
}

// Setup creates the first administrator.
var Setup = define[SetupRequest, LoginResponse](&setup, Operation{Fields: Fields{required("username"), required("password")}})

var keySet = Route{
	Name: "key-set", Method: http.MethodGet, Path: PathKeySet, Host: HostAuth, Credential: CredentialNone,
	Summary: "Get the public keys that verify users' tokens", Description: "A JSON Web Key Set. A rotated key stays in it until all its tokens have expired.",
}

// GetKeySet returns the public keys that verify users' tokens.
var GetKeySet = define[None, KeySet](&keySet, Operation{Cacheable: true})
