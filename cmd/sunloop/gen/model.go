// Package gen writes what is derived from the command line: manual pages,
// completion scripts of shells, and tables of flags for the documentation. It
// reads the model of the command parser, so that a new command or flag needs no
// second declaration.
package gen

import (
	"cmp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Program describes a command line for its documentation.
type Program struct {
	App     *kong.Application
	Version string // as in v1.2.0
	Date    string // of the version, YYYY-MM-DD; empty if unknown

	// Values returns the values of a flag that the parser does not know as an
	// enumeration, such as names of themes; nil if any value is allowed.
	Values func(*kong.Flag) []string
	// Sections are added to the page of the program after its flags, in their
	// order: title and text in the subset of roff that Roff writes.
	Sections []Section
}

// Section is a part of a manual page: paragraphs, or terms with their meaning.
type Section struct {
	Title      string
	Paragraphs []string
	Terms      [][2]string
}

// Commands returns the visible commands below the program, groups before their
// members, in the order of their declaration.
func (p Program) Commands() []*kong.Node {
	var out []*kong.Node
	var add func(*kong.Node)
	add = func(n *kong.Node) {
		for _, c := range n.Children {
			if !c.Hidden {
				out = append(out, c)
				add(c)
			}
		}
	}
	add(p.App.Node)
	return out
}

// Find returns the command that the words name, the program for none.
func (p Program) Find(words ...string) (*kong.Node, bool) {
	n := p.App.Node
	for _, w := range words {
		i := slices.IndexFunc(n.Children, func(c *kong.Node) bool { return c.Name == w && !c.Hidden })
		if i < 0 {
			return nil, false
		}
		n = n.Children[i]
	}
	return n, true
}

// words returns the names of a command from below the program down.
func words(n *kong.Node) []string {
	if n.Parent == nil {
		return nil
	}
	return append(words(n.Parent), n.Name)
}

// flags returns the visible flags of a node itself, help excluded, by name.
func flags(n *kong.Node) []*kong.Flag {
	var out []*kong.Flag
	for _, f := range n.Flags {
		if !f.Hidden && f.Name != "help" {
			out = append(out, f)
		}
	}
	slices.SortStableFunc(out, func(a, b *kong.Flag) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// inherited returns the visible flags of the nodes above n, help excluded.
func inherited(n *kong.Node) []*kong.Flag {
	var out []*kong.Flag
	for p := n.Parent; p != nil; p = p.Parent {
		out = append(out, flags(p)...)
	}
	return out
}

// children returns the visible commands of a node.
func children(n *kong.Node) []*kong.Node {
	var out []*kong.Node
	for _, c := range n.Children {
		if !c.Hidden {
			out = append(out, c)
		}
	}
	return out
}

// accepted returns all flags that a command accepts: its own, those above it
// and, for a group with a default command, those of that command.
func accepted(n *kong.Node) []*kong.Flag {
	out := append(slices.Clone(flags(n)), inherited(n)...)
	if n.DefaultCmd != nil {
		out = append(out, flags(n.DefaultCmd)...)
	}
	return out
}

// The kinds of value that a flag or an argument takes.
type kind int

const (
	noValue  kind = iota // a switch
	anyValue             // any text
	oneOf                // one of a list
	file
	folder
)

// value returns what a flag or argument takes, and the list for oneOf.
func (p Program) value(v *kong.Value) (kind, []string) {
	if v.Flag != nil && p.Values != nil {
		if list := p.Values(v.Flag); list != nil {
			return oneOf, list
		}
	}
	list := slices.DeleteFunc(slices.Clone(v.EnumSlice()), func(s string) bool { return s == "" })
	switch {
	case v.IsBool():
		return noValue, nil
	case len(list) > 0:
		return oneOf, list
	case v.Tag.Type == "existingdir" || v.Flag != nil && v.Flag.PlaceHolder == "DIR":
		return folder, nil
	case v.Tag.Type == "path" || v.Tag.Type == "existingfile":
		return file, nil
	}
	return anyValue, nil
}

// placeholder returns the name of a flag's value, empty for a switch.
func placeholder(f *kong.Flag) string {
	switch {
	case f.IsBool():
		return ""
	case f.PlaceHolder != "":
		return f.PlaceHolder
	}
	return strings.ToUpper(f.Name)
}

// long returns a flag as it is written, with [no-] if it can be negated.
func long(f *kong.Flag) string {
	if f.Tag.Negatable != "" {
		return "--[no-]" + f.Name
	}
	return "--" + f.Name
}

// spellings returns all long forms of a flag.
func spellings(f *kong.Flag) []string {
	out := []string{"--" + f.Name}
	if f.Tag.Negatable != "" {
		out = append(out, "--no-"+f.Name)
	}
	return out
}

// repeats reports whether a flag may be given more than once.
func repeats(v *kong.Value) bool { return v.IsSlice() || v.IsMap() || v.IsCumulative() }

// sentence returns text with one full stop at its end.
func sentence(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.HasSuffix(text, ".") || strings.HasSuffix(text, "?") {
		return text
	}
	return text + "."
}
