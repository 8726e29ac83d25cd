package names

import (
	"strings"
	"testing"
	"unicode"
)

func TestLooksOfNames(t *testing.T) {
	for _, c := range []struct {
		a, b string
		like bool
	}{
		{"aIice", "alice", true},
		{"aIice", "Alice", true},
		{"aIice", "ALICE", true},
		{"a1ice", "alice", true},
		{"r00t", "root", true},
		{"v\u0131nce", "vince", true},       // dotless i
		{"al\u0069\u0307ce", "alice", true}, // i with another dot
		{"al\u0069\u0323\u0307ce", "al\u0069\u0323ce", true},
		{"a\u034flice", "alice", true}, // combining grapheme joiner
		{"waming", "warning", true},
		{"\u0430\u0441\u0435", "ace", true},                        // Cyrillic
		{"\u0391\u039d\u039d\u0391", "anna", true},                 // Greek
		{"\u0578\u0585\u0578", "non", true},                        // Armenian
		{"\u13aa\u13de\u13a5\u13df\u13ac", "alice", true},          // Cherokee
		{"\ua4ee\ua4e1\ua4f2\ua4da\ua4f0", "alice", true},          // Lisu
		{"\U0001d41a\U0001d427\U0001d427\U0001d41a", "anna", true}, // mathematical
		{"ian", "lan", false},
		{"Ian", "lan", true},
		{"alic\u00e9", "alice", false},
		{"Михаил", "mikhail", false},
		{"СЕВЕР", "север", true},
		{"Ελένη", "Elena", false},
		{"анна", "anna", false},
	} {
		a, b := SkeletonOf(c.a), SkeletonOf(c.b)
		if a.IsConfusable(b) != c.like || b.IsConfusable(a) != c.like {
			t.Errorf("%q (%+q) and %q alike: %t, want %t: %+v, %+v", c.a, c.a, c.b, a.IsConfusable(b), c.like, a, b)
		}
	}
	if !SkeletonOf("ana@acrne").HasConfusableSuffix(SkeletonOf("@acme")) || SkeletonOf("ana@acre").HasConfusableSuffix(SkeletonOf("@acme")) {
		t.Error("ends of names")
	}
}

func TestUserNames(t *testing.T) {
	for name, want := range map[string]string{
		"root": "", "ana.lima@example.org": "", "Åsa-Öström": "", "жанна": "", "Ольга.Петрова": "", "γιώργος": "", "田中さくら": "", "김민준": "",
		"محمد": "", "अनिता": "", "tanaka田中": "", "1234": "", "ılker": "", "нина2": "", "Михаил": "", "СЕВЕР": "", "Ελένη": "", "น้ำ": "", "Əliyev": "",
		"محمد١":                            "",
		"\u1eb9\u0301":                     "", // Yoruba
		"\u0440\u0430\u0443\u0440\u0430":   "", // Cyrillic: accepted unless a name looks like it
		"r\u043e\u043et":                   reasonScripts,
		"\u0440\u043e\u043et":              reasonScripts,
		"\u03bfv\u03bf":                    reasonScripts,
		"\u0430\u0434\u043c\u0456\u043din": reasonScripts,
		"a\u05b7na":                        reasonScripts, // a Hebrew mark
		"\uff52\uff4f\uff4f\uff54":         reasonCompatibility,
		"\ufb01nn":                         reasonCompatibility,
		"ana\u0661":                        reasonDigits,
		"محمد1١":                           reasonDigits,
		".":                                reasonEmpty,
		"..":                               reasonEmpty,
		"a\u0336lice":                      reasonMarks,
		"a\u20ddlice":                      reasonMarks,
		"a\u0301\u0301":                    reasonMarks,
		"a\u0301\u0302\u0303\u0304\u0306":  reasonMarks,
		"\u0301ana":                        reasonMarks,
		"ana.\u0301":                       reasonMarks,
		"a\u034fna":                        reasonInvisible,
		"김\u3164":                          reasonCompatibility,
		"김\u115f":                          reasonInvisible,
		"a\ufe0fna":                        reasonInvisible,
		"a\u200dna":                        reasonInvisible,
	} {
		if reason := CheckUser(name); reason != want {
			t.Errorf("%q (%+q): %q, want %q", name, name, reason, want)
		}
	}
}

