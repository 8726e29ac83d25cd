package auth

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"time"

	"app.sunloop/backend/admission"
	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// The budget of wrong codes of an account over all its challenges.
const (
	codeBudget       = 10
	codeBudgetWindow = 15 * time.Minute
)

// challenge waits for a code. Its id is the hash of the token that the
// person holds.
type challenge struct {
	ID      []byte    `json:"id" limit:"64"`
	UserID  string    `json:"user_id" limit:"id"`
	Expires time.Time `json:"expires"`
	Tries   int       `json:"tries"`
	Pending []byte    `json:"pending,omitempty" limit:"4096"` // sealed secret of an enrolment
	Network []byte    `json:"network,omitempty" limit:"1024"` // hash of that of the password
}

var challenges = store.Table[challenge]{
	Bucket: "auth/challenges",
	Key:    func(c challenge) []byte { return store.Key(string(c.ID)) },
}

func challengeID(token string) []byte {
	h := sha256.Sum256([]byte(token))
	return h[:]
}

// Login checks a password. The answer is a token, or a challenge for
// VerifyMFA when the user has an authenticator or must enrol one. address is
// where the try comes from.
func (s *Service) Login(ctx context.Context, username, password, address string) (api.LoginResponse, error) {
	var none api.LoginResponse
	if len(username) > 4*MaxUsernameRunes || len(password) > MaxPasswordBytes {
		return none, api.ErrInvalidCredential
	}
	var a account
	err := s.records.View(ctx, func(tx store.Tx) (err error) {
		a, err = byName(tx, username)
		if errors.Is(err, store.ErrNotFound) {
			a, err = account{}, nil
		}
		return err
	})
	if err != nil {
		return none, err
	}
	try := signInAttempt{account: folded(username), address: admission.Host(address), known: s.knowsNetwork(a, address)}
	ok, outdated, err := s.checkPassword(ctx, try, admission.Network(address), password, a.Hash)
	if err != nil {
		return none, about(a.ID, err)
	}
	if !ok {
		return none, about(a.ID, api.ErrInvalidCredential)
	}
	if err := s.attempts.succeed(ctx, try); err != nil {
		return none, err
	}
	if a.Inactive {
		return none, about(a.ID, api.ErrUserInactive)
	}
	fresh := ""
	if outdated {
		if fresh, err = s.passwords.hash(ctx, password); err != nil {
			return none, err
		}
	}
	now := s.now()
	if a.TOTP == nil && !s.requireMFA {
		return s.admit(ctx, a, fresh, address, now)
	}
	return s.challenge(ctx, a, fresh, address, now)
}

// checkPassword compares a password when the turn of the caller has come. A try
// that must wait, or finds the queue full, is not counted.
func (s *Service) checkPassword(ctx context.Context, t signInAttempt, network, password, hash string) (ok, outdated bool, err error) {
	wait, err := s.attempts.wait(ctx, t, s.now())
	if err != nil {
		return false, false, err
	}
	if wait > 0 {
		return false, false, tooMany(wait)
	}
	leave, err := s.passwords.queue.enter(ctx, network, t.known, s.passwords.isLarge(hash))
	if err != nil {
		return false, false, err
	}
	defer leave()
	// Others may have failed while this one waited.
	if wait, err = s.attempts.begin(ctx, t, s.now()); err != nil {
		return false, false, err
	}
	if wait > 0 {
		return false, false, tooMany(wait)
	}
	return s.passwords.check(password, hash)
}

// admit signs in after the password was verified. The account is read again,
// because it may have changed meanwhile.
func (s *Service) admit(ctx context.Context, was account, fresh, address string, now time.Time) (api.LoginResponse, error) {
	var a account
	var e session
	err := s.records.Update(ctx, func(tx store.Tx) (err error) {
		a, err = unchanged(tx, was.ID, was.Hash)
		if err != nil {
			return err
		}
		if a.TOTP != nil {
			return api.ErrInvalidCredential
		}
		if fresh != "" {
			a.Hash = fresh
		}
		a.addNetwork(s.networkHash(a.ID, admission.Network(address)), now)
		e, err = s.startSession(tx, a, now)
		return err
	})
	if err != nil {
		return api.LoginResponse{}, err
	}
	return s.signedIn(ctx, a, e, now)
}

func (s *Service) challenge(ctx context.Context, a account, fresh, address string, now time.Time) (api.LoginResponse, error) {
	raw := make([]byte, 32)
	if _, err := rand.Read(raw); err != nil {
		return api.LoginResponse{}, err
	}
	token := base64.RawURLEncoding.EncodeToString(raw)
	c := challenge{ID: challengeID(token), UserID: a.ID, Expires: now.UTC().Add(api.ChallengeLifetime), Network: s.networkHash(a.ID, admission.Network(address))}
	answer := api.LoginResponse{Success: true, MFARequired: true, MFAToken: token, Account: a.wire()}
	if a.TOTP == nil {
		secret, err := newTOTPSecret()
		if err != nil {
			return api.LoginResponse{}, err
		}
		c.Pending = s.sealer.seal([]byte(secret), "pending/"+a.ID)
		answer.MFAEnrollment = true
		answer.ProvisioningURI = provisioningURI(s.issuer, a.Username, secret)
	}
	err := s.records.Update(ctx, func(tx store.Tx) error {
		now, err := unchanged(tx, a.ID, a.Hash)
		if err != nil {
			return err
		}
		if fresh != "" {
			now.Hash = fresh
			if err := accounts.Put(tx, now); err != nil {
				return err
			}
		}
		return challenges.Insert(tx, c)
	})
	if err != nil {
		return api.LoginResponse{}, err
	}
	return answer, nil
}

