package names

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

//go:embed confusables.txt
var confusablesText string

// prototypes maps each confusable character to the characters that it looks
// like.
var prototypes = sync.OnceValue(func() map[rune]string {
	m := make(map[rune]string, 6000)
	for line := range strings.Lines(confusablesText) {
		line, _, _ = strings.Cut(line, "#")
		source, rest, ok := strings.Cut(strings.TrimPrefix(line, "\ufeff"), ";")
		if !ok {
			continue
		}
		target, _, _ := strings.Cut(rest, ";")
		m[[]rune(characters(source))[0]] = characters(target)
	}
	// Some prototypes have prototypes themselves.
	for r, prototype := range m {
		m[r] = replace(m, prototype)
	}
	return m
})

// replace replaces the characters of a text by those that they look like.
func replace(table map[rune]string, text string) string {
	var b strings.Builder
	for _, r := range norm.NFD.String(text) {
		if prototype, ok := table[r]; ok {
			b.WriteString(prototype)
		} else {
			b.WriteRune(r)
		}
	}
	return norm.NFD.String(b.String())
}

// characters decodes code points in hexadecimal notation.
func characters(codes string) string {
	var b strings.Builder
	for code := range strings.FieldsSeq(codes) {
		n, err := strconv.ParseUint(code, 16, 21)
		if err != nil {
			panic("parse confusables.txt: " + err.Error())
		}
		b.WriteRune(rune(n))
	}
	return b.String()
}

// skeleton returns the skeleton of UTS 39 section 4: two texts look alike if
// their skeletons are equal. It drops invisible characters, and the dot above a
// letter that has one, which is not visible either.
func skeleton(text string) string {
	var b strings.Builder
	last := rune(0)
	for _, r := range norm.NFD.String(text) {
		if isInvisible(r) || r == dotAbove && unicode.Is(unicode.Soft_Dotted, last) {
			continue
		}
		if !unicode.IsMark(r) {
			last = r // other marks may precede the dot
		}
		b.WriteRune(r)
	}
	return replace(prototypes(), b.String())
}

const dotAbove = '\u0307'

// isInvisible reports whether a character has no glyph: the default ignorable
// code points of Unicode.
func isInvisible(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Skeleton is the form of a name by which confusable names are found, without regard to case.
type Skeleton struct {
	exact, upper   string // skeletons as written and in upper case
	written, lower string // as written and in lower case, both without case
}

// SkeletonOf returns the skeleton of a name.
func SkeletonOf(name string) Skeleton {
	name = norm.NFC.String(name)
	return Skeleton{
		exact: skeleton(name), upper: skeleton(strings.ToUpper(name)),
		written: caseless(name), lower: caseless(strings.ToLower(name)),
	}
}

// caseless returns the skeleton of a text in lower case.
func caseless(text string) string { return skeleton(strings.ToLower(skeleton(text))) }

// IsConfusable reports whether two names look alike, each as it is written or in
// another case: aIice, with a capital I, looks like alice and like Alice. Names
// that look alike in upper case only, as ian and lan, are different.
func (l Skeleton) IsConfusable(other Skeleton) bool {
	return l.matches(other, func(a, b string) bool { return a == b })
}

// HasConfusableSuffix reports whether the name ends in a text that looks like end.
func (l Skeleton) HasConfusableSuffix(end Skeleton) bool { return l.matches(end, strings.HasSuffix) }

func (l Skeleton) matches(other Skeleton, match func(a, b string) bool) bool {
	return match(l.written, other.written) || match(l.written, other.lower) ||
		match(l.lower, other.written) || match(l.lower, other.lower) ||
		match(l.exact, other.upper) || match(l.upper, other.exact)
}
