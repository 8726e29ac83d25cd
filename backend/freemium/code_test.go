package freemium

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/mail"
	"app.sunloop/backend/store"
)

const ana = "ana@example.org"

// remote is a network address that nothing else of a test comes from.
func remote(n int) string { return fmt.Sprintf("198.51.%d.7", n) }

func TestCode(t *testing.T) {
	w := newWorld(t)
	digits := w.code(t, " Ana@Example.org", remote(1))
	m := w.messages[0]
	if m.To != "Ana@example.org" || !m.At.Equal(now) || !strings.Contains(m.Text, "good for 10 minutes") || strings.Contains(m.Subject, digits) {
		t.Errorf("message %+v", m)
	}
	if _, err := w.redeem(t.Context(), "ben@example.org", digits, remote(1)); !errors.Is(err, api.ErrInvalidCode) {
		t.Errorf("another's address: %v", err)
	}
	if _, err := w.redeem(t.Context(), "ANA@example.org", " "+digits+" ", remote(1)); err != nil {
		t.Errorf("the right code: %v", err)
	}
	if _, err := w.redeem(t.Context(), ana, digits, remote(1)); !errors.Is(err, api.ErrInvalidCode) {
		t.Errorf("a second time: %v", err)
	}
}

func TestCodeExpires(t *testing.T) {
	for after, want := range map[time.Duration]error{api.FreemiumCodeLifetime - time.Second: nil, api.FreemiumCodeLifetime: api.ErrInvalidCode} {
		w := newWorld(t)
		digits := w.code(t, ana, remote(1))
		w.pass(after)
		if _, err := w.redeem(t.Context(), ana, digits, remote(1)); !errors.Is(err, want) {
			t.Errorf("after %v: %v", after, err)
		}
	}
}

// TestCodeIsReplaced asserts that of two codes only the newer counts.
func TestCodeIsReplaced(t *testing.T) {
	w := newWorld(t)
	first, second := w.code(t, ana, remote(1)), w.code(t, ana, remote(1))
	if first == second {
		t.Skip("once in a million the codes are the same")
	}
	if _, err := w.redeem(t.Context(), ana, first, remote(1)); !errors.Is(err, api.ErrInvalidCode) {
		t.Errorf("the first: %v", err)
	}
	if _, err := w.redeem(t.Context(), ana, second, remote(1)); err != nil {
		t.Errorf("the second: %v", err)
	}
}

// wrong is never the code.
func wrong(digits string) string {
	if digits == "000000" {
		return "000001"
	}
	return "000000"
}

func TestTries(t *testing.T) {
	for tries, want := range map[int]error{api.FreemiumCodeTries - 1: nil, api.FreemiumCodeTries: api.ErrInvalidCode} {
		w := newWorld(t)
		digits := w.code(t, ana, remote(1))
		for range tries {
			if _, err := w.redeem(t.Context(), ana, wrong(digits), remote(1)); !errors.Is(err, api.ErrInvalidCode) {
				t.Fatalf("a wrong code: %v", err)
			}
		}
		if _, err := w.redeem(t.Context(), ana, digits, remote(1)); !errors.Is(err, want) {
			t.Errorf("after %d wrong tries: %v", tries, err)
		}
	}
}

