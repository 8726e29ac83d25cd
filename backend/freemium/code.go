package freemium

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"text/template"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/mail"
	"app.sunloop/backend/store"
)

//go:embed code.txt
var letterText string

var letter = template.Must(template.New("code").Parse(letterText))

// SendCode sends a new code to an address, on behalf of the network address
// that asked. It replaces the one before. What the mail server thinks of the
// address stays between it and us: the answer is the same for every one.
func (s *Service) SendCode(ctx context.Context, email, remote string) error {
	email, err := mail.Address(email)
	if err != nil {
		return api.ErrInvalidEmail
	}
	digits, err := newDigits()
	if err != nil {
		return fmt.Errorf("draw a code: %w", err)
	}
	now := s.now()
	subject := s.hasher.of("address", canonical(email))
	counted := []string{subject, s.hasher.of("network", networkOf(remote))}
	err = s.records.Update(ctx, func(tx store.Tx) error {
		for _, c := range counted {
			wait, err := count(tx, c, now)
			if err != nil {
				return err
			}
			if wait > 0 {
				return tooMany(wait)
			}
		}
		return codes.Put(tx, code{Subject: subject, Hash: s.hasher.of("code", subject, digits), Expires: now.Add(api.FreemiumCodeLifetime)})
	})
	if err != nil {
		return err
	}
	m, err := compose(email, digits, now)
	if err == nil {
		err = s.mail.Send(ctx, m)
	}
	switch {
	case errors.Is(err, mail.ErrRefused):
		s.log.Warn("a code was not delivered", "error", err.Error())
		return nil
	case err != nil:
		s.log.Error("a code was not sent", "error", err.Error())
		return errors.Join(s.retract(context.WithoutCancel(ctx), subject, counted, now), errNotSent)
	}
	return nil
}

var errNotSent = api.ErrUnavailable.With("reason", "the code could not be sent; try again later")

func tooMany(wait time.Duration) error {
	e := api.ErrTooManyRequests.With("reason", fmt.Sprintf("at most %d codes an hour are sent to an address and into a network", api.FreemiumCodesPerHour))
	e.RetryAfter = int((wait + time.Second - 1) / time.Second)
	return e
}

// retract makes as if a code that could not be sent had not been asked for.
func (s *Service) retract(ctx context.Context, subject string, counted []string, at time.Time) error {
	return s.records.Update(ctx, func(tx store.Tx) error {
		for _, c := range counted {
			if err := uncount(tx, c, at); err != nil {
				return err
			}
		}
		return codes.Delete(tx, store.Key(subject))
	})
}

func newDigits() (string, error) {
	n, err := rand.Int(rand.Reader, new(big.Int).Exp(big.NewInt(10), big.NewInt(api.FreemiumCodeDigits), nil))
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%0*d", api.FreemiumCodeDigits, n), nil
}

func compose(email, digits string, now time.Time) (mail.Message, error) {
	var text strings.Builder
	err := letter.Execute(&text, map[string]any{"Code": digits, "Minutes": int(api.FreemiumCodeLifetime / time.Minute)})
	return mail.Message{To: email, Subject: "Your Sunloop verification code", Text: text.String(), At: now}, err
}

// redeem uses a code up. Of any number of callers with the right code one
// succeeds, and every try counts, before anything is compared. giveBack makes
// the code good again for what tries are left: for a caller whose file is at
// fault.
func (s *Service) redeem(ctx context.Context, email, digits string) (giveBack func(context.Context) error, err error) {
	subject := s.hasher.of("address", canonical(email))
	given := s.hasher.of("code", subject, strings.TrimSpace(digits))
	good := false
	err = s.records.Update(ctx, func(tx store.Tx) error {
		good = false
		c, err := codes.Get(tx, store.Key(subject))
		if errors.Is(err, store.ErrNotFound) {
			return nil
		}
		if err != nil || c.Used || c.Tries >= api.FreemiumCodeTries || !s.now().Before(c.Expires) {
			return err
		}
		c.Tries++
		good = hmac.Equal([]byte(given), []byte(c.Hash))
		c.Used = good
		return codes.Put(tx, c)
	})
	if err != nil {
		return nil, fmt.Errorf("redeem a code: %w", err)
	}
	if !good {
		return nil, api.ErrInvalidCode
	}
	return func(ctx context.Context) error {
		return s.records.Update(ctx, func(tx store.Tx) error {
			c, err := codes.Get(tx, store.Key(subject))
			if errors.Is(err, store.ErrNotFound) || err == nil && c.Hash != given {
				return nil // another was sent since
			}
			if err != nil {
				return err
			}
			c.Used = false
			return codes.Put(tx, c)
		})
	}, nil
}
