package freemium

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"app.sunloop/backend/admission"
	"app.sunloop/backend/store"
)

// code is a pending one-time code. Address, requesting network and digits are
// stored as keyed hashes: the data folder without the key reveals none of them.
type code struct {
	Subject      string    `json:"subject" limit:"1024"`           // the address
	Network      string    `json:"network,omitempty" limit:"1024"` // that asked; empty in records of earlier versions
	Hash         string    `json:"hash" limit:"1024"`
	Expires      time.Time `json:"expires"`
	Tries        int       `json:"tries"`                   // from the network that asked
	ForeignTries int       `json:"foreign_tries,omitempty"` // from all other networks
	Used         bool      `json:"used"`
}

var codes = store.Table[code]{Bucket: "freemium-codes", Key: func(c code) []byte {
	if c.Network == "" {
		return store.Key(c.Subject)
	}
	return store.Key(c.Subject, c.Network)
}}

// foreign is 1 if another network than this one asked for the code, else 0.
func (c *code) foreign(network string) int {
	if c.Network == "" || c.Network == network {
		return 0
	}
	return 1
}

// triesFrom is the count of tries that one from the network belongs to.
func (c *code) triesFrom(network string) *int {
	if c.foreign(network) > 0 {
		return &c.ForeignTries
	}
	return &c.Tries
}

// sendings are the times of the last hour at which codes were sent to a mailbox,
// were asked for from a network, or were sent by the service in all.
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

// canonical returns an address in the form in which it is compared: current
// mail servers ignore case.
func canonical(email string) string { return strings.ToLower(email) }

// mailboxOf is the mailbox of an address as far as its form shows it: without a
// tag after a plus sign, and for Gmail without dots and with one name of the
// domain. It is for counts only; a code proves the address that it was sent to.
func mailboxOf(email string) string {
	local, domain, _ := strings.Cut(canonical(email), "@")
	if untagged, _, tagged := strings.Cut(local, "+"); tagged && untagged != "" {
		local = untagged
	}
	if domain == "gmail.com" || domain == "googlemail.com" {
		local, domain = strings.ReplaceAll(local, ".", ""), "gmail.com"
	}
	return local + "@" + domain
}

// askerOf returns the hash of the network of an address that requests a code,
// or tries one, for a subject: the /24 of an IPv4 address, the /64 of an IPv6
// address.
func (s *Service) askerOf(subject, remote string) string {
	return s.hasher.of("asker", subject, admission.Network(remote))
}

// hasher makes keyed hashes; the kind of the hashed value is part of the input.
type hasher []byte

func (h hasher) of(kind string, parts ...string) string {
	m := hmac.New(sha256.New, h)
	m.Write(store.Key(append([]string{"freemium", kind}, parts...)...)) // never fails
	return hex.EncodeToString(m.Sum(nil))
}

// hour is the span in which codes are counted.
const hour = time.Hour

// count adds a sending, unless the subject has most of them in the last hour:
// then it returns how long until there is one less.
func count(tx store.Tx, subject string, most int, now time.Time) (wait time.Duration, err error) {
	s, wait, err := sendingsOf(tx, subject, most, now)
	if err != nil || wait > 0 {
		return wait, err
	}
	s.At = append(s.At, now)
	return 0, sent.Put(tx, s)
}

// checkQuota is the wait that count would return; it adds nothing.
func checkQuota(tx store.Tx, subject string, most int, now time.Time) (wait time.Duration, err error) {
	_, wait, err = sendingsOf(tx, subject, most, now)
	return wait, err
}

func sendingsOf(tx store.Tx, subject string, most int, now time.Time) (s sendings, wait time.Duration, err error) {
	s, err = sent.Get(tx, store.Key(subject))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return s, 0, err
	}
	s.Subject, s.At = subject, recent(s.At, now)
	if len(s.At) >= most {
		wait = s.At[0].Add(hour).Sub(now)
	}
	return s, wait, nil
}

// uncount removes a failed sending from the count.
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
