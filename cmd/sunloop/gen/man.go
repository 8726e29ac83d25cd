package gen

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

// PageName returns the name of a command's manual page without its section:
// the words of the command with hyphens between, as git does.
func (p Program) PageName(n *kong.Node) string {
	return strings.Join(append([]string{p.App.Name}, words(n)...), "-")
}

// WritePages writes the page of the program and of each command into a folder,
// which it makes, as NAME.1.
func (p Program) WritePages(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, n := range append([]*kong.Node{p.App.Node}, p.Commands()...) {
		if err := os.WriteFile(filepath.Join(dir, p.PageName(n)+".1"), p.Page(n), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// Page returns the manual page of a command in the macros of man(7).
func (p Program) Page(n *kong.Node) []byte {
	var b bytes.Buffer
	command := strings.Join(append([]string{p.App.Name}, words(n)...), " ")
	fmt.Fprintf(&b, ".TH %s 1 %s %s %s\n", strings.ToUpper(strings.ReplaceAll(p.PageName(n), "-", "\\-")),
		`"`+p.Date+`"`, quoted(p.App.Name+" "+p.Version), quoted("Sunloop Manual"))
	b.WriteString(".nh\n.ad l\n")
	fmt.Fprintf(&b, ".SH NAME\n%s\n", strings.Replace(roff(p.PageName(n)+" \x00 "+strings.TrimSuffix(n.Help, ".")), "\x00", `\-`, 1))
	p.synopsis(&b, command, n)
	if n.Detail != "" {
		b.WriteString(".SH DESCRIPTION\n" + roff(n.Detail) + "\n")
	}
	if kids := children(n); len(kids) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, c := range kids {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s", roff(command+" "+c.Name), roff(sentence(c.Help)))
			if c == n.DefaultCmd {
				b.WriteString("\nThis command runs if none is given.")
			}
			fmt.Fprintf(&b, "\nSee\n.BR %s (1).\n", roff(p.PageName(c)))
		}
	}
	if len(n.Positional) > 0 {
		b.WriteString(".SH ARGUMENTS\n")
		for _, a := range n.Positional {
			fmt.Fprintf(&b, ".TP\n.I %s\n%s\n", roff(a.Summary()), p.meaning(a, nil))
		}
	}
	if own := flags(n); len(own) > 0 {
		b.WriteString(".SH OPTIONS\n")
		for _, f := range own {
			p.option(&b, f)
		}
	}
	if n.Parent == nil {
		for _, s := range p.Sections {
			section(&b, s)
		}
	} else {
		b.WriteString(".SH COMMON OPTIONS\n")
		var names []string
		for _, f := range inherited(n) {
			names = append(names, "\\fB"+roff("--"+f.Name)+"\\fR")
		}
		fmt.Fprintf(&b, "%s:\nsee\n.BR %s (1).\n", strings.Join(names, ", "), roff(p.PageName(n.Parent)))
	}
	p.seeAlso(&b, n)
	return b.Bytes()
}

func (p Program) synopsis(b *bytes.Buffer, command string, n *kong.Node) {
	fmt.Fprintf(b, ".SH SYNOPSIS\n.B %s\n", roff(command))
	if len(children(n)) > 0 {
		b.WriteString(".RI [ command ]\n")
	}
	b.WriteString(".RI [ options ]\n")
	for _, a := range n.Positional {
		fmt.Fprintf(b, ".I %s\n", roff(a.Summary()))
	}
}

// option writes a flag as a paragraph with its name for a tag.
func (p Program) option(b *bytes.Buffer, f *kong.Flag) {
	b.WriteString(".TP\n")
	tag := "\\fB" + roff(long(f)) + "\\fR"
	if f.Short != 0 {
		tag = "\\fB" + roff("-"+string(f.Short)) + "\\fR, " + tag
	}
	if name := placeholder(f); name != "" {
		tag += "=\\fI" + roff(name) + "\\fR"
	}
	b.WriteString(tag + "\n" + p.meaning(f.Value, f) + "\n")
}

// meaning returns the help of a flag or argument with its values, its default
// and its environment variable.
func (p Program) meaning(v *kong.Value, f *kong.Flag) string {
	text := roff(sentence(v.Help))
	if k, list := p.value(v); k == oneOf {
		text += "\nValues: " + roff(strings.Join(list, ", ")) + "."
	}
	if v.HasDefault && v.Default != "" && !v.IsBool() {
		text += "\nDefault: " + roff(v.Default) + "."
	}
	if v.IsBool() && v.Default == "true" {
		text += "\nEnabled by default."
	}
	if f != nil && len(f.Envs) > 0 {
		text += "\nEnvironment: \\fB" + roff(strings.Join(f.Envs, ", ")) + "\\fR."
	}
	return text
}

func section(b *bytes.Buffer, s Section) {
	fmt.Fprintf(b, ".SH %s\n", roff(s.Title))
	for i, text := range s.Paragraphs {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		b.WriteString(roff(text) + "\n")
	}
	for _, t := range s.Terms {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(t[0]), roff(t[1]))
	}
}

func (p Program) seeAlso(b *bytes.Buffer, n *kong.Node) {
	var pages []string
	if n.Parent != nil {
		pages = append(pages, p.PageName(n.Parent))
		for _, sibling := range children(n.Parent) {
			if sibling != n && n.Parent.Parent != nil {
				pages = append(pages, p.PageName(sibling))
			}
		}
	}
	if len(pages) == 0 {
		return
	}
	b.WriteString(".SH SEE ALSO\n")
	for i, page := range pages {
		end := ","
		if i == len(pages)-1 {
			end = ""
		}
		fmt.Fprintf(b, ".BR %s (1)%s\n", roff(page), end)
	}
}

var roffEscapes = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`, "…", "...", "–", `\(en`, "“", `\(lq`, "”", `\(rq`)

// pageWidth is the length at which lines of a page's source are broken.
const pageWidth = 78

// roff returns text for a page: escaped, each sentence on a separate line,
// long lines broken between words, and no line that begins like a macro.
func roff(text string) string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(roffEscapes.Replace(text)) {
		if line != "" && (strings.HasSuffix(line, ".") || len(line)+1+len(word) > pageWidth) {
			lines = append(lines, line)
			line = ""
		}
		if line == "" && strings.HasPrefix(word, ".") {
			word = `\&` + word
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return strings.Join(append(lines, line), "\n")
}

// quoted returns text as one argument of a macro.
func quoted(text string) string { return `"` + strings.ReplaceAll(roff(text), `"`, `\(dq`) + `"` }
