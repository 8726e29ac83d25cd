package freemium

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"text/template"
	"time"

	"app.sunloop/backend/admission"
	"app.sunloop/backend/api"
	"app.sunloop/backend/mail"
	"app.sunloop/backend/store"
)

//go:embed code.txt
var messageText string

var messageTemplate = template.Must(template.New("code").Parse(messageText))

// SendCode sends a new code to an address, on behalf of the network address
// remote. It replaces the former code that was asked for from the same network
// for the address; codes for other networks stay. The answer does not depend on
// the address: neither a refusal by the mail server nor the limit of the mailbox
// is visible. It returns 429 above the limit of the asking network, and 503 above
// the limit of the service or if the mail server is unavailable.
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
	c := code{Subject: subject, Network: s.askerOf(subject, remote), Hash: s.hasher.of("code", subject, digits), Expires: now.Add(api.FreemiumCodeLifetime)}
	// A customer of a provider has at most a /48 of IPv6.
	network, all, mailbox := s.hasher.of("network", admission.NetworkWithin(remote, 48)), s.hasher.of("all"), s.hasher.of("mailbox", mailboxOf(email))
	full := false
	err = s.records.Update(ctx, func(tx store.Tx) error {
		full = false
		if wait, err := count(tx, network, api.FreemiumCodesPerHour, now); err != nil || wait > 0 {
			return errors.Join(err, tooMany(wait))
		}
		// Checked before the mailbox: otherwise a 503 or a 200 would
		// reveal whether the mailbox is full.
		if wait, err := checkQuota(tx, all, api.FreemiumCodesPerHourInAll, now); err != nil || wait > 0 {
			return errors.Join(err, busy(wait))
		}
		wait, err := count(tx, mailbox, api.FreemiumCodesPerHour, now)
		if full = wait > 0; err != nil || full {
			return err
		}
		_, err = count(tx, all, api.FreemiumCodesPerHourInAll, now)
		return errors.Join(err, codes.Put(tx, c))
	})
	if err != nil {
		return err
	}
	if full {
		s.log.Info("code not sent", "reason", "limit of the mailbox")
		return nil
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
		return errors.Join(s.retract(context.WithoutCancel(ctx), c, []string{network, all, mailbox}, now), errNotSent)
	}
	return nil
}

var errNotSent = api.ErrUnavailable.With("reason", "the code was not sent; try again later")

// tooMany is the refusal of a network that has to wait; nil for no wait.
func tooMany(wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	e := api.ErrTooManyRequests.With("reason", fmt.Sprintf("at most %d codes an hour are sent to an address and into a network", api.FreemiumCodesPerHour))
	e.RetryAfter = seconds(wait)
	return e
}

// busy is the refusal of a service that has sent as many codes as it may; nil for
// no wait.
func busy(wait time.Duration) error {
	if wait <= 0 {
		return nil
	}
	e := api.ErrUnavailable.With("reason", fmt.Sprintf("the service sends at most %d codes an hour", api.FreemiumCodesPerHourInAll))
	e.RetryAfter = seconds(wait)
	return e
}

// seconds are the whole seconds of a wait, rounded up.
func seconds(wait time.Duration) int { return int((wait + time.Second - 1) / time.Second) }

// retract removes a code that could not be sent, and its counts.
func (s *Service) retract(ctx context.Context, c code, counted []string, at time.Time) error {
	return s.records.Update(ctx, func(tx store.Tx) error {
		for _, subject := range counted {
			if err := uncount(tx, subject, at); err != nil {
				return err
			}
		}
		return codes.Delete(tx, codes.Key(c))
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
	err := messageTemplate.Execute(&text, map[string]any{"Code": digits, "Minutes": int(api.FreemiumCodeLifetime / time.Minute)})
	return mail.Message{To: email, Subject: "Your Sunloop verification code", Text: text.String(), At: now}, err
}

// redeem uses up a code of an address, for a caller at the network address
// remote. Of any number of callers with the right code one succeeds. Every
// attempt is counted before the code is compared: those of the network that
// asked for the code separately from those of all other networks, so that a
// third party cannot use up the attempts of the person who asked. giveBack
// makes the code valid again for the remaining attempts; it is for a caller
// whose file is at fault.
func (s *Service) redeem(ctx context.Context, email, digits, remote string) (giveBack func(context.Context) error, err error) {
	subject := s.hasher.of("address", canonical(email))
	network := s.askerOf(subject, remote)
	given := s.hasher.of("code", subject, strings.TrimSpace(digits))
	var key []byte
	err = s.records.Update(ctx, func(tx store.Tx) error {
		key = nil
		waiting, _, err := codes.List(tx, store.Query{Prefix: store.Key(subject)})
		if err != nil {
			return err
		}
		// The code of the caller's own network first: the right one costs the others no try.
		slices.SortStableFunc(waiting, func(a, b code) int { return cmp.Compare(a.foreign(network), b.foreign(network)) })
		for _, c := range waiting {
			tries := c.triesFrom(network)
			if c.Used || *tries >= api.FreemiumCodeTries || !s.now().Before(c.Expires) {
				continue
			}
			*tries++
			c.Used = hmac.Equal([]byte(given), []byte(c.Hash))
			if err := codes.Put(tx, c); err != nil {
				return err
			}
			if c.Used {
				key = codes.Key(c)
				return nil
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("redeem a code: %w", err)
	}
	if key == nil {
		return nil, api.ErrInvalidCode
	}
	return func(ctx context.Context) error {
		return s.records.Update(ctx, func(tx store.Tx) error {
			c, err := codes.Get(tx, key)
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
