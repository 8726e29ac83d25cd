// Package style finds phrases that docs/style.md refuses, in comments and string
// literals of Go files and in Markdown files, except those of exceptions.txt.
package style

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

//go:embed phrases.txt
var phraseFile string

// Phrase is a sequence of words that is refused.
type Phrase struct {
	Words   []string // in lower case
	Instead string   // what to write
	Strings bool     // refused in string literals only
}

// Phrases returns the refused phrases by their first word.
func Phrases() (map[string][]Phrase, error) {
	out := map[string][]Phrase{}
	for line := range strings.Lines(phraseFile) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		variants, instead, ok := strings.Cut(line, " => ")
		if !ok {
			return nil, fmt.Errorf("read phrases: no replacement in %q", line)
		}
		variants, only := strings.CutPrefix(variants, "strings: ")
		for text := range strings.SplitSeq(variants, ", ") {
			words := strings.Fields(text)
			out[words[0]] = append(out[words[0]], Phrase{words, instead, only})
		}
	}
	return out, nil
}

// Hit is a refused phrase in a file.
type Hit struct {
	File   string
	Line   int
	Phrase Phrase
}

func (h Hit) String() string {
	return fmt.Sprintf("%s:%d: %q; use %s", h.File, h.Line, strings.Join(h.Phrase.Words, " "), h.Phrase.Instead)
}

// skipped reports whether a file or folder is not checked: data of tests, files
// outside of the project, and the guide that lists the phrases.
func skipped(name string) bool {
	base := path.Base(name)
	return base == "testdata" || base == "bin" || base == "node_modules" || name == "docs/style.md" || name == "internal/style/style_test.go" || name == "docs/dependencies.md" || strings.HasPrefix(base, ".") && base != "." && base != ".github"
}

// Find returns all hits in a tree, by file and line.
func Find(tree fs.FS, phrases map[string][]Phrase) ([]Hit, error) {
	var out []Hit
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case skipped(name) && d.IsDir():
			return fs.SkipDir
		case d.IsDir() || skipped(name):
			return nil
		}
		var find func(string, []byte, map[string][]Phrase) []Hit
		switch path.Ext(name) {
		case ".go":
			find = inGo
		case ".md":
			find = inMarkdown
		default:
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err == nil {
			hits := find(name, text, phrases)
			slices.SortStableFunc(hits, func(a, b Hit) int { return a.Line - b.Line })
			out = append(out, hits...)
		}
		return err
	})
	return out, err
}

// inGo finds phrases in comments and string literals. Consecutive line comments
// are one text, as a phrase may be broken between lines.
func inGo(name string, text []byte, phrases map[string][]Phrase) []Hit {
	files := token.NewFileSet()
	file := files.AddFile(name, files.Base(), len(text))
	var s scanner.Scanner
	s.Init(file, text, func(token.Position, string) {}, scanner.ScanComments)
	var out []Hit
	var comment strings.Builder
	first, last := 0, -2
	flush := func() {
		out = append(out, inText(name, first, comment.String(), false, phrases)...)
		comment.Reset()
	}
	for {
		pos, tok, literal := s.Scan()
		line := file.Line(pos)
		if tok == token.COMMENT {
			if line > last+1 {
				flush()
				first = line
			}
			comment.WriteString(strings.TrimLeft(literal, "/") + "\n")
			last = line + strings.Count(literal, "\n")
			continue
		}
		if tok == token.STRING {
			if value, err := strconv.Unquote(literal); err == nil {
				out = append(out, inText(name, line, value, true, phrases)...)
			}
		}
		if tok == token.EOF {
			break
		}
	}
	flush()
	return out
}

// code is what Markdown shows as it is: blocks and spans.
var code = regexp.MustCompile("(?ms)^```.*?^```|`[^`\n]*`")

// inMarkdown finds phrases outside of code.
func inMarkdown(name string, text []byte, phrases map[string][]Phrase) []Hit {
	plain := code.ReplaceAllFunc(text, func(b []byte) []byte {
		return append([]byte("`"), bytes.Repeat([]byte("\n"), bytes.Count(b, []byte("\n")))...)
	})
	return inText(name, 1, string(plain), false, phrases)
}

// word is a word of a text. follows reports whether only white space separates
// it from the word before.
type word struct {
	text    string
	line    int
	follows bool
}

func split(text string, line int) []word {
	var out []word
	start, follows := -1, true
	end := func(at int) {
		if start >= 0 {
			out = append(out, word{strings.ToLower(text[start:at]), line, follows})
			start, follows = -1, true
		}
	}
	for at, r := range text {
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' || r == '\'' || r == '’':
			if start < 0 {
				start = at
			}
			continue
		case unicode.IsSpace(r):
			end(at)
		default:
			end(at)
			follows = false
		}
		if r == '\n' {
			line++
		}
	}
	end(len(text))
	return out
}

func inText(name string, line int, text string, literal bool, phrases map[string][]Phrase) []Hit {
	var out []Hit
	words := split(text, line)
	for i, w := range words {
		for _, p := range phrases[w.text] {
			if (literal || !p.Strings) && begins(words[i:], p.Words) {
				out = append(out, Hit{name, w.line, p})
			}
		}
	}
	return out
}

// begins reports whether words begins with a phrase.
func begins(words []word, phrase []string) bool {
	if len(words) < len(phrase) {
		return false
	}
	for i, w := range phrase {
		if words[i].text != w || i > 0 && !words[i].follows {
			return false
		}
	}
	return true
}

// Key names a phrase in a file, as a line of exceptions.txt does.
func (h Hit) Key() string { return h.File + ": " + strings.Join(h.Phrase.Words, " ") }

//go:embed exceptions.txt
var exceptionFile string

// Exceptions returns the phrases that may stay, as [Hit.Key] names them, each
// with its reason.
func Exceptions() (map[string]string, error) {
	out := map[string]string{}
	for line := range strings.Lines(exceptionFile) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		key, reason, ok := strings.Cut(line, " => ")
		if !ok || reason == "" || out[key] != "" {
			return nil, fmt.Errorf("read exceptions: no reason, or a second line, in %q", line)
		}
		out[key] = reason
	}
	return out, nil
}
