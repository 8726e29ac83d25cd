// Package names finds names that look like other names, by the mechanisms of
// Unicode Technical Standard 39: skeletons of confusable characters, and limits
// on the scripts of one name.
package names

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Reasons for a name not to be accepted.
const (
	reasonScripts       = "it mixes letters of several scripts, which look alike"
	reasonDigits        = "it mixes digits of several scripts, which look alike"
	reasonLatin         = "a word has only letters that look like Latin letters, next to Latin letters"
	reasonCompatibility = "it has a compatibility character, such as a full-width letter"
	reasonInvisible     = "it has an invisible character"
	reasonMarks         = "it has marks that cross out, enclose or hide a letter, or that have no letter"
	reasonEmpty         = "it has no letter or digit"
	reasonCharacters    = "it has characters other than letters, digits, . _ - and spaces between them"
)

// combinations are the scripts that a word may mix: those of the "highly
// restrictive" level of UTS 39, section 5.2.
var combinations = [][]string{
	{"Latin", "Han", "Hiragana", "Katakana"},
	{"Latin", "Han", "Bopomofo"},
	{"Latin", "Han", "Hangul"},
}

// CheckUser returns the reason why the name of a user is not accepted, or "". A
// name is of one script, or of scripts that are written together. Names of each
// script are accepted; [Skeleton.IsConfusable] compares them.
func CheckUser(name string) (reason string) {
	for _, r := range name {
		// Thai and Lao letters with AM have a compatibility decomposition and
		// no other spelling.
		if r != '\u0e33' && r != '\u0eb3' && norm.NFKC.String(string(r)) != norm.NFC.String(string(r)) {
			return reasonCompatibility
		}
	}
	switch {
	case !strings.ContainsFunc(name, isAlphanumeric):
		return reasonEmpty
	case !areCombined(scriptsOf(name)):
		return reasonScripts
	}
	return checkCharacters(name)
}

// CheckNewID returns the reason why the id of a new site or unit is not accepted, or
// "". An id has letters and digits of any script, the marks . _ - and spaces between
// other characters, and is one that [CheckID] accepts. Ids that exist may have other
// characters.
func CheckNewID(id string) (reason string) {
	switch {
	case strings.TrimSpace(id) != id || strings.ContainsFunc(id, func(r rune) bool { return !isOfID(r) }):
		return reasonCharacters
	case !strings.ContainsFunc(id, isAlphanumeric):
		return reasonEmpty
	}
	return CheckID(id)
}

// isOfID reports whether an id may have a character.
func isOfID(r rune) bool {
	return unicode.IsLetter(r) || unicode.Is(unicode.Nd, r) || unicode.IsMark(r) || strings.ContainsRune("._- ", r)
}

// NewID makes an id of a name, such as that of a unit in a file: characters that ids
// do not have are replaced by a hyphen between letters and digits, and by a space
// elsewhere. It returns "" for a name without letters and digits.
func NewID(name string) string {
	var out strings.Builder
	other, last := false, ' '
	for _, r := range norm.NFC.String(name) {
		switch {
		case r == ' ' || !isOfID(r):
			other = other || r != ' '
			if r == ' ' || last == ' ' || !isAlphanumeric(last) && !unicode.IsMark(last) {
				last = ' '
			}
			continue
		case other && last != ' ' && isAlphanumeric(r):
			out.WriteByte('-')
		case (other || last == ' ') && out.Len() > 0:
			out.WriteByte(' ')
		}
		out.WriteRune(r)
		other, last = false, r
	}
	if !strings.ContainsFunc(out.String(), isAlphanumeric) {
		return ""
	}
	return out.String()
}

