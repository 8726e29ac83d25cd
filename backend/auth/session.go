package auth

import (
	"context"
	"errors"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// session is a sign-in with its renewals: exactly one token of
// it is good at a time. A token whose session is gone is revoked.
type session struct {
	ID        string    `json:"id" limit:"id"`
	UserID    string    `json:"user_id" limit:"id"`
	TokenID   string    `json:"token_id" limit:"id"` // jti of the good one
	CreatedAt time.Time `json:"created_at"`
	Expires   time.Time `json:"expires"`
}

var sessions = store.Table[session]{
	Bucket: "auth/sessions",
	Key:    func(e session) []byte { return store.Key(e.ID) },
	Indexes: []store.Index[session]{
		{Name: "user", Key: func(e session) []byte { return store.Key(e.UserID) }},
	},
}

// startSession writes a new session and the time of sign-in.
func (s *Service) startSession(tx store.Tx, a account, now time.Time) (session, error) {
	a.LastLoginAt = now.UTC()
	if err := accounts.Put(tx, a); err != nil {
		return session{}, err
	}
	e := session{ID: s.newID("ses"), UserID: a.ID, TokenID: s.newID("tok"), CreatedAt: now.UTC(), Expires: now.UTC().Add(s.lifetime)}
	return e, sessions.Insert(tx, e)
}

// endSessions revokes all tokens of a user.
func endSessions(tx store.Tx, userID string) error {
	all, _, err := sessions.List(tx, store.Query{Index: "user", Prefix: store.Key(userID)})
	if err != nil {
		return err
	}
	for _, e := range all {
		if err := sessions.Delete(tx, sessions.Key(e)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Service) authenticateToken(ctx context.Context, token string, now time.Time) (Principal, time.Time, error) {
	if strings.Count(token, ".") != 2 {
		return Principal{}, time.Time{}, api.ErrUnauthorized
	}
	c, err := s.parse(ctx, token, now)
	if err != nil {
		return Principal{}, time.Time{}, err
	}
	var a account
	err = s.records.View(ctx, func(tx store.Tx) error {
		e, err := sessions.Get(tx, store.Key(c.SessionID))
		if errors.Is(err, store.ErrNotFound) || err == nil && (e.TokenID != c.ID || e.UserID != c.UserID) {
			return api.ErrInvalidToken
		}
		if err != nil {
			return err
		}
		// Role and customers are the record's, not the token's: a change acts
		// at once.
		a, err = accounts.Get(tx, store.Key(c.UserID))
		if errors.Is(err, store.ErrNotFound) {
			return api.ErrInvalidToken
		}
		return err
	})
	switch {
	case err != nil:
		return Principal{}, time.Time{}, err
	case a.Inactive:
		return Principal{}, time.Time{}, api.ErrUserInactive
	}
	return a.principal(), c.ExpiresAt.Time, nil
}

// Refresh gives a new token for a good one, which is revoked. A token that
// was revoked by a refresh before is a stolen one or its victim's: the whole
// session ends.
func (s *Service) Refresh(ctx context.Context, token string) (api.RefreshResponse, error) {
	now := s.now()
	c, err := s.parse(ctx, token, now)
	if err != nil {
		return api.RefreshResponse{}, err
	}
	defer s.known.invalidate()
	var a account
	var e session
	var outcome error // a refusal that must not roll back what is written
	err = s.records.Update(ctx, func(tx store.Tx) error {
		outcome = nil
		var err error
		e, err = sessions.Get(tx, store.Key(c.SessionID))
		if errors.Is(err, store.ErrNotFound) {
			outcome = api.ErrInvalidToken
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case e.UserID != c.UserID:
			outcome = api.ErrInvalidToken
			return nil
		case e.TokenID != c.ID:
			outcome = api.ErrInvalidToken
			return sessions.Delete(tx, sessions.Key(e))
		case !now.Before(e.CreatedAt.Add(maxSession)):
			outcome = api.ErrTokenExpired
			return sessions.Delete(tx, sessions.Key(e))
		}
		a, err = accounts.Get(tx, store.Key(e.UserID))
		if err != nil {
			return err
		}
		if a.Inactive {
			outcome = api.ErrUserInactive
			return nil
		}
		e.TokenID, e.Expires = s.newID("tok"), now.UTC().Add(s.lifetime)
		return sessions.Put(tx, e)
	})
	if err == nil {
		err = outcome
	}
	if err != nil {
		return api.RefreshResponse{}, err
	}
	fresh, err := s.sign(ctx, a, e, now)
	if err != nil {
		return api.RefreshResponse{}, err
	}
	return api.RefreshResponse{Success: true, Token: fresh, ExpiresIn: int(s.lifetime / time.Second)}, nil
}

// EndReused ends the session of a token that a renewal has replaced: either the
// token or its replacement is stolen. The token may have expired since. userID
// is that of the session that ended, empty if the token is not such a token.
func (s *Service) EndReused(ctx context.Context, token string) (userID string, err error) {
	c, err := s.parse(ctx, token, s.now())
	if err != nil && !errors.Is(err, api.ErrTokenExpired) {
		if refusal := (*api.Error)(nil); errors.As(err, &refusal) {
			err = nil
		}
		return "", err
	}
	err = s.records.Update(ctx, func(tx store.Tx) error {
		userID = ""
		e, err := sessions.Get(tx, store.Key(c.SessionID))
		if errors.Is(err, store.ErrNotFound) || err == nil && (e.UserID != c.UserID || e.TokenID == c.ID) {
			return nil
		}
		if err != nil {
			return err
		}
		userID = e.UserID
		return sessions.Delete(tx, sessions.Key(e))
	})
	if userID != "" {
		s.known.invalidate()
	}
	return userID, err
}

// Logout revokes the token and its session.
func (s *Service) Logout(ctx context.Context, token string) error {
	c, err := s.parse(ctx, token, s.now())
	if err != nil {
		return err
	}
	defer s.known.invalidate()
	return s.records.Update(ctx, func(tx store.Tx) error {
		e, err := sessions.Get(tx, store.Key(c.SessionID))
		if errors.Is(err, store.ErrNotFound) || err == nil && e.TokenID != c.ID {
			return api.ErrInvalidToken
		}
		if err != nil {
			return err
		}
		return sessions.Delete(tx, sessions.Key(e))
	})
}
