package api

import "time"

// Paths and actions of administration.
const (
	PathUsers = "/terminal/users"
	PathKeys  = "/terminal/keys"

	ActionResetPassword = "reset-password"
	ActionResetMFA      = "reset-mfa"
	ActionUnlink        = "unlink"
	ActionUnlock        = "unlock"
	ActionDelete        = "delete"
	ActionRotate        = "rotate"
	ActionRevoke        = "revoke"
)

// FieldSSHKeys names the public keys of a user in refusals.
const FieldSSHKeys = "ssh_public_keys"

// UsersRequest is the body of POST /terminal/users.
type UsersRequest struct {
	Action      string   `json:"action,omitempty" limit:"word"`
	CustomerID  string   `json:"customer_id,omitempty" limit:"id"` // list: users who may see the data of the customer
	UserID      string   `json:"user_id,omitempty" limit:"id"`
	Username    string   `json:"username,omitempty" limit:"name"` // also instead of user_id
	Password    string   `json:"password,omitempty" limit:"token"`
	RoleID      string   `json:"role_id,omitempty" limit:"id"`           // add, set, list
	CustomerIDs []string `json:"customer_ids,omitempty" limit:"1000 id"` // whose data the user sees; * is all
	SiteIDs     []string `json:"site_ids,omitempty" limit:"1000 id"`     // of these customers; without it, or *, all
	Active      *bool    `json:"active,omitempty"`                       // set: false blocks the user and ends all sessions; list: only users who are, or are not
	GroupID     *string  `json:"group_id,omitempty" limit:"id"`          // of the user in the caller's own systems; in tokens from the next sign-in on; empty removes it
	SkinID      *string  `json:"skin_id,omitempty" limit:"id"`           // as group_id: appearance of the caller's own systems
	// SSHPublicKeys are the user's keys for the console over SSH, each a line as in a
	// .pub file. They replace the former keys; [] removes all.
	SSHPublicKeys []string `json:"ssh_public_keys,omitzero" limit:"20 token"`
	Page
}

// UsersResponse lists users, or holds the one that was asked for or changed.
type UsersResponse struct {
	Success    bool         `json:"success"`
	Message    string       `json:"message,omitempty"`
	Users      []UserRecord `json:"users,omitzero"`
	User       *UserRecord  `json:"user,omitempty"`
	UserID     string       `json:"user_id,omitempty"`
	Count      int          `json:"count"`
	NextCursor string       `json:"next_cursor,omitempty"`
}

// UserRecord is a user as administrators see one.
type UserRecord struct {
	UserID        string   `json:"user_id" limit:"id"`
	Username      string   `json:"username" limit:"name"`
	RoleID        string   `json:"role_id" limit:"id"`
	RoleName      string   `json:"role_name" limit:"word"`
	CustomerIDs   []string `json:"customer_ids" limit:"1000 id"`
	SiteIDs       []string `json:"site_ids" limit:"1000 id"`
	GroupID       string   `json:"group_id,omitempty" limit:"id"`
	SkinID        string   `json:"skin_id,omitempty" limit:"id"`
	Active        bool     `json:"active"`
	MFAEnrolled   bool     `json:"mfa_enrolled"`                               // has an authenticator
	RecoveryCodes int      `json:"recovery_codes_left"`                        // of the authenticator
	SSHPublicKeys []string `json:"ssh_public_keys,omitempty" limit:"20 token"` // for the console over SSH
	Issuer        string   `json:"issuer,omitempty" limit:"url"`               // identity provider of the user's sign-in
	CreatedAt     Time     `json:"created_at"`
	LastLoginAt   Time     `json:"last_login_at,omitzero"` // absent: never
	UpdatedAtMS   int64    `json:"updated_at_ms"`          // when the record was changed last or the user signed in, in milliseconds since 1970
	LockedUntil   Time     `json:"locked_until,omitzero"`  // until then no code is accepted, after too many wrong ones; may be in the past
}