// CheckID returns the reason why a new id is not accepted, or "". Each word of an
// id is of one script, or of scripts that are written together. A word that has
// only letters that look like Latin letters is not accepted in an id that has
// Latin letters too, unless other letters of the id show which script it is.
func CheckID(id string) (reason string) {
	for _, r := range id {
		if plain := norm.NFKC.String(string(r)); r >= 0x2100 && unicode.IsLetter(r) && plain[0] <= unicode.MaxASCII {
			return reasonCompatibility
		}
	}
	if reason := checkCharacters(id); reason != "" {
		return reason
	}
	all, distinct := scriptsOf(id), map[string]bool{}
	for _, r := range id {
		if unicode.IsLetter(r) && !looksLatin(r) {
			distinct[scriptOf(r)] = true
		}
	}
	for word := range strings.FieldsFuncSeq(id, func(r rune) bool { return !isAlphanumeric(r) && !unicode.IsMark(r) }) {
		scripts := scriptsOf(word)
		if !areCombined(scripts) {
			return reasonScripts
		}
		if !all["Latin"] || scripts["Latin"] || !strings.ContainsFunc(word, unicode.IsLetter) {
			continue
		}
		if !strings.ContainsFunc(word, func(r rune) bool { return unicode.IsLetter(r) && (!looksLatin(r) || distinct[scriptOf(r)]) }) {
			return reasonLatin
		}
	}
	return ""
}

// checkCharacters returns the reason why characters of a name are not accepted,
// or "": invisible characters, marks that change no letter visibly or hide it
// (UTS 39, section 5.4), and digits of more than one script.
func checkCharacters(name string) (reason string) {
	marks := 5 // in a row; 5 at the start, where no letter precedes
	zero, last := rune(-1), rune(0)
	for _, r := range norm.NFD.String(name) {
		switch {
		case isInvisible(r):
			return reasonInvisible
		case unicode.In(r, unicode.Me, overlays), unicode.Is(unicode.Mn, r) && (r == last || marks >= 4):
			return reasonMarks
		case unicode.Is(unicode.Mn, r):
			marks++
		case isAlphanumeric(r) || unicode.Is(unicode.Mc, r):
			marks = 0
		default:
			marks = 5
		}
		last = r
		if unicode.Is(unicode.Nd, r) {
			if zero >= 0 && zero != zeroOf(r) {
				return reasonDigits
			}
			zero = zeroOf(r)
		}
	}
	if zero > '0' && scriptsOf(name)["Latin"] {
		return reasonDigits
	}
	return ""
}

// overlays are the marks that are drawn across a letter.
var overlays = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x0334, Hi: 0x0338, Stride: 1}, {Lo: 0x20d0, Hi: 0x20ff, Stride: 1}}}

// zeroOf returns the zero of the decimal digits that a digit belongs to. They are
// ten in a row.
func zeroOf(digit rune) rune {
	zero := digit
	for digit-zero < 9 && unicode.Is(unicode.Nd, zero-1) {
		zero--
	}
	return zero
}

func isAlphanumeric(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// looksLatin reports whether a character of another script looks like Latin
// letters.
func looksLatin(r rune) bool {
	prototype := skeleton(string(r))
	return !unicode.Is(unicode.Latin, r) && prototype != "" && !strings.ContainsFunc(prototype, func(r rune) bool { return !unicode.Is(unicode.Latin, r) })
}

// scriptsOf returns the scripts of the letters and marks of a text, without
// those that several scripts use.
func scriptsOf(text string) map[string]bool {
	scripts := map[string]bool{}
	for _, r := range text {
		if name := scriptOf(r); name != "" && (unicode.IsLetter(r) || unicode.IsMark(r)) {
			scripts[name] = true
		}
	}
	return scripts
}

// scriptOf returns the script of a character, or "" if several scripts use it.
func scriptOf(r rune) string {
	if unicode.Is(unicode.Latin, r) {
		return "Latin"
	}
	for name, table := range unicode.Scripts {
		if name != "Common" && name != "Inherited" && unicode.Is(table, r) {
			return name
		}
	}
	return ""
}

// areCombined reports whether scripts are written together.
func areCombined(scripts map[string]bool) bool {
	if len(scripts) < 2 {
		return true
	}
	for _, set := range combinations {
		n := 0
		for _, name := range set {
			if scripts[name] {
				n++
			}
		}
		if n == len(scripts) {
			return true
		}
	}
	return false
}
