package themes

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestBuiltinOrder(t *testing.T) {
	var names []string
	for _, th := range Builtin() {
		names = append(names, th.Name)
	}
	if diff := cmp.Diff(order, names); diff != "" {
		t.Errorf("embedded themes (-want +got):\n%s", diff)
	}
}

// Every text role reads at 4.5:1 on every ground and every line at 3:1 on what charts are drawn on, in full colour and
// after conversion. A ground that inverts swaps both colours, which leaves the ratio as it is.
func TestContrast(t *testing.T) {
	for _, th := range Builtin() {
		for _, words := range th.Weak() {
			t.Errorf("%s: %s", th.Name, words)
		}
	}
}

// What is not an alarm is not in the colour of one: neither keys, links and headings nor measured
// and forecast power, at any depth. On 16 colours the lowest priority may be in that of text.
func TestAlarmColoursAreTheirOwn(t *testing.T) {
	const least = 0.08 // of the distance in OKLab, in which 0.02 is just visible
	for _, th := range Builtin() {
		if th.Name == Mono {
			continue // attributes and shapes
		}
		for _, d := range []Depth{TrueColor, Colors256, Colors16} {
			for _, r := range []Role{Text, Title, Key, Accent, BorderFocus, Actual, P50} {
				for _, alarm := range []Role{Critical, Warning, Notice} {
					if alarm == Notice && d == Colors16 {
						continue
					}
					a, b := th.At(r, d).Color, th.At(alarm, d).Color
					l1, a1, b1 := a.oklab()
					l2, a2, b2 := b.oklab()
					if got := math.Sqrt((l1-l2)*(l1-l2) + (a1-a2)*(a1-a2) + (b1-b2)*(b1-b2)); got < least {
						t.Errorf("%s at depth %d: %s %s is like %s %s: %.3f", th.Name, d, r, a, alarm, b, got)
					}
				}
			}
		}
	}
}

// The mark of the selected cell of a map is drawn in the colour of text or of the panel, whichever
// has more contrast: at each depth that is enough for a drawing.
func TestHeatIsMarked(t *testing.T) {
	for _, th := range Builtin() {
		for _, d := range []Depth{TrueColor, Colors256, Colors16} {
			for r := HeatNone; r <= HeatHigh2; r++ {
				cell := th.At(r, d).Color
				if got := math.Max(Contrast(th.At(Text, d).Color, cell), Contrast(th.At(Panel, d).Color, cell)); got < leastDrawing {
					t.Errorf("%s at depth %d: a mark on %s %s has %.1f:1", th.Name, d, r, cell, got)
				}
			}
		}
	}
}

// A theme that is hard to read reports where, at every depth, also where only
// the conversion causes it.
func TestWeak(t *testing.T) {
	th, _ := Find(Builtin(), ControlRoom)
	th.Tokens[Text].Color = RGB(0x60, 0x60, 0x60)
	all := strings.Join(th.Weak(), "\n")
	for _, want := range []string{"text on background is 2.", "in full colour", "in 256 colours"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is not reported:\n%s", want, all)
		}
	}
	th, _ = Find(Builtin(), ControlRoom)
	th.Sixteen[Dim].Color = Indexed(0)
	if weak := th.Weak(); len(weak) == 0 || !strings.Contains(weak[0], "dim on background is 1.0:1 in 16 colours, 4.5:1 is wanted") {
		t.Errorf("black on black: %v", weak)
	}
}

// Neighbouring steps of a heat map must be distinguishable: each step differs
// from the one before it, at every depth.
func TestHeatSteps(t *testing.T) {
	for _, th := range Builtin() {
		if th.Name == Mono {
			continue // drawn with characters
		}
		for _, d := range []Depth{TrueColor, Colors256, Colors16} {
			for r := HeatNone; r < HeatHigh2; r++ {
				a, b := th.At(r, d).Color, th.At(r+1, d).Color
				if a == b {
					t.Errorf("%s at depth %d: %s and %s are both %s", th.Name, d, r, r+1, a)
				}
			}
		}
	}
}

func TestColorFigures(t *testing.T) {
	tests := []struct {
		name      string
		got, want float64
	}{
		{"black on white is 21 (WCAG 2.1)", Contrast(RGB(0, 0, 0), RGB(255, 255, 255)), 21},
		{"#777777 on white just fails (WCAG 2.1, G18)", Contrast(RGB(0x77, 0x77, 0x77), RGB(255, 255, 255)), 4.48},
		{"luminance of pure green", RGB(0, 255, 0).Luminance(), 0.7152},
		{"luminance of index 244, #808080", Indexed(244).Luminance(), 0.2159},
	}
	for _, tt := range tests {
		if math.Abs(tt.got-tt.want) > 0.005 {
			t.Errorf("%s: got %.4f, want %.4f", tt.name, tt.got, tt.want)
		}
	}
}

