package auth

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"errors"
	"strings"

	"app.sunloop/backend/admission"
	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// setupNonce, together with the key of the service, determines the setup token:
// each replica that has records and key derives the same token, and the records
// without the key do not reveal it. It is deleted with the first user.
type setupNonce struct {
	Nonce []byte `json:"nonce" limit:"1024"`
}

var setupNonces = store.Table[setupNonce]{
	Bucket: "auth/setup",
	Key:    func(setupNonce) []byte { return store.Key("nonce") },
}

// The length of a setup token, and of its groups, in characters of base32.
const (
	setupNonceBytes = 16
	setupTokenBytes = 15 // 120 bits: 24 characters
	setupTokenGroup = 6
)

// setupAccount is the name under which wrong setup tokens are counted; no user
// can have it.
const setupAccount = "\x00setup"

// errSetupToken is the refusal of a wrong or missing setup token.
func errSetupToken() error {
	return api.ErrForbidden.With("reason", "the setup token is missing or wrong; the service writes it to the file setup-token of its data folder, and to its log when it starts")
}

// SetupToken returns the one-time token that makes the first administrator,
// empty if there is a user.
func (s *Service) SetupToken(ctx context.Context) (token string, err error) {
	fresh := setupNonce{make([]byte, setupNonceBytes)}
	if _, err := rand.Read(fresh.Nonce); err != nil {
		return "", err
	}
	if empty, err := s.NeedsAdmin(ctx); err != nil || !empty {
		return "", err
	}
	err = s.records.Update(ctx, func(tx store.Tx) error {
		token = ""
		users, _, err := accounts.List(tx, store.Query{Limit: 1})
		if err != nil || len(users) > 0 {
			return err
		}
		n, err := setupNonces.Get(tx, setupNonces.Key(setupNonce{}))
		if errors.Is(err, store.ErrNotFound) {
			n, err = fresh, setupNonces.Put(tx, fresh)
		}
		token = s.setupToken(n)
		return err
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

func (s *Service) setupToken(n setupNonce) string {
	text := strings.ToLower(base32.StdEncoding.EncodeToString(s.sealer.hash(string(n.Nonce), "setup")[:setupTokenBytes]))
	var groups []string
	for ; len(text) > setupTokenGroup; text = text[setupTokenGroup:] {
		groups = append(groups, text[:setupTokenGroup])
	}
	return strings.Join(append(groups, text), "-")
}

// CheckSetupToken refuses a wrong setup token. Wrong ones are slowed down as
// wrong passwords are, the right one is not. address is where the caller is.
func (s *Service) CheckSetupToken(ctx context.Context, token, address string) error {
	if empty, err := s.NeedsAdmin(ctx); err != nil {
		return err
	} else if !empty {
		return errHasUsers()
	}
	var right string
	err := s.records.View(ctx, func(tx store.Tx) error {
		right = ""
		n, err := setupNonces.Get(tx, setupNonces.Key(setupNonce{}))
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		right = s.setupToken(n)
		return err
	})
	if err != nil {
		return err
	}
	if right != "" && subtle.ConstantTimeCompare([]byte(plainSetupToken(token)), []byte(plainSetupToken(right))) == 1 {
		return nil
	}
	wait, err := s.attempts.begin(ctx, signInAttempt{account: setupAccount, address: admission.Host(address)}, s.now())
	if err != nil {
		return err
	}
	if wait > 0 {
		return tooMany(wait)
	}
	return errSetupToken()
}

// plainSetupToken is a token as it is compared: people type it.
func plainSetupToken(token string) string {
	return strings.NewReplacer("-", "", " ", "").Replace(strings.ToLower(strings.TrimSpace(token)))
}

// endSetup invalidates the setup token.
func endSetup(tx store.Tx) error {
	key := setupNonces.Key(setupNonce{})
	if _, err := setupNonces.Get(tx, key); errors.Is(err, store.ErrNotFound) {
		return nil
	} else if err != nil {
		return err
	}
	return setupNonces.Delete(tx, key)
}