// KeysRequest is the body of POST /terminal/keys.
type KeysRequest struct {
	Action           string   `json:"action,omitempty" limit:"word"`
	CustomerID       string   `json:"customer_id,omitempty" limit:"id"` // list: keys with access to the data of the customer
	APIKeyID         string   `json:"api_key_id,omitempty" limit:"id"`
	Name             string   `json:"name,omitempty" limit:"name"`                  // what the key is for
	RoleID           string   `json:"role_id,omitempty" limit:"id"`                 // create: default role_operator; list: only keys of the role
	State            string   `json:"state,omitempty" limit:"word"`                 // list: good, expired or revoked
	PermittedSiteIDs []string `json:"permitted_site_ids,omitempty" limit:"1000 id"` // absent: all sites of the customers
	CustomerIDs      []string `json:"customer_ids,omitempty" limit:"1000 id"`       // absent: those of the administrator
	ExpiresAt        Time     `json:"expires_at,omitzero"`                          // absent: never; rotate: absent: that of the former key
	OverlapHours     *int     `json:"overlap_hours,omitempty"`                      // rotate: hours for which the former key remains valid; default 24
	RatePerMinute    *int     `json:"rate_per_minute,omitempty"`                    // accepted requests a minute, 0 for no limit; absent: that of the contract, for a collector no limit
	Page
}