func TestConversion(t *testing.T) {
	tests := []struct {
		in        string
		c256, c16 string
	}{
		{"#1c1c1c", "234", "0"},
		{"#ff0000", "196", "9"},
		{"#ffffff", "231", "15"},
		{"#5f87af", "67", "8"},
		{"12", "12", "12"},
		{"default", "default", "default"},
	}
	for _, tt := range tests {
		c, err := ParseColor(tt.in)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.To256().String(); got != tt.c256 {
			t.Errorf("%s in 256: %s, want %s", tt.in, got, tt.c256)
		}
		if got := c.To16().String(); got != tt.c16 {
			t.Errorf("%s in 16: %s, want %s", tt.in, got, tt.c16)
		}
	}
}

// What a token writes, it reads.
func TestTokenRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tok := Token{Attr: Attr(rapid.IntRange(0, 15).Draw(t, "attr"))}
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			tok.Color = Default
		case 1:
			tok.Color = Indexed(rapid.Uint8().Draw(t, "index"))
		case 2:
			tok.Color = RGB(rapid.Uint8().Draw(t, "r"), rapid.Uint8().Draw(t, "g"), rapid.Uint8().Draw(t, "b"))
		}
		got, err := ParseToken(tok.String())
		if err != nil || got != tok {
			t.Fatalf("%q: got %v, %v", tok, got, err)
		}
	})
}

func TestLoadErrorsNameFileAndKey(t *testing.T) {
	whole := func(change func(map[string]string)) string {
		m := map[string]string{}
		for r := range Roles {
			m[r.String()] = "#808080"
		}
		change(m)
		var b strings.Builder
		b.WriteString("title = \"x\"\n[colors]\n")
		for r := range Roles {
			if v, ok := m[r.String()]; ok {
				fmt.Fprintf(&b, "%s = %q\n", r, v)
				delete(m, r.String())
			}
		}
		for k, v := range m {
			fmt.Fprintf(&b, "%s = %q\n", k, v)
		}
		return b.String()
	}
	tests := []struct {
		name, text string
		want       []string
	}{
		{"bad colour", whole(func(m map[string]string) { m["text"] = "#12345" }), []string{"mine.toml", "colors.text", "#12345"}},
		{"bad attribute", whole(func(m map[string]string) { m["dim"] = "red blink" }), []string{"mine.toml", "colors.dim", "blink"}},
		{"missing", whole(func(m map[string]string) { delete(m, "critical") }), []string{"mine.toml", "colors.critical is missing"}},
		{"unknown", whole(func(m map[string]string) { m["txet"] = "red" }), []string{"mine.toml", "colors.txet is not a known key"}},
		{"unknown top", "colour = 1\n", []string{"mine.toml", "colour is not a known key"}},
		{"not toml", "title = \n", []string{"mine.toml", "line 1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load("folder/mine.toml", []byte(tt.text))
			if err == nil {
				t.Fatal("no error")
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("error %q does not say %q", err, w)
				}
			}
		})
	}
	// Files from before there were fills stay valid: they are drawn in the colours next to them.
	th, err := Load("mine.toml", []byte(whole(func(m map[string]string) {
		delete(m, "fill")
		delete(m, "loss")
		m["band"], m["range"] = "#112233", "#445566"
	})))
	if err != nil || th.Tokens[Fill].Color != RGB(0x11, 0x22, 0x33) || th.Tokens[Loss].Color != RGB(0x44, 0x55, 0x66) {
		t.Errorf("a theme without fills: %v, %v, %v", th.Tokens[Fill], th.Tokens[Loss], err)
	}
	if th, err := Load("mine.toml", []byte(whole(func(map[string]string) {}))); err != nil || th.Name != "mine" {
		t.Errorf("good theme: %v, %v", th.Name, err)
	}
}

func TestFolderKeepsTheGoodOnes(t *testing.T) {
	good, err := embedded.ReadFile("mono.toml")
	if err != nil {
		t.Fatal(err)
	}
	all, err := Folder(fstest.MapFS{"a.toml": {Data: good}, "b.toml": {Data: []byte("nonsense")}, "c.txt": {Data: good}})
	if len(all) != 1 || all[0].Name != "a" {
		t.Errorf("got %d themes, want a alone", len(all))
	}
	if err == nil || !strings.Contains(err.Error(), "b.toml") {
		t.Errorf("error %v does not name b.toml", err)
	}
}

func FuzzLoad(f *testing.F) {
	f.Add([]byte("title = \"x\"\n[colors]\ntext = \"red bold\"\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		th, err := Load("x.toml", text)
		if err == nil && th.Tokens[Text].Color == Unset {
			t.Error("a theme without text was accepted")
		}
	})
}
