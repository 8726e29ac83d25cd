package freemium

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// code is a one-time code that waits. Whose it is and what it is are kept as
// keyed hashes: the data folder alone gives neither.
type code struct {
	Subject string    `json:"subject" limit:"1024"`
	Hash    string    `json:"hash" limit:"1024"`
	Expires time.Time `json:"expires"`
	Tries   int       `json:"tries"`
	Used    bool      `json:"used"`
}

var codes = store.Table[code]{Bucket: "freemium-codes", Key: func(c code) []byte { return store.Key(c.Subject) }}

// sendings are the times at which codes went out to an address or were asked
// for from a network, of the last hour.
type sendings struct {
	Subject string      `json:"subject" limit:"1024"`
	At      []time.Time `json:"at" limit:"1000 last"`
}

var sent = store.Table[sendings]{Bucket: "freemium-sendings", Key: func(s sendings) []byte { return store.Key(s.Subject) }}

// Customer is who had a forecast.
type Customer struct {
	CustomerID     string    `json:"customer_id" limit:"id"`
	Email          string    `json:"email" limit:"320"`
	TermsAccepted  time.Time `json:"terms_accepted"` // the last time
	MarketingOptIn bool      `json:"marketing_opt_in"`
	FirstForecast  time.Time `json:"first_forecast"`
	LastForecast   time.Time `json:"last_forecast"`
	Forecasts      int       `json:"forecasts"`
}

var customers = store.Table[Customer]{Bucket: "freemium-customers", Key: func(c Customer) []byte { return store.Key(canonical(c.Email)) }}

// canonical is an address as it is compared: no mail server of today tells
// upper from lower case.
func canonical(email string) string { return strings.ToLower(email) }

// hasher makes keyed hashes; what they are of is part of them.
type hasher []byte

func (h hasher) of(kind string, parts ...string) string {
	m := hmac.New(sha256.New, h)
	m.Write(store.Key(append([]string{"freemium", kind}, parts...)...)) // never fails
	return hex.EncodeToString(m.Sum(nil))
}

// networkOf is what shares a count: the /24 of an IPv4 address, the /48 of an
// IPv6 address, which is what one customer of a provider has at most.
func networkOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	bits := 48
	if ip = ip.Unmap().WithZone(""); ip.Is4() {
		bits = 24
	}
	return netip.PrefixFrom(ip, bits).Masked().String()
}

// hour is the span in which codes are counted.
const hour = time.Hour

// count adds a sending; where there were as many as are allowed it answers how
// long until one is less.
func count(tx store.Tx, subject string, now time.Time) (wait time.Duration, err error) {
	s, err := sent.Get(tx, store.Key(subject))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return 0, err
	}
	s.Subject, s.At = subject, recent(s.At, now)
	if len(s.At) >= api.FreemiumCodesPerHour {
		return s.At[0].Add(hour).Sub(now), nil
	}
	s.At = append(s.At, now)
	return 0, sent.Put(tx, s)
}

// uncount takes a sending back that came to nothing.
func uncount(tx store.Tx, subject string, at time.Time) error {
	s, err := sent.Get(tx, store.Key(subject))
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	for i, t := range s.At {
		if t.Equal(at) {
			s.At = append(s.At[:i], s.At[i+1:]...)
			break
		}
	}
	return sent.Put(tx, s)
}

func recent(at []time.Time, now time.Time) []time.Time {
	for len(at) > 0 && now.Sub(at[0]) >= hour {
		at = at[1:]
	}
	return at
}

// Sweep drops codes and counts that have expired.
func (s *Service) Sweep(ctx context.Context) error {
	now := s.now()
	err := s.records.Update(ctx, func(tx store.Tx) error {
		waiting, _, err := codes.List(tx, store.Query{})
		if err != nil {
			return err
		}
		for _, c := range waiting {
			if now.Before(c.Expires) {
				continue
			}
			if err := codes.Delete(tx, codes.Key(c)); err != nil {
				return err
			}
		}
		counts, _, err := sent.List(tx, store.Query{})
		if err != nil {
			return err
		}
		for _, c := range counts {
			if len(recent(c.At, now)) > 0 {
				continue
			}
			if err := sent.Delete(tx, sent.Key(c)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("drop expired codes: %w", err)
	}
	return nil
}

// Customers are all who had a forecast, by address.
func (s *Service) Customers(ctx context.Context) (list []Customer, err error) {
	err = s.records.View(ctx, func(tx store.Tx) error {
		list, _, err = customers.List(tx, store.Query{})
		return err
	})
	return list, err
}
