package api

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"slices"
	"strings"
)

// Site ids belong to customers: two customers may use the same one. What is
// stored below a site (telemetry, units, findings, objects) is kept under the
// site's key, which never changes. The key of a site whose id no other customer
// used before is the id itself. Any other key is the id and a mark made from the
// customer's id, between two control characters that no id may hold, so that
// [PublicSiteID] finds the id in a key without a lookup.
//
// Requests and answers carry ids. httpapi replaces an id of a request by the
// key, within the scope of the caller, and [HideSiteKeys] removes the marks from
// every answer and webhook. [HideSiteKeysInText] removes them from the log and
// from the output of commands.
const siteMark = '\x1f'

// escapedMark is siteMark as encoding/json writes it.
const escapedMark = `\u001f`

// MaxNewSiteID is the length of the id of a new site in bytes: a key with its
// mark must still fit into an id.
const MaxNewSiteID = 180

// SiteKey returns the key of a customer's site whose id is the key of another
// customer's site.
func SiteKey(customerID, siteID string) string {
	sum := sha256.Sum256([]byte(customerID))
	return siteID + string(siteMark) + hex.EncodeToString(sum[:8]) + string(siteMark)
}

// SiteKeyPrefix returns what all keys with a mark of a site id begin with.
func SiteKeyPrefix(siteID string) string { return siteID + string(siteMark) }

// PublicSiteID returns the id that a customer uses for the site with the key.
func PublicSiteID(key string) string {
	id, _, _ := strings.Cut(key, string(siteMark))
	return id
}

// HideSiteKeys removes the marks of site keys from JSON, in place, so that each
// key becomes the site's id. It returns the shortened slice.
func HideSiteKeys(b []byte) []byte {
	at := markAt(b, 0)
	if at < 0 {
		return b
	}
	out := b[:at]
	for {
		end := markAt(b, at+len(escapedMark))
		if end < 0 {
			return append(out, b[at:]...)
		}
		next := markAt(b, end+len(escapedMark))
		if next < 0 {
			return append(out, b[end+len(escapedMark):]...)
		}
		out = append(out, b[end+len(escapedMark):next]...)
		at = next
	}
}

// markInText is the mark of a site key in text: as it is stored, as JSON escapes
// it and as %q does.
var markInText = regexp.MustCompile(`(?:\x1f|\\u001f|\\x1f)[0-9a-f]{16}(?:\x1f|\\u001f|\\x1f)`)

// HideSiteKeysInText removes the marks of site keys from text that is not JSON or
// only in part, such as log lines and the output of commands.
func HideSiteKeysInText(text string) string {
	if !strings.Contains(text, "\x1f") && !strings.Contains(text, "1f") {
		return text
	}
	return markInText.ReplaceAllString(text, "")
}

// markAt returns the index of the first escaped mark at or after from, or -1. A
// backslash that is itself escaped begins no mark.
func markAt(b []byte, from int) int {
	for from < len(b) {
		i := bytes.Index(b[from:], []byte(escapedMark))
		if i < 0 {
			return -1
		}
		i += from
		backslashes := 0
		for j := i - 1; j >= 0 && b[j] == '\\'; j-- {
			backslashes++
		}
		if backslashes%2 == 0 {
			return i
		}
		from = i + 1
	}
	return -1
}

// ErrAmbiguousSite is the error for a site id that several customers within the
// caller's scope use.
var ErrAmbiguousSite = MissingField("customer_id").With("reason", "several customers have a site of this id: name the customer")

// ErrAmbiguousAsset is the same for the id of a unit.
var ErrAmbiguousAsset = MissingField("customer_id").With("reason", "several customers have a unit of this id: name the customer")

// Choose returns the site among all sites of one id that the scope covers and
// that belongs to the customer, if one is named. It returns [ErrAmbiguousSite]
// for several, [ErrForbidden] if there are only sites outside the scope, and
// [ErrSiteNotFound] otherwise.
func (s Scope) Choose(all []Site, customerID string) (Site, error) {
	covered := slices.DeleteFunc(slices.Clone(all), func(v Site) bool {
		return !s.Allows(v.CustomerID, v.SiteID) || customerID != "" && v.CustomerID != customerID
	})
	switch {
	case len(covered) == 1:
		return covered[0], nil
	case len(covered) > 1:
		return Site{}, ErrAmbiguousSite
	case customerID == "" && len(all) > 0:
		return Site{}, ErrForbidden
	}
	return Site{}, ErrSiteNotFound
}

// GrantedSite returns the key by which a user or an API key for the customers is
// granted the site with the id, of which all are the sites of all customers. It
// returns the id itself for a site that does not exist or that the scope does
// not cover, and [ErrAmbiguousSite] if several of the customers have one.
func (s Scope) GrantedSite(id string, all []Site, customers []string) (key string, err error) {
	covered := slices.DeleteFunc(slices.Clone(all), func(v Site) bool { return !s.Allows(v.CustomerID, v.SiteID) })
	site, err := Scope{Customers: customers, Sites: []string{Every}}.Choose(covered, "")
	switch {
	case err == nil:
		return site.SiteID, nil
	case errors.Is(err, ErrAmbiguousSite):
		return "", err
	}
	return id, nil
}
