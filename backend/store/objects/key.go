package objects

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"
)

// maxPart is the longest part of a key in bytes, maxKey the longest key.
const (
	maxPart = 64
	maxKey  = 512
)

// hashDigits is the length of the SHA-256 prefix in a changed part: it prevents
// names that take the place of a given other one.
const hashDigits = 16

var (
	unsafe   = regexp.MustCompile(`[^A-Za-z0-9_-]+`)
	hashed   = regexp.MustCompile(`--[0-9a-f]{16}$`)
	safePart = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)
)

// devices are names that some systems do not take for files.
var devices = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[0-9]|lpt[0-9])(\.|$)`)

// Clean returns text as a part of a key: of [A-Za-z0-9._-] only, at most 64
// bytes, never empty, without a leading or trailing dot or two dots in a row.
// Text that is already such a part is unchanged. Other text loses the invalid
// characters and gets a hash of the whole, so that two texts never give the
// same part; texts that differ only in Unicode composition count as equal.
func Clean(text string) string {
	text = norm.NFC.String(text)
	if safe(text) && !hashed.MatchString(text) {
		return text
	}
	sum := sha256.Sum256([]byte(text))
	base := strings.Trim(unsafe.ReplaceAllString(text, "_"), "_-")
	if len(base) > maxPart-hashDigits-2 {
		base = strings.TrimRight(base[:maxPart-hashDigits-2], "_-")
	}
	if base == "" || devices.MatchString(base) {
		base = "x"
	}
	return base + "--" + hex.EncodeToString(sum[:])[:hashDigits]
}

func safe(part string) bool {
	return len(part) <= maxPart && safePart.MatchString(part) && !strings.Contains(part, "..") &&
		!strings.HasSuffix(part, ".") && !devices.MatchString(part)
}

// Key joins parts, each cleaned, into a key.
func Key(parts ...string) string {
	cleaned := make([]string, len(parts))
	for i, p := range parts {
		cleaned[i] = Clean(p)
	}
	return path.Join(cleaned...)
}

// check returns an error unless the key is one that Key could have made.
func check(key string) error {
	bad := len(key) > maxKey || strings.HasSuffix(key, ".tmp") || strings.HasSuffix(key, ".attrs")
	for part := range strings.SplitSeq(key, "/") {
		bad = bad || !safe(part)
	}
	if bad {
		return fmt.Errorf("%q is not a key of an object", key)
	}
	return nil
}

// Upload holds the parts of the key of an uploaded file.
type Upload struct {
	Kind         string // historical or nowcast
	Client       string
	Customer     string // its id, so that two customers never share a key
	Region       string
	Location     string
	Manufacturer string // may be empty: unknown
	At           time.Time
}

// Key is
// kind/client/customer/region/location/manufacturer/YYYYMMDDTHHMMSSZ_kind.csv.
func (u Upload) Key() string {
	parts := []string{u.Kind, u.Client, u.Customer, u.Region, u.Location, u.Manufacturer}
	for i, p := range parts {
		if strings.TrimSpace(p) == "" {
			parts[i] = "unknown"
		}
	}
	name := u.At.UTC().Format("20060102T150405Z") + "_" + Clean(parts[0]) + ".csv"
	return Key(parts...) + "/" + name
}
