package ingest

import (
	"strings"
	"sync"
	"time"
	"unicode"

	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// monthNames by language: en, de, fr, es, it, pt, nl.
//
//nolint:misspell // other languages
var monthNames = [12]string{
	"january januar janner janvier enero gennaio janeiro januari",
	"february februar fevrier febrero febbraio fevereiro februari feber",
	"march marz maerz mars marzo marco maart mrz mrt",
	"april avril abril aprile",
	"may mai mayo maggio maio mei",
	"june juni juin junio giugno junho",
	"july juli juillet julio luglio julho",
	"august aout agosto augustus",
	"september septembre septiembre settembre setembro",
	"october oktober octobre octubre ottobre outubro",
	"november novembre noviembre",
	"december dezember decembre diciembre dicembre dezembro",
}

// monthPrefixes are all beginnings of month names from three letters that mean
// one month only.
var monthPrefixes = sync.OnceValue(func() map[string]int {
	prefixes := map[string]int{}
	for i, names := range monthNames {
		for name := range strings.FieldsSeq(names) {
			for n := 3; n <= len(name); n++ {
				p := name[:n]
				if m, known := prefixes[p]; known && m != i+1 {
					prefixes[p] = -1
					continue
				}
				prefixes[p] = i + 1
			}
		}
	}
	return prefixes
})

// monthNamed returns the month that a name or an abbreviation means; 0 for none.
func monthNamed(word string) int {
	return max(0, monthPrefixes()[fold(word)])
}

// fold is lower case without accents: "Mär" and "mar", "Début" and "debut".
func fold(s string) string {
	ascii := true
	for i := 0; i < len(s); i++ {
		if s[i] >= 0x80 {
			ascii = false
			break
		}
	}
	s = strings.ToLower(s)
	if ascii {
		return s
	}
	t := transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn)), norm.NFC)
	out, _, err := transform.String(t, strings.ReplaceAll(s, "ß", "ss"))
	if err != nil {
		return s
	}
	return out
}

// zoneOffsets are abbreviations that mean one offset wherever they are used,
// in seconds. Those that do not (CST, IST, BST) are looked up in the site's
// own zone first, see ambiguousOffsets.
var zoneOffsets = map[string]int{
	"Z": 0, "z": 0, "UTC": 0, "GMT": 0, "WET": 0, "WEST": hour, "WESZ": hour,
	"CET": hour, "MEZ": hour, "CEST": 2 * hour, "MESZ": 2 * hour,
	"EET": 2 * hour, "OEZ": 2 * hour, "EEST": 3 * hour, "OESZ": 3 * hour, "MSK": 3 * hour,
	"SAST": 2 * hour, "CAT": 2 * hour, "EAT": 3 * hour, "WAT": hour,
	"EDT": -4 * hour, "CDT": -5 * hour, "MDT": -6 * hour, "PDT": -7 * hour,
	"MST": -7 * hour, "PST": -8 * hour, "BRT": -3 * hour, "ART": -3 * hour,
	"JST": 9 * hour, "KST": 9 * hour, "AWST": 8 * hour, "HKT": 8 * hour, "SGT": 8 * hour,
	"ACST": 9*hour + 30*minute, "ACDT": 10*hour + 30*minute, "AEST": 10 * hour, "AEDT": 11 * hour,
	"NZST": 12 * hour, "NZDT": 13 * hour,
}

// ambiguousOffsets apply if the site's zone does not use the abbreviation.
var ambiguousOffsets = map[string]int{
	"EST": -5 * hour, "CST": -6 * hour, "BST": hour, "IST": 5*hour + 30*minute, "AST": -4 * hour,
}

// abbreviationOffset looks up an abbreviation in the zone itself, within half a year
// around t, then in the tables.
func abbreviationOffset(abbr string, t int64, site *time.Location) (int, bool) {
	for _, at := range []int64{t, t - 182*day, t + 182*day} {
		if name, off := time.Unix(at, 0).In(site).Zone(); name == abbr {
			return off, true
		}
	}
	off, ok := ambiguousOffsets[strings.ToUpper(abbr)]
	return off, ok
}

// zoneNamedIn finds a zone that a title or a header names: "Time (UTC)",
// "UTC+8", "GMT-03:00", "Europe/Berlin", "MEZ". It returns nil if the text names none.
func zoneNamedIn(text string) *time.Location {
	words := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ()[]{},;\t\"'", r) })
	for i, w := range words {
		if strings.Contains(w, "/") && w[0] >= 'A' && w[0] <= 'Z' {
			if loc, err := time.LoadLocation(w); err == nil {
				return loc
			}
		}
		c := cursor{[]byte(w)}
		name := c.word()
		off, known := zoneOffsets[name]
		if !known || len(name) < 3 {
			continue
		}
		if len(c.b) == 0 && i+1 < len(words) { // "UTC +2"
			c.b = []byte(words[i+1])
		}
		if delta, ok := c.offset(); ok && (name == "UTC" || name == "GMT") {
			off = delta
		} else if len(w) != len(name) {
			continue
		}
		if off == 0 {
			return time.UTC
		}
		return time.FixedZone(w, off)
	}
	return nil
}
