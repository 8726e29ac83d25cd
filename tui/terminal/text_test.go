package terminal

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func TestPrintable(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"plain", "INV-07 3.4 kW", "INV-07 3.4 kW"},
		{"escape sequence", "a\x1b[31mb\x1b]0;title\a", "a[31mb]0;title"},
		{"C1", "a\u009b31mb\u0085c", "a31mbc"},
		{"line breaks and tabs", "a\r\nb\tc", "a  b c"},
		{"delete", "a\x7fb", "ab"},
		{"override", "invoice\u202egpj.exe", "invoicegpj.exe"},
		{"isolates and marks", "\u2066a\u2069\u200eb\u200f\u061c", "ab"},
		{"invalid UTF-8", "a\xffb\xc3", "a\ufffdb\ufffd"},
		{"decomposed", "Bu\u0308ro", "Büro"},
		{"joined emoji stay", "👩‍🔧", "👩‍🔧"},
		{"tags", "x\U000e0041y", "xy"},
	}
	for _, tt := range tests {
		if got := Printable(tt.in); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	for _, s := range []string{"a\x1b[31m", "\u009b31m", "a\u2066b", "a\u061cb", "\x7f", "\xff", "u\u0308", "\u202e", "👩‍🔧", "क्षि", "\u0344"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		clean := Printable(s)
		if !utf8.ValidString(clean) || !norm.NFC.IsNormalString(clean) {
			t.Fatalf("%q became %q", s, clean)
		}
		for _, r := range clean {
			if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) { // by Unicode's tables, not by our own
				t.Fatalf("%q kept %U", s, r)
			}
		}
		if again := Printable(clean); again != clean {
			t.Fatalf("twice is not once: %q, %q", clean, again)
		}
	})
}

func TestWidthAndTruncate(t *testing.T) {
	tests := []struct {
		in    string
		width int
		cut   int
		want  string
		ascii string
	}{
		{"abc", 3, 3, "abc", "abc"},
		{"abcdef", 6, 4, "abc…", "abc~"},
		{"世界平和", 8, 5, "世界…", "世界~"},
		{"世界平和", 8, 4, "世…", "世~"},
		{"👩‍🔧 Ana", 6, 3, "👩‍🔧…", "👩‍🔧~"},
		{"e\u0301tude", 5, 2, "e\u0301…", "e\u0301~"},
		{"🇩🇪🇫🇷", 4, 3, "🇩🇪…", "🇩🇪~"},
		{"x", 1, 0, "", ""},
	}
	for _, tt := range tests {
		if got := Width(tt.in); got != tt.width {
			t.Errorf("width of %q: %d, want %d", tt.in, got, tt.width)
		}
		if got := Truncate(tt.in, tt.cut, false); got != tt.want {
			t.Errorf("%q in %d: %q, want %q", tt.in, tt.cut, got, tt.want)
		}
		if got := Truncate(tt.in, tt.cut, true); got != tt.ascii {
			t.Errorf("%q in %d of ASCII: %q, want %q", tt.in, tt.cut, got, tt.ascii)
		}
	}
}

// For any text, a truncated one fits, and its drawn width equals the measured
// one.
func FuzzWidth(f *testing.F) {
	for _, s := range clusters {
		f.Add(s+"x"+s, 3)
	}
	f.Fuzz(func(t *testing.T, s string, width int) {
		width = min(max(width%80, 0), 80)
		s = Printable(s)
		if got := Width(Truncate(s, width, false)); got > width {
			t.Fatalf("%q in %d takes %d", s, width, got)
		}
		w := Width(s)
		g := NewGrid(w+2, 1)
		if end := g.All().Put(1, 0, s, Inherit); end != w+1 {
			t.Fatalf("%q measures %d and draws %d", s, w, end-1)
		}
		if first, last := g.Cell(0, 0), g.Cell(w+1, 0); first != blank || last != blank {
			t.Fatalf("%q drew outside its width", s)
		}
	})
}