// unchanged is the account, unless its password has changed since.
func unchanged(tx store.Tx, userID, hash string) (account, error) {
	a, err := accounts.Get(tx, store.Key(userID))
	switch {
	case errors.Is(err, store.ErrNotFound) || err == nil && a.Hash != hash:
		return a, api.ErrInvalidCredential
	case err == nil && a.Inactive:
		return a, api.ErrUserInactive
	}
	return a, err
}

// VerifyMFA answers a challenge with a code of the authenticator or a
// recovery code. At enrolment the answer carries the recovery codes, once.
func (s *Service) VerifyMFA(ctx context.Context, mfaToken, code string) (api.LoginResponse, error) {
	now := s.now()
	code = plainCode(code)
	var a account
	var e session
	var codes []string
	var outcome error // a refusal that must not roll back the count of tries
	err := s.records.Update(ctx, func(tx store.Tx) error {
		outcome, codes = nil, nil
		c, err := challenges.Get(tx, store.Key(string(challengeID(mfaToken))))
		if errors.Is(err, store.ErrNotFound) {
			outcome = api.ErrMFATokenExpired
			return nil
		}
		if err != nil {
			return err
		}
		end := func(refusal error) error {
			outcome = refusal
			return challenges.Delete(tx, challenges.Key(c))
		}
		if !now.Before(c.Expires) {
			return end(api.ErrMFATokenExpired)
		}
		a, err = accounts.Get(tx, store.Key(c.UserID))
		switch {
		case errors.Is(err, store.ErrNotFound):
			return end(api.ErrMFATokenExpired)
		case err != nil:
			return err
		case a.Inactive:
			return end(api.ErrUserInactive)
		case (c.Pending != nil) == (a.TOTP != nil):
			// Enrolled by another challenge, or reset, since this one began.
			return end(api.ErrMFATokenExpired)
		}
		if wait := lockoutDelay(&a, now); wait > 0 {
			outcome = tooMany(wait)
			return nil
		}
		ok := false
		if c.Pending != nil {
			ok, codes, err = s.enrol(&a, c, code, now)
		} else {
			ok, err = s.codeMatches(&a, code, now)
		}
		if err != nil {
			return err
		}
		if ok {
			if err := challenges.Delete(tx, challenges.Key(c)); err != nil {
				return err
			}
			a.Failures = nil
			a.addNetwork(c.Network, now)
			e, err = s.startSession(tx, a, now)
			return err
		}
		outcome = api.ErrInvalidTOTP
		a.Failures = append(a.Failures, now.UTC())
		if err := accounts.Put(tx, a); err != nil {
			return err
		}
		if c.Tries++; c.Tries >= api.ChallengeTries {
			return challenges.Delete(tx, challenges.Key(c))
		}
		return challenges.Put(tx, c)
	})
	if err == nil {
		err = about(a.ID, outcome)
	}
	if err != nil {
		return api.LoginResponse{}, err
	}
	s.known.invalidate()
	answer, err := s.signedIn(ctx, a, e, now)
	answer.RecoveryCodes = codes
	return answer, err
}

// lockoutDelay drops old failures and returns the waiting time if the budget is used
// up. Callers have given the right password, so others cannot use up the
// budget.
func lockoutDelay(a *account, now time.Time) time.Duration {
	for len(a.Failures) > 0 && now.Sub(a.Failures[0]) >= codeBudgetWindow {
		a.Failures = a.Failures[1:]
	}
	if len(a.Failures) < codeBudget {
		return 0
	}
	return a.Failures[0].Add(codeBudgetWindow).Sub(now)
}

// enrol makes the pending secret of the challenge the account's, if the code
// matches it.
func (s *Service) enrol(a *account, c challenge, code string, now time.Time) (ok bool, codes []string, err error) {
	secret, err := s.sealer.open(c.Pending, "pending/"+a.ID)
	if err != nil {
		return false, nil, err
	}
	step, ok := matchStep(string(secret), code, now, 0)
	if !ok {
		return false, nil, nil
	}
	if codes, err = newRecoveryCodes(); err != nil {
		return false, nil, err
	}
	a.TOTP = &authenticator{Sealed: s.sealer.seal(secret, "totp/"+a.ID), LastStep: step}
	for _, text := range codes {
		a.TOTP.Recovery = append(a.TOTP.Recovery, s.sealer.hash(plainCode(text), "recovery/"+a.ID))
	}
	return true, codes, nil
}

// codeMatches takes a code of the authenticator or a recovery code, and marks
// it as used in the account.
func (s *Service) codeMatches(a *account, code string, now time.Time) (bool, error) {
	secret, err := s.sealer.open(a.TOTP.Sealed, "totp/"+a.ID)
	if err != nil {
		return false, err
	}
	if step, ok := matchStep(string(secret), code, now, a.TOTP.LastStep); ok {
		a.TOTP.LastStep = step
		return true, nil
	}
	hash := s.sealer.hash(code, "recovery/"+a.ID)
	for i, h := range a.TOTP.Recovery {
		if subtle.ConstantTimeCompare(h, hash) == 1 {
			rest := make([][]byte, 0, len(a.TOTP.Recovery)-1)
			for j, other := range a.TOTP.Recovery {
				if j != i {
					rest = append(rest, bytes.Clone(other))
				}
			}
			a.TOTP.Recovery = rest
			return true, nil
		}
	}
	return false, nil
}

func (s *Service) signedIn(ctx context.Context, a account, e session, now time.Time) (api.LoginResponse, error) {
	token, err := s.sign(ctx, a, e, now)
	if err != nil {
		return api.LoginResponse{}, err
	}
	who := a.wire()
	return api.LoginResponse{Success: true, Token: token, ExpiresIn: int(s.lifetime / time.Second), User: who, Account: who}, nil
}
