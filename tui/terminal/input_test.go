package terminal

import (
	"bytes"
	"context"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"app.sunloop/themes"
)

// script is a source of prepared reads. Between two chunks the rest is always in time, unless a chunk is silence.
type script struct{ chunks []string }

const silence = "" // nothing comes in time

func (s *script) Read(p []byte) (int, error) {
	for len(s.chunks) > 0 && s.chunks[0] == silence {
		s.chunks = s.chunks[1:]
	}
	if len(s.chunks) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.chunks[0])
	if s.chunks[0] = s.chunks[0][n:]; s.chunks[0] == "" {
		s.chunks = s.chunks[1:]
	}
	return n, nil
}

func (s *script) Ready(time.Duration) bool { return len(s.chunks) > 0 && s.chunks[0] != silence }

func scripted(chunks ...string) *Input {
	in := NewInput(strings.NewReader(""), InputOptions{})
	in.src = &script{chunks}
	return in
}

// readAll reads to the end as Bubble Tea does, and gives each read.
func readAll(t testing.TB, in *Input, size int) (reads []string) {
	t.Helper()
	p := make([]byte, size)
	for {
		n, err := in.Read(p)
		if n > 0 {
			reads = append(reads, string(p[:n]))
		}
		if errors.Is(err, io.EOF) {
			return reads
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestInputReads(t *testing.T) {
	tests := []struct {
		name   string
		chunks []string
		want   []string // one entry a read that gave something
	}{
		{"plain keys", []string{"jk"}, []string{"jk"}},
		{"arrow cut after ESC", []string{"\x1b", "[A"}, []string{"\x1b[A"}},
		{"arrow cut after its bracket", []string{"\x1b[", "A"}, []string{"\x1b[A"}},
		{"arrow cut after its bracket, late", []string{"\x1b[", silence, "A"}, []string{"\x1b[A"}},
		{"lone escape", []string{"\x1b", silence, "j"}, []string{"\x1b", "j"}},
		{"two escapes", []string{"\x1b\x1b", silence, "j"}, []string{"\x1b\x1b", "j"}},
		{"three escapes", []string{"\x1b\x1b\x1b", silence}, []string{"\x1b\x1b\x1b"}},
		{"alt and a key", []string{"\x1b", "j"}, []string{"\x1bj"}},
		{"alt and a wide rune", []string{"\x1b\xe4", "\xb8", "\x96"}, []string{"\x1b世"}},
		{"alt and an arrow", []string{"\x1b", "\x1b", "[A"}, []string{"\x1b\x1b[A"}},
		{"escape at the end", []string{"\x1b"}, []string{"\x1b"}},
		{"half an arrow at the end", []string{"\x1b["}, nil},
		{"keypad", []string{"\x1bO", "P"}, []string{"\x1bOP"}},
		{"Linux console F1", []string{"\x1b[", "[", "A"}, []string{"\x1b[[A"}},
		{"wheel", []string{"\x1b[", "<64;30", ";9M"}, []string{"\x1b[<64;30;9M"}},
		{"X10 mouse with an escape as coordinate", []string{"\x1b[M \x1b", "!"}, []string{"\x1b[M \x1b!"}},
		{"umlaut cut", []string{"\xc3", "\xbc"}, []string{"ü"}},
		{"invalid bytes", []string{"a\xff\xc3b\x80"}, []string{"ab"}},
		{"overlong rune", []string{"\xe0\x80\x80x"}, []string{"x"}},
		{"late background answer", []string{"\x1b]", silence, "11;rgb:1c1c/1c1c/1c1c", "\x1b", "\\j"}, []string{"j"}},
		{"answer ended by BEL", []string{"\x1b]11;rgb:0/0/0\aj"}, []string{"j"}},
		{"DCS answer", []string{"\x1bP1+r524742\x1b\\j"}, []string{"j"}},
		{"device attributes", []string{"\x1b[?62;22", "cj"}, []string{"j"}},
		{"mode report", []string{"\x1b[?2026;2$yj"}, []string{"j"}},
		{"answer without end, then ctrl+c", []string{"\x1b]11;rgb:1\x03"}, []string{"\x03"}},
		{"answer without end, then an arrow", []string{"\x1b]11;rgb:1\x1b[A"}, []string{"\x1b[A"}},
		{"half an arrow, then a whole one", []string{"\x1b[1;\x1b[B"}, []string{"\x1b[B"}},
		{"half an arrow, then ctrl+c", []string{"\x1b[1;\x03"}, []string{"\x03"}},
		{"paste passes as it is", []string{"\x1b[200~a\x1b]0;x\ab\xff\x1b[201", "~j"}, []string{"\x1b[200~a\x1b]0;x\ab\xff\x1b[201", "~j"}},
		{"end of a paste without beginning", []string{"\x1b[201~j"}, []string{"j"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, readAll(t, scripted(tt.chunks...), 256)); diff != "" {
				t.Errorf("reads (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEndlessThingsEnd(t *testing.T) {
	t.Run("answer", func(t *testing.T) {
		got := strings.Join(readAll(t, scripted("\x1b]11;"+strings.Repeat("x", longestAnswer)+"jjj"), 256), "")
		if !strings.HasSuffix(got, "jjj") || len(got) > 20 {
			t.Errorf("after an endless answer: %d bytes", len(got))
		}
	})
	t.Run("paste", func(t *testing.T) {
		got := strings.Join(readAll(t, scripted(pasteBegin+strings.Repeat("x", 2*longestPaste)+pasteEnd+"j"), 256), "")
		if !strings.HasSuffix(got, "x"+pasteEnd+"j") || len(got) != len(pasteBegin)+longestPaste+len(pasteEnd)+1 {
			t.Errorf("a huge paste came out with %d bytes", len(got))
		}
	})
}

// Half a sequence is forgotten when its rest did not come for longer than any line takes.
func TestStaleHalvesAreDropped(t *testing.T) {
	now := time.Unix(0, 0)
	in := scripted("\x1b[", silence, "j")
	in.now = func() time.Time { now = now.Add(2 * staleAfter); return now }
	if diff := cmp.Diff([]string{"j"}, readAll(t, in, 256)); diff != "" {
		t.Errorf("reads (-want +got):\n%s", diff)
	}
}

// keyStream is what keyboards, mice, pastes and terminals send.
var keyStream = []string{
	"j", " ", "\r", "\t", "\x03", "\x7f", "\x00", "ü", "世", "🙂", "é", "\x1b[A", "\x1b[1;5C", "\x1bOP", "\x1b[3~", "\x1b[[B", "\x1bj", "\x1b世",
	"\x1b[<64;30;9M", "\x1b[<0;1;1m", "\x1b[M !!", "\x1b[I", "\x1b[200~paste\x1b[31m\x1b[201~", "\x1b\x1b[A", "\x1b[27;5;13~",
	"\x1b]11;rgb:ffff/ffff/ffff\x1b\\", "\x1b]11;rgb:ff/ff/ff\a", "\x1b[?62;4c", "\x1bP>|xterm\x1b\\", "\x1b[?2026;2$y", "\xff", "\xc3",
}

// split cuts s at the places named by the bits of cuts.
func split(s string, cuts []int) (chunks []string) {
	for _, n := range cuts {
		if n > 0 && n < len(s) {
			chunks, s = append(chunks, s[:n]), s[n:]
		}
	}
	return append(chunks, s)
}

// Any split of any key stream gives the same bytes, for any size of the reader's buffer, and each read ends with a whole
// rune or sequence.
func TestAnySplitGivesTheSameKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		stream := strings.Join(rapid.SliceOf(rapid.SampledFrom(keyStream)).Draw(t, "keys"), "")
		if stream == "" {
			return
		}
		whole := scripted(stream)
		want := drain(whole, 256)
		got := drain(scripted(split(stream, rapid.SliceOf(rapid.IntRange(0, 9)).Draw(t, "cuts"))...), rapid.SampledFrom([]int{1, 2, 7, 64, 256}).Draw(t, "size"))
		if got != want {
			t.Fatalf("cut: %q\nwhole: %q\nfrom: %q", got, want, stream)
		}
	})
}

func drain(in *Input, size int) string {
	b, _ := io.ReadAll(sized{in, size})
	return string(b)
}

// sized reads at most n bytes at a time.
type sized struct {
	r io.Reader
	n int
}

func (s sized) Read(p []byte) (int, error) { return s.r.Read(p[:min(len(p), s.n)]) }

func FuzzAnySplit(f *testing.F) {
	for _, k := range keyStream {
		f.Add([]byte(k+"j"), uint8(1), uint8(2))
	}
	f.Fuzz(func(t *testing.T, stream []byte, a, b uint8) {
		want := drain(scripted(string(stream)+" "), 256)
		cuts := make([]int, 0, 2*len(stream))
		for range len(stream) {
			cuts = append(cuts, int(a), int(b))
		}
		if got := drain(scripted(split(string(stream)+" ", cuts)...), 256); got != want {
			t.Fatalf("cut: %q\nwhole: %q\nfrom: %q", got, want, stream)
		}
	})
}

// Through Bubble Tea itself: keys cut at every place are the keys that were pressed.
func TestBubbleTeaSeesTheSameKeys(t *testing.T) {
	stream := "j\x1b[A\x1b[<64;30;9M\x1bOPü\x1b[1;5C\x1b]11;rgb:0/0/0\x1b\\世k"
	want := pressed(t, stream)
	if diff := cmp.Diff([]string{"j", "up", "wheel up", "f1", "ü", "ctrl+right", "世", "k"}, want); diff != "" {
		t.Fatalf("uncut (-want +got):\n%s", diff)
	}
	for i := 1; i < len(stream); i++ {
		if diff := cmp.Diff(want, pressed(t, stream[:i], stream[i:])); diff != "" {
			t.Errorf("cut at %d (-want +got):\n%s", i, diff)
		}
	}
}

// pressed runs a program on the chunks and lists the keys it received, one rune
// each.
func pressed(t *testing.T, chunks ...string) []string {
	t.Helper()
	m := &keyLog{}
	p := tea.NewProgram(m, tea.WithInput(scripted(append(chunks, "q")...)), tea.WithOutput(io.Discard), tea.WithContext(t.Context()), tea.WithoutSignalHandler())
	if _, err := p.Run(); err != nil {
		t.Fatal(err)
	}
	return m.keys
}

type keyLog struct{ keys []string }

func (*keyLog) Init() tea.Cmd { return nil }
func (*keyLog) View() string  { return "" }

func (m *keyLog) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.KeyMsg:
		for _, k := range SplitRunes(msg) {
			if k.String() == "q" {
				return m, tea.Quit
			}
			m.keys = append(m.keys, k.String())
		}
	case tea.MouseMsg:
		m.keys = append(m.keys, tea.MouseEvent(msg).String())
	}
	return m, nil
}

func TestPump(t *testing.T) {
	defer goleak.VerifyNone(t)
	t.Run("whole", func(t *testing.T) {
		r, w := io.Pipe()
		in := NewInput(r, InputOptions{})
		defer func() { _ = in.Close() }()
		go func() {
			for _, c := range []string{"\x1b", "[", "A", "ü"[:1], "ü"[1:], "j"} {
				_, _ = io.WriteString(w, c)
			}
			_ = w.Close()
		}()
		in.wait = time.Minute // the rest is always in time
		if got := drain(in, 256); got != "\x1b[Aüj" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("lone escape", func(t *testing.T) {
		r, w := io.Pipe()
		in := NewInput(r, InputOptions{})
		in.wait = time.Nanosecond
		go func() { _, _ = io.WriteString(w, "\x1b") }()
		p := make([]byte, 8)
		if n, err := in.Read(p); err != nil || string(p[:n]) != "\x1b" {
			t.Errorf("got %q, %v", p[:n], err)
		}
		_ = in.Close()
		_ = w.Close()
	})
	t.Run("closed", func(t *testing.T) {
		in := NewInput(strings.NewReader("x"), InputOptions{})
		_ = in.Close()
		_, _ = in.Read(make([]byte, 8)) // the byte or the end, but it returns
	})
}

func TestSplitRunes(t *testing.T) {
	rune1 := func(r ...rune) tea.KeyMsg { return tea.KeyMsg{Type: tea.KeyRunes, Runes: r} }
	paste := tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("jj"), Paste: true}
	tests := []struct {
		name string
		in   tea.KeyMsg
		want []tea.KeyMsg
	}{
		{"coalesced", rune1('j', 'j', '世'), []tea.KeyMsg{rune1('j'), rune1('j'), rune1('世')}},
		{"single", rune1('j'), []tea.KeyMsg{rune1('j')}},
		{"paste", paste, []tea.KeyMsg{paste}},
		{"enter", tea.KeyMsg{Type: tea.KeyEnter}, []tea.KeyMsg{{Type: tea.KeyEnter}}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, SplitRunes(tt.in)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestQuery(t *testing.T) {
	tests := []struct {
		name, said string
		want       Answers
	}{
		{"all", "\x1b]11;rgb:ffff/eeee/dddd\x1b\\\x1b[?2026;2$y\x1b[?62c", Answers{Background: themes.RGB(255, 238, 221), Sync: true}},
		{"rgba and BEL", "\x1b]11;rgba:10/20/30/ff\a\x1b[?1c", Answers{Background: themes.RGB(16, 32, 48)}},
		{"only the fence", "\x1b[?6c", Answers{}},
		{"unknown mode", "\x1b[?2026;0$y\x1b[?6c", Answers{}},
		{"nonsense", "\x1b]11;red\a\x1b]4;1;rgb:f/f/f\a\x1b[?6c", Answers{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var wire bytes.Buffer
			out := NewOutput(&wire, OutputOptions{})
			in := NewInput(strings.NewReader(""), InputOptions{})
			asked := make(chan Answers)
			src := &script{}
			in.src = src
			go func() {
				a, err := Query(t.Context(), in, out, false)
				if err != nil {
					t.Error(err)
				}
				asked <- a
			}()
			// The terminal answers once it has been asked.
			for {
				in.answers.mu.Lock()
				waiting := in.answers.complete != nil
				in.answers.mu.Unlock()
				if waiting {
					break
				}
				runtime.Gosched()
			}
			src.chunks = []string{"j", tt.said, "k"}
			if got := drain(in, 256); got != "jk" {
				t.Errorf("keys next to the answers: %q", got)
			}
			if diff := cmp.Diff(tt.want, <-asked); diff != "" {
				t.Errorf("answers (-want +got):\n%s", diff)
			}
			if wire.String() != query+lastQuery {
				t.Errorf("asked %q", wire.String())
			}
		})
	}
	t.Run("mute", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		got, err := Query(ctx, scripted(), NewOutput(io.Discard, OutputOptions{}), false)
		if err != nil || got != (Answers{}) || !got.Dark() {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

func TestKnownBackground(t *testing.T) {
	tests := []struct {
		flag, config, env string
		dark, known       bool
	}{
		{"light", "dark", "15;0", false, true},
		{"auto", "dark", "0;15", true, true},
		{"", "", "15;0", true, true},
		{"", "", "0;default;15", false, true},
		{"", "", "0;7", false, true},
		{"", "", "7;8", true, true},
		{"", "", "15;default", false, false},
		{"", "", "", false, false},
		{"", "", "7", false, false},
	}
	for _, tt := range tests {
		dark, known := KnownBackground(tt.flag, tt.config, tt.env)
		if dark != tt.dark || known != tt.known {
			t.Errorf("%+v: got %v, %v", tt, dark, known)
		}
	}
	for c, dark := range map[themes.Color]bool{themes.RGB(0, 0, 0): true, themes.RGB(255, 255, 255): false, themes.RGB(0x1c, 0x1c, 0x1c): true, themes.RGB(0xfd, 0xf6, 0xe3): false} {
		if got := (Answers{Background: c}).Dark(); got != dark {
			t.Errorf("%s dark: %v", c, got)
		}
	}
}

// A paste whose ESC came so late that it was given out as a key is still a paste,
// however its mark is cut; keys that are typed after an ESC stay keys.
func TestLateEscapeOfPaste(t *testing.T) {
	for cut := 1; cut < len(pasteBegin); cut++ {
		var a assembler
		a.feed([]byte("\x1b"))
		a.flushEscape()
		a.feed([]byte(pasteBegin[1:cut]))
		a.feed([]byte(pasteBegin[cut:] + "q" + pasteEnd))
		if got, want := string(a.out), "\x1b"+pasteBegin+"q"+pasteEnd; got != want {
			t.Errorf("cut at %d: %q, want %q", cut, got, want)
		}
	}
	for _, keys := range []string{"[x", "[20q", "q", "[["} {
		var a assembler
		a.feed([]byte("\x1b"))
		a.flushEscape()
		a.feed([]byte(keys))
		a.flushEscape()
		if got := string(a.out); got != "\x1b"+keys {
			t.Errorf("%q: %q", keys, got)
		}
	}
}

func TestReadsAsKey(t *testing.T) {
	for text, want := range map[string]bool{"delete": true, "up": true, "home": true, "ctrl+c": true, "alt+x": true, "deleted": false, "x": false, "Delete user": false} {
		if got := ReadsAsKey(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(text)}); got != want {
			t.Errorf("%q reads as a key: %v", text, got)
		}
	}
	if ReadsAsKey(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("up"), Paste: true}) || ReadsAsKey(tea.KeyMsg{Type: tea.KeyUp}) {
		t.Error("a paste, or a key itself, reads as a key that was typed")
	}
}
