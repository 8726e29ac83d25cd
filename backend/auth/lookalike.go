package auth

import (
	"strings"
	"unicode"

	"app.sunloop/backend/api"
	"golang.org/x/text/unicode/norm"
)

// together are the scripts that a name may mix, after the "highly restrictive"
// level of UTS 39: each with Latin.
var together = [][]string{
	{"Latin", "Han", "Hiragana", "Katakana"},
	{"Latin", "Han", "Bopomofo"},
	{"Latin", "Han", "Hangul"},
}

// likeLatin are the Cyrillic and Greek letters that look the same as a Latin
// one, of the confusables of UTS 39.
const likeLatin = "аеіорсухѕԁԛԝһјӏАВЕКМНОРСТХІЈЅ" + "ονΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳ"

// checkLookalike refuses a name that reads like another one and is not: letters
// of several scripts, forms that are made for compatibility, phonetic letters,
// and names of another script whose letters all look like Latin ones.
func checkLookalike(field, name string) error {
	if norm.NFKC.String(name) != name {
		return api.InvalidField(field, "it holds characters that stand for others, as full-width letters do")
	}
	scripts := map[string]bool{}
	letters, lookalikes := 0, 0
	for _, r := range name {
		switch {
		case r >= 0x250 && r <= 0x2af, r >= 0x1d00 && r <= 0x1dbf, r >= 0xa720 && r <= 0xa7ff, r >= 0xab30 && r <= 0xab6f:
			return api.InvalidField(field, "phonetic letters look like others")
		case unicode.IsDigit(r) && r > '9':
			return api.InvalidField(field, "digits are 0 to 9")
		case !unicode.IsLetter(r):
			continue
		}
		letters++
		if strings.ContainsRune(likeLatin, r) {
			lookalikes++
		}
		scripts[scriptOf(r)] = true
	}
	switch {
	case !mayMix(scripts):
		return api.InvalidField(field, "it mixes letters of several scripts, which look alike")
	case letters > 0 && lookalikes == letters:
		return api.InvalidField(field, "all its letters look like Latin ones and are not")
	}
	return nil
}

// scriptOf is the script of a letter, empty for letters of every script.
func scriptOf(r rune) string {
	for name, table := range unicode.Scripts {
		if name != "Common" && name != "Inherited" && unicode.Is(table, r) {
			return name
		}
	}
	return ""
}

func mayMix(scripts map[string]bool) bool {
	delete(scripts, "")
	if len(scripts) < 2 {
		return true
	}
	for _, set := range together {
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
