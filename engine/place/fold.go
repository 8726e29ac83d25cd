package place

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// letters that Unicode does not take apart into a base and a mark.
var plain = map[rune]string{
	'ß': "ss", 'ø': "o", 'đ': "d", 'ð': "d", 'ł': "l", 'æ': "ae", 'œ': "oe", 'þ': "th", 'ħ': "h", 'ı': "i", 'ə': "e",
}

// Fold is a name without case, marks and punctuation, its words one space
// apart: two spellings of a name are the same when their folds are.
func Fold(name string) string {
	var b strings.Builder
	gap := false
	b.Grow(len(name))
	for _, r := range norm.NFKD.String(name) { // which costs nothing for ASCII
		r = unicode.ToLower(r) // after it: the parts of some small letters are capital ones
		switch {
		case unicode.Is(unicode.M, r) || r == '\'' || r == '’' || r == '‘' || r == 'ʻ' || r == 'ʼ' || r == '`':
			continue
		case !unicode.IsLetter(r) && !unicode.IsDigit(r):
			gap = b.Len() > 0
			continue
		}
		if gap {
			b.WriteByte(' ')
			gap = false
		}
		if s, ok := plain[r]; ok {
			b.WriteString(s)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