// TestConcurrentRequestsRedeemOnce holds 100 callers with the right code at once.
func TestConcurrentRequestsRedeemOnce(t *testing.T) {
	w := newWorld(t)
	digits := w.code(t, ana, remote(1))
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for range 100 {
		wg.Go(func() {
			if _, err := w.redeem(t.Context(), ana, digits, remote(1)); err == nil {
				mu.Lock()
				won++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if won != 1 {
		t.Errorf("%d of 100 redeemed the code", won)
	}
}

// TestGiveBack asserts that a code is valid again, but only for its
// remaining attempts, and not instead of a newer one.
func TestGiveBack(t *testing.T) {
	w := newWorld(t)
	digits := w.code(t, ana, remote(1))
	for range api.FreemiumCodeTries {
		back, err := w.redeem(t.Context(), ana, digits, remote(1))
		if err != nil {
			t.Fatal(err)
		}
		if err := back(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.redeem(t.Context(), ana, digits, remote(1)); !errors.Is(err, api.ErrInvalidCode) {
		t.Errorf("a try more than there are: %v", err)
	}
	digits = w.code(t, ana, remote(1))
	back, err := w.redeem(t.Context(), ana, digits, remote(1))
	if err != nil {
		t.Fatal(err)
	}
	newer := w.code(t, ana, remote(1))
	if _, err := w.redeem(t.Context(), ana, newer, remote(1)); err != nil {
		t.Fatal(err)
	}
	if err := back(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.redeem(t.Context(), ana, newer, remote(1)); !errors.Is(err, api.ErrInvalidCode) {
		t.Errorf("an older one's return gave the newer back: %v", err)
	}
}

func TestCodesAnHour(t *testing.T) {
	tests := []struct {
		name          string
		email, remote func(n int) string
	}{
		{"into a network", func(n int) string { return fmt.Sprintf("%d@example.org", n) }, func(n int) string { return fmt.Sprintf("203.0.113.%d", n) }},
		{"into a network of IPv6", func(n int) string { return fmt.Sprintf("%d@example.org", n) }, func(n int) string { return fmt.Sprintf("2001:db8:1:%x::%x", n, n) }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(t)
			for n := range api.FreemiumCodesPerHour {
				if err := w.SendCode(t.Context(), test.email(n), test.remote(n)); err != nil {
					t.Fatal(err)
				}
				w.pass(10 * time.Minute)
			}
			err := w.SendCode(t.Context(), test.email(9), test.remote(9))
			var refusal *api.Error
			if !errors.Is(err, api.ErrTooManyRequests) || !errors.As(err, &refusal) || refusal.RetryAfter != 30*60 {
				t.Fatalf("the fourth: %v, %+v", err, refusal)
			}
			if len(w.messages) != api.FreemiumCodesPerHour {
				t.Errorf("%d messages", len(w.messages))
			}
			w.pass(30 * time.Minute)
			if err := w.SendCode(t.Context(), test.email(9), test.remote(9)); err != nil {
				t.Errorf("after the wait: %v", err)
			}
		})
	}
	w := newWorld(t)
	for n := range 20 {
		if err := w.SendCode(t.Context(), fmt.Sprintf("%d@example.org", n), remote(n)); err != nil {
			t.Errorf("others are counted apart: %v", err)
		}
	}
}

// TestMailbox sends no more than three e-mails an hour to a mailbox, however its
// address is written and from wherever they are asked for. The answer is the same
// above the limit, and also when the service has sent all that it may.
func TestMailbox(t *testing.T) {
	for name, address := range map[string]func(n int) string{
		"one address": func(int) string { return "Ana@example.org" },
		"tags":        func(n int) string { return fmt.Sprintf("ana+%d@example.org", n) },
		"Gmail": func(n int) string {
			return []string{"ana.lima@gmail.com", "analima@googlemail.com", "a.n.a.lima+x@gmail.com"}[n%3]
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for n := range 10 {
				if err := w.SendCode(t.Context(), address(n), remote(n)); err != nil {
					t.Errorf("request %d: %v", n, err)
				}
			}
			if len(w.messages) != api.FreemiumCodesPerHour {
				t.Errorf("%d e-mails", len(w.messages))
			}
			w.pass(time.Hour)
			if w.code(t, address(0), remote(11)); len(w.messages) != api.FreemiumCodesPerHour+1 {
				t.Errorf("an hour later: %d e-mails", len(w.messages))
			}
		})
	}
	for a, b := range map[string]string{"a.b@example.org": "ab@example.org", "+a@example.org": "+b@example.org", "a+x@example.org": "a@example.com"} {
		if mailboxOf(a) == mailboxOf(b) {
			t.Errorf("%s and %s are one mailbox", a, b)
		}
	}
}

// TestCodesInAll refuses every address alike when the service has sent as many
// codes in an hour as it may.
func TestCodesInAll(t *testing.T) {
	w := newWorld(t)
	for n := range api.FreemiumCodesPerHourInAll {
		if err := w.SendCode(t.Context(), fmt.Sprintf("%d@example.org", n/api.FreemiumCodesPerHour), fmt.Sprintf("10.%d.%d.1", n/250, n%250)); err != nil {
			t.Fatal(err)
		}
	}
	w.pass(time.Hour / 2)
	for _, email := range []string{"0@example.org", "new@example.org"} {
		var refusal *api.Error
		if err := w.SendCode(t.Context(), email, remote(1)); !errors.As(err, &refusal) || !errors.Is(err, api.ErrUnavailable) || refusal.RetryAfter != 30*60 {
			t.Errorf("%s: %v, %+v", email, err, refusal)
		}
	}
	if len(w.messages) != api.FreemiumCodesPerHourInAll {
		t.Errorf("%d e-mails", len(w.messages))
	}
	w.pass(time.Hour / 2)
	w.code(t, ana, remote(1))
}

// TestCodeSurvivesTriesFromOtherNetworks leaves the code of one network valid, whatever is asked
// for and tried from others; from others it is open to five tries in all.
func TestCodeSurvivesTriesFromOtherNetworks(t *testing.T) {
	w := newWorld(t)
	digits := w.code(t, ana, remote(1))
	theirs := w.code(t, ana, remote(2))
	for n := range 4 * api.FreemiumCodeTries {
		if _, err := w.redeem(t.Context(), ana, wrong(digits), remote(2+n)); !errors.Is(err, api.ErrInvalidCode) && digits != theirs {
			t.Fatalf("a wrong code: %v", err)
		}
	}
	if _, err := w.redeem(t.Context(), ana, digits, remote(30)); !errors.Is(err, api.ErrInvalidCode) {
		t.Errorf("a guess beyond the tries of other networks: %v", err)
	}
	if _, err := w.redeem(t.Context(), ana, digits, remote(1)); err != nil {
		t.Errorf("the person who asked: %v", err)
	}
	// A person may change the network between the two steps, also within a /64.
	digits = w.code(t, "ben@example.org", "2001:db8:1:2::1")
	if _, err := w.redeem(t.Context(), "ben@example.org", digits, remote(3)); err != nil {
		t.Errorf("from another network: %v", err)
	}
	w.code(t, "eve@example.org", "2001:db8:2:2::1")
	second := w.code(t, "eve@example.org", "2001:db8:2:2::9")
	err := w.store.View(t.Context(), func(tx store.Tx) error {
		list, _, err := codes.List(tx, store.Query{Prefix: store.Key(w.hasher.of("address", "eve@example.org"))})
		if len(list) != 1 || list[0].Hash != w.hasher.of("code", list[0].Subject, second) {
			t.Errorf("codes of one /64: %+v", list)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestCodeOfAnEarlierVersion redeems a code whose record names no network.
func TestCodeOfAnEarlierVersion(t *testing.T) {
	w := newWorld(t)
	subject := w.hasher.of("address", ana)
	err := w.store.Update(t.Context(), func(tx store.Tx) error {
		return codes.Put(tx, code{Subject: subject, Hash: w.hasher.of("code", subject, "123456"), Expires: now.Add(time.Minute)})
	})
	if err != nil {
		t.Fatal(err)
	}
	for range api.FreemiumCodeTries - 1 {
		if _, err := w.redeem(t.Context(), ana, "123457", remote(2)); !errors.Is(err, api.ErrInvalidCode) {
			t.Fatal(err)
		}
	}
	if _, err := w.redeem(t.Context(), ana, "123456", remote(1)); err != nil {
		t.Error(err)
	}
}

func TestCodeThatIsNotSent(t *testing.T) {
	w := newWorld(t)
	if err := w.SendCode(t.Context(), "ana", remote(1)); !errors.Is(err, api.ErrInvalidEmail) {
		t.Errorf("no address: %v", err)
	}
	w.fail = fmt.Errorf("%w: no such user", mail.ErrRefused)
	if err := w.SendCode(t.Context(), "unknown@example.org", remote(1)); err != nil {
		t.Errorf("the response reveals that a mailbox does not exist: %v", err)
	}
	w.fail = errors.New("no listener")
	for range 2 * api.FreemiumCodesPerHour { // none of them counts
		if err := w.SendCode(t.Context(), ana, remote(2)); !errors.Is(err, api.ErrUnavailable) {
			t.Errorf("mail server unavailable: %v", err)
		}
	}
	w.fail = nil
	for range api.FreemiumCodesPerHour {
		w.code(t, ana, remote(2))
	}
}

// TestNothingInPlain searches the data folder for what must not be stored in
// plain text.
func TestNothingInPlain(t *testing.T) {
	w := newWorld(t)
	digits := w.code(t, ana, "203.0.113.99")
	var copied bytes.Buffer
	if _, err := w.store.Backup(t.Context(), &copied); err != nil || copied.Len() == 0 {
		t.Fatal(err)
	}
	for _, secret := range []string{`"` + digits + `"`, ana, "203.0.113"} {
		if strings.Contains(copied.String(), secret) {
			t.Errorf("%s is in the store in plain", secret)
		}
	}
}

func TestSweep(t *testing.T) {
	w := newWorld(t)
	w.code(t, ana, remote(1))
	w.pass(time.Hour - time.Second)
	late := w.code(t, "ben@example.org", remote(2))
	w.pass(time.Second)
	if err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.redeem(t.Context(), "ben@example.org", late, remote(1)); err != nil {
		t.Errorf("the sweep took a good code: %v", err)
	}
	w.pass(time.Hour)
	if err := w.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := w.store.View(t.Context(), func(tx store.Tx) error {
		waiting, _, err := codes.List(tx, store.Query{})
		counts, _, err2 := sent.List(tx, store.Query{})
		if len(waiting)+len(counts) > 0 {
			t.Errorf("%+v and %+v are left", waiting, counts)
		}
		return errors.Join(err, err2)
	})
	if err != nil {
		t.Fatal(err)
	}
}