func TestIDs(t *testing.T) {
	for id, want := range map[string]string{
		"Sibaya": "", "North roof 2": "", "INV-1000000054495190": "", "…": "", "500 m² nº 2 ½": "", "Инвертор INV-1": "", "Корпус А": "", "Север 2": "", "СЕВЕР": "",
		"屋顶 INV-1": "", "屋顶INV1": "", "محطة ١": "", "γ-Φάρμα": "", "옥상 A": "", "ｶﾅ": "", "µInverter": "", "Bakı şəhəri": "", "А-1": "", "Корпус А INV-1": "",
		"INV-\u0410":         reasonLatin,
		"INV \u0421\u0415":   reasonLatin,
		"\u0421ibaya":        reasonScripts,
		"\uff29\uff2e\uff36": reasonCompatibility,
		"Sib\u00adaya":       reasonInvisible,
		"S\u0336ibaya":       reasonMarks,
		"Roof \u0661":        reasonDigits,
	} {
		if reason := CheckID(id); reason != want {
			t.Errorf("%q (%+q): %q, want %q", id, id, reason, want)
		}
	}
}

// TestConfusables requires that each prototype is its own skeleton, as UTS 39
// does, and that no ASCII letter in lower case is a digit's or another script's.
func TestConfusables(t *testing.T) {
	if n := len(prototypes()); n < 5000 {
		t.Errorf("%d confusable characters", n)
	}
	for r, prototype := range prototypes() {
		if s := skeleton(prototype); s != prototype && !strings.ContainsFunc(prototype, isInvisible) && !strings.ContainsRune(prototype, dotAbove) {
			t.Errorf("%U: the prototype %+q has the skeleton %+q", r, prototype, s)
		}
		if r < unicode.MaxASCII && unicode.IsLower(r) && r != 'm' {
			t.Errorf("%q has the prototype %q", r, prototype)
		}
	}
}

func TestNewIDs(t *testing.T) {
	for id, want := range map[string]string{
		"Sibaya": "", "North roof 2": "", "INV-1_a.b": "", "屋顶 INV-1": "", "محطة ١": "", "खेत-२": "", "Väli O": "",
		"": reasonEmpty, "-": reasonEmpty, "...": reasonEmpty, ". .": reasonEmpty, "a/b": reasonCharacters, `a\b`: reasonCharacters, "…": reasonCharacters, " a": reasonCharacters,
		"a ": reasonCharacters, "a\tb": reasonCharacters, "a\u00a0b": reasonCharacters, "roof #1": reasonCharacters, "10:502": reasonCharacters, "*": reasonCharacters, "500 m²": reasonCharacters,
		"a\x00": reasonCharacters, "\xff": reasonCharacters, "Roof \u0661": reasonDigits, "\u0421ibaya": reasonScripts, "Sib\u200daya": reasonCharacters,
	} {
		if reason := CheckNewID(id); reason != want {
			t.Errorf("%q: %q, want %q", id, reason, want)
		}
	}
	for name, want := range map[string]string{
		"INV-1": "INV-1", "inverter/1": "inverter-1", "Symo 8.2-3-M (1)": "Symo 8.2-3-M 1", "WR #3": "WR 3", "(A) / B": "A B", "BZN|BE": "BZN-BE", "  a \t b ": "a b", "Roof 1 & 2": "Roof 1 2",
		"/": "", "": "", "*": "", "Väli/O": "Väli-O", "500 m²": "500 m", "a -- b": "a -- b", "10.0.0.7:502 unit 3": "10.0.0.7-502 unit 3", "\xff1": "1",
	} {
		if got := NewID(name); got != want || got != "" && CheckNewID(got) != "" {
			t.Errorf("%q: %q, want %q; %s", name, got, want, CheckNewID(got))
		}
	}
}
