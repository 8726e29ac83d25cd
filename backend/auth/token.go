package auth

import (
	"context"
	"errors"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
	"github.com/golang-jwt/jwt/v5"
)

// claims of a token: those of the specification and the registered ones.
type claims struct {
	UserID      string   `json:"user_id"`
	Username    string   `json:"username"`
	RoleID      string   `json:"role_id"`
	CustomerIDs []string `json:"customer_ids"`
	GroupID     string   `json:"group_id"`
	SkinID      string   `json:"skin_id"`
	SessionID   string   `json:"sid"`
	jwt.RegisteredClaims
}

// audience of the tokens, so that another service's token under a shared
// issuer name is none of ours.
const audience = "sunloop"

// tokenType is the header typ of our tokens.
const tokenType = "JWT"

// sign makes the token of a session.
func (s *Service) sign(ctx context.Context, a account, e session, now time.Time) (string, error) {
	kid, key, err := s.currentKey(ctx, now)
	if err != nil {
		return "", err
	}
	t := jwt.NewWithClaims(jwt.SigningMethodEdDSA, claims{
		UserID: a.ID, Username: a.Username, RoleID: a.Role, CustomerIDs: a.Customers, GroupID: a.GroupID, SkinID: a.SkinID, SessionID: e.ID,
		RegisteredClaims: jwt.RegisteredClaims{
			ID: e.TokenID, Issuer: s.issuer, Audience: jwt.ClaimStrings{audience}, Subject: a.ID,
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(now.Add(s.lifetime)),
		},
	})
	t.Header["typ"], t.Header["kid"] = tokenType, kid
	return t.SignedString(key)
}

// parse checks a token after RFC 8725: one algorithm, our keys only, issuer,
// audience, type and end. Other headers (jku, jwk, x5u) are not looked at.
func (s *Service) parse(ctx context.Context, token string, now time.Time) (claims, error) {
	var c claims
	_, err := jwt.ParseWithClaims(token, &c, func(t *jwt.Token) (any, error) {
		if typ, _ := t.Header["typ"].(string); !strings.EqualFold(typ, tokenType) {
			return nil, errors.New("not the type of our tokens")
		}
		if _, there := t.Header["crit"]; there { // RFC 7515: what is not understood must be refused
			return nil, errors.New("critical headers")
		}
		kid, _ := t.Header["kid"].(string)
		return s.verificationKey(ctx, kid, now)
	},
		jwt.WithValidMethods([]string{jwt.SigningMethodEdDSA.Alg()}), jwt.WithIssuer(s.issuer), jwt.WithAudience(audience),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(func() time.Time { return now }), jwt.WithStrictDecoding())
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded), errors.Is(err, store.ErrUnavailable):
		return c, err
	case errors.Is(err, jwt.ErrTokenExpired) && !errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return c, api.ErrTokenExpired
	case err != nil, c.SessionID == "" || c.ID == "" || c.UserID == "":
		return c, api.ErrInvalidToken
	}
	return c, nil
}