// KeysResponse lists API keys, or holds the one that was asked for or changed.
type KeysResponse struct {
	Success    bool        `json:"success"`
	Message    string      `json:"message,omitempty"`
	Keys       []KeyRecord `json:"keys,omitzero"`
	Key        *KeyRecord  `json:"key,omitempty"`
	APIKey     string      `json:"api_key,omitempty"` // the key, which is returned only by create and rotate
	APIKeyID   string      `json:"api_key_id,omitempty"`
	Count      int         `json:"count"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

// KeyRecord is an API key without the key.
type KeyRecord struct {
	APIKeyID         string   `json:"api_key_id" limit:"id"`
	Name             string   `json:"name" limit:"name"`
	RoleID           string   `json:"role_id" limit:"id"`
	PermittedSiteIDs []string `json:"permitted_site_ids" limit:"1000 id"`
	CustomerIDs      []string `json:"customer_ids" limit:"1000 id"`
	State            string   `json:"state" limit:"word"`
	CreatedAt        Time     `json:"created_at"`
	CreatedBy        string   `json:"created_by,omitempty" limit:"id"`
	ExpiresAt        Time     `json:"expires_at,omitzero"` // absent: never
	RevokedAt        Time     `json:"revoked_at,omitzero"`
	UpdatedAtMS      int64    `json:"updated_at_ms"`                 // when it was changed or expired last, in milliseconds since 1970
	Replaces         string   `json:"replaces,omitempty" limit:"id"` // the rotated key that it replaces
	RateClass        string   `json:"rate_class" limit:"word"`       // default, custom or none
	RatePerMinute    int      `json:"rate_per_minute"`               // accepted requests a minute and API; 0: no limit
	Usage            KeyUsage `json:"usage"`
}

// KeyUsage counts the requests of an API key. The counts are at most a minute old; a crash
// loses those of the last minute.
type KeyUsage struct {
	Requests      int64 `json:"requests"`
	Refused       int64 `json:"refused"` // of the requests: answered with an error
	Points        int64 `json:"points"`  // of telemetry written
	RequestsToday int64 `json:"requests_today"`
	PointsToday   int64 `json:"points_today"`
	LastUsedAt    Time  `json:"last_used_at,omitzero"` // absent: never
}

// Rate classes of API keys.
const (
	RateDefault = "default" // the contract's
	RateCustom  = "custom"
	RateNone    = "none" // not limited
)

// MaxKeyRate is the highest rate of an API key, in requests a minute.
const MaxKeyRate = 100_000

// States of an API key.
const (
	KeyGood    = "good"
	KeyExpired = "expired"
	KeyRevoked = "revoked"
)

// KeyStates are all of them.
func KeyStates() []string { return []string{KeyGood, KeyExpired, KeyRevoked} }

// The overlap of a rotation of an API key.
const (
	DefaultOverlap = 24 * time.Hour
	MaxOverlap     = 30 * 24 * time.Hour
)

// ErrUserNotFound refuses the id of a user who does not exist or whom the caller may not see.
var ErrUserNotFound = UnknownID("User not found")

var users = Route{
	Name: "users", Path: PathUsers,
	Summary: "List, create and change users", Description: "By name. An administrator lists and creates only users whose role, customers and sites are within the administrator's own; the last administrator cannot be removed.",
	Example: UsersRequest{Action: ActionAdd, Username: "ana", Password: "correct horse battery", RoleID: RoleOperator, CustomerIDs: []string{exampleCustomer}},
	Errors: []*Error{ErrInvalidAction, MissingField("user_id"), ErrUserNotFound, ErrForbidden, AlreadyExists("The username ana is taken"),
		Conflict("The last active administrator cannot be removed")},
}

// Users.
var (
	ListUsers = define[UsersRequest, UsersResponse](&users, Operation{Action: ActionList, DefaultAction: true, Permission: PermissionUsers, Cacheable: true,
		Fields: Fields{optional("role_id").oneOf(RoleAdmin, RoleOperator, RoleTechnician, RoleAnalyst, RoleCollector), since(), pageLimit()}})
	GetUser = define[UsersRequest, UsersResponse](&users, Operation{Action: ActionGet, Permission: PermissionUsers, Cacheable: true, Fields: Fields{theUser()}})
	AddUser = define[UsersRequest, UsersResponse](&users, Operation{Action: ActionAdd, Permission: PermissionUsers, Idempotent: true,
		Fields: Fields{required("username"), required("password"), required("role_id")}})
	SetUser = userMove(ActionSet, rule(func(r *UsersRequest) error {
		if r.RoleID == "" && r.CustomerIDs == nil && r.SiteIDs == nil && r.GroupID == nil && r.SkinID == nil && r.Active == nil && r.SSHPublicKeys == nil {
			return MissingField("role_id, customer_ids, site_ids, group_id, skin_id, active or " + FieldSSHKeys)
		}
		return nil
	}))
	ResetPassword = userMove(ActionResetPassword, required("password"))
	ResetMFA      = userMove(ActionResetMFA)
	UnlinkUser    = userMove(ActionUnlink)
	UnlockUser    = userMove(ActionUnlock)
	DeleteUser    = userMove(ActionDelete)
)

// theUser is a user by id or name.
func theUser() Field { return required("user_id").or("username") }

func userMove(action string, fields ...Field) Endpoint[UsersRequest, UsersResponse] {
	return define[UsersRequest, UsersResponse](&users, Operation{Action: action, Permission: PermissionUsers, Fields: append(Fields{theUser()}, fields...)})
}

var keys = Route{
	Name: "keys", Path: PathKeys,
	Summary: "List, create, rotate and revoke API keys", Description: "Oldest first. A key is shown once, when it is created. A rotation creates a key with the same scope; the old one stays valid for some hours.",
	Example: KeysRequest{Action: ActionCreate, Name: "dashboard", RoleID: RoleAnalyst, PermittedSiteIDs: []string{exampleSite}, CustomerIDs: []string{exampleCustomer}},
	Errors: []*Error{ErrInvalidAction, MissingField("api_key_id"), {Status: 404, Message: ErrAPIKeyNotFound.Message}, ErrForbidden,
		InvalidTransition("API key key_01J9Z0 is revoked; it cannot be rotated")},
}

// API keys.
var (
	ListKeys = define[KeysRequest, KeysResponse](&keys, Operation{Action: ActionList, DefaultAction: true, Permission: PermissionUsers, Cacheable: true,
		Fields: Fields{optional("role_id").oneOf(RoleAdmin, RoleOperator, RoleTechnician, RoleAnalyst, RoleCollector), optional("state").oneOf(KeyStates()...), since(), pageLimit()}})
	GetKey    = define[KeysRequest, KeysResponse](&keys, Operation{Action: ActionGet, Permission: PermissionUsers, Cacheable: true, Fields: Fields{required("api_key_id")}})
	CreateKey = define[KeysRequest, KeysResponse](&keys, Operation{Action: ActionCreate, Permission: PermissionUsers, Idempotent: true, Fields: Fields{required("name")}})
	RotateKey = define[KeysRequest, KeysResponse](&keys, Operation{Action: ActionRotate, Permission: PermissionUsers, Idempotent: true,
		Fields: Fields{required("api_key_id"), optional("overlap_hours").between(0, MaxOverlap.Hours())}})
	RevokeKey = define[KeysRequest, KeysResponse](&keys, Operation{Action: ActionRevoke, Permission: PermissionUsers, Fields: Fields{required("api_key_id")}})
)
