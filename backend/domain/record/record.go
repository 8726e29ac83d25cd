// Package record holds what the packages of the domain share: ids, lists in parts,
// the scope filter, stored series, retention, and numbers for the wire.
package record

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/oklog/ulid/v2"

	"app.sunloop/backend/api"
	"app.sunloop/backend/store"
)

// Latest returns the later of two times.
func Latest(a, b api.Time) api.Time {
	if a.Before(b.Time) {
		return b
	}
	return a
}

// CompareBool orders false before true, for [slices.SortFunc].
func CompareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// Known is v for the wire, whose fields are always there: three decimals, and
// 0 for what is not known.
func Known(v float64) float64 {
	if !Finite(v) {
		return 0
	}
	return math.Round(v*1e3)/1e3 + 0 // never -0
}

// Earlier returns the earlier of two times.
func Earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// Numbers are values of a stored series. In JSON they keep four decimals, and
// a missing value is null: NaN has no other spelling there.
type Numbers []float64

// MarshalJSON writes the numbers as an array.
func (n Numbers) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 8*len(n)+2)
	b = append(b, '[')
	for i, v := range n {
		if i > 0 {
			b = append(b, ',')
		}
		if !Finite(v) {
			b = append(b, "null"...)
			continue
		}
		b = strconv.AppendFloat(b, math.Round(v*1e4)/1e4, 'f', -1, 64)
	}
	return append(b, ']'), nil
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (n *Numbers) UnmarshalJSON(b []byte) error {
	b = bytes.Trim(bytes.TrimSpace(b), "[]")
	*n = nil
	if len(b) == 0 || string(b) == "null" {
		return nil
	}
	parts := bytes.Split(b, []byte(","))
	out := make(Numbers, len(parts))
	for i, p := range parts {
		p = bytes.TrimSpace(p)
		if string(p) == "null" {
			out[i] = math.NaN()
			continue
		}
		v, err := strconv.ParseFloat(string(p), 64)
		if err != nil {
			return err
		}
		out[i] = v
	}
	*n = out
	return nil
}

// At is value i, NaN outside.
func (n Numbers) At(i int) float64 {
	if i < 0 || i >= len(n) {
		return math.NaN()
	}
	return n[i]
}

// MadeAt is when the record of a key was made.
func MadeAt(parts []string) (time.Time, bool) {
	if len(parts) < 2 {
		return time.Time{}, false
	}
	_, text, ok := strings.Cut(parts[len(parts)-1], "_")
	id, err := ulid.ParseStrict(text)
	return id.Timestamp().UTC(), ok && err == nil
}

// NewID makes an id: the kind's prefix, then a ULID, so that ids of one kind
// sort by the time they were made.
func NewID(prefix string, at time.Time) string {
	return prefix + "_" + ulid.MustNew(ulid.Timestamp(at), rand.Reader).String()
}

// IDs makes ids that sort in the order in which one process made them, also within a
// millisecond and after the clock was set back. It is safe for concurrent use.
type IDs struct {
	mu      sync.Mutex
	last    time.Time
	entropy *ulid.MonotonicEntropy
}

// NewIDs returns a maker of ids.
func NewIDs() *IDs { return &IDs{entropy: ulid.Monotonic(rand.Reader, 0)} }

// New makes an id as [NewID] does.
func (i *IDs) New(prefix string, at time.Time) string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if at.After(i.last) {
		i.last = at
	}
	return prefix + "_" + ulid.MustNew(ulid.Timestamp(i.last), i.entropy).String()
}

// NotFoundAs turns the store's absence into the contract's refusal.
func NotFoundAs(err error, refusal *api.Error, what string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound):
		return refusal
	default:
		return fmt.Errorf("read %s: %w", what, err)
	}
}

// Wrap names what failed, and is nil for nil.
func Wrap(err error, what string) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Zone returns the time zone of a name that was checked when it was stored, and
// UTC for another.
func Zone(name string) *time.Location {
	zone, err := store.Zone(name)
	if err != nil {
		return time.UTC
	}
	return zone
}

// SetIfGiven replaces a value by another, if that is given.
func SetIfGiven[T comparable](to *T, v T) {
	var none T
	if v != none {
		*to = v
	}
}

// Within reports whether v is in [low, high]; false for NaN.
func Within(v, low, high float64) bool { return v >= low && v <= high }

// CheckText accepts any printable name, or id of a record that may exist, of sensible
// length. The ids of new sites and units follow [names.CheckNewID].
func CheckText(field, id string) error {
	switch {
	case id == "":
		return api.MissingField(field)
	case len(id) > 200:
		return api.InvalidField(field, "it is longer than 200 bytes")
	case !utf8.ValidString(id) || strings.ContainsFunc(id, func(r rune) bool { return !unicode.IsPrint(r) }):
		return api.InvalidField(field, "it holds a character that cannot be printed")
	case strings.TrimSpace(id) != id:
		return api.InvalidField(field, "it begins or ends with a space")
	case id == "." || id == "..":
		return api.InvalidField(field, "it is a step in a path and cannot be an id")
	case id == api.Every:
		return api.InvalidField(field, "* means all and cannot be an id")
	}
	return nil
}

// Finite says whether v is a number that can be stored as JSON.
func Finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// CapacityKW is the site's rated power: its own figure, else its units' sum.
func CapacityKW(site api.Site, units []api.Asset) float64 {
	if site.CapacityKW > 0 {
		return site.CapacityKW
	}
	sum := 0.0
	for _, u := range units {
		sum += u.CapacityKW
	}
	return sum
}

// AssetIDs are the assets' ids.
func AssetIDs(units []api.Asset) []string {
	ids := make([]string, len(units))
	for i, u := range units {
		ids[i] = u.AssetID
	}
	return ids
}

// Number is v for an optional field: absent when it is not known.
func Number(v float64) *float64 {
	if !Finite(v) {
		return nil
	}
	v = Known(v)
	return &v
}

// Percent returns a share as a percentage, or nil if it is unknown.
func Percent(share float64) *float64 { return Number(100 * share) }

// Convert returns a list of converted values, nil for nil.
func Convert[T, U any](list []T, convert func(T) U) []U {
	if list == nil {
		return nil
	}
	out := make([]U, len(list))
	for i, v := range list {
		out[i] = convert(v)
	}
	return out
}

// ConvertOptional returns the converted value of v, nil for nil.
func ConvertOptional[T, U any](v *T, convert func(T) U) *U {
	if v == nil {
		return nil
	}
	converted := convert(*v)
	return &converted
}
