package gen

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Flags returns a table of the flags of a command, without those of the
// commands above it: name, default, environment variable, meaning. A flag that
// skip reports as true is left out.
func (p Program) Flags(n *kong.Node, skip func(*kong.Flag) bool) string {
	var b strings.Builder
	b.WriteString("| setting | default | environment | meaning |\n|---|---|---|---|\n")
	list := flags(n)
	if n.Type == kong.CommandNode && n.DefaultCmd != nil {
		list = append(slices.Clone(list), flags(n.DefaultCmd)...)
	}
	for _, f := range list {
		if skip != nil && skip(f) {
			continue
		}
		name := "`" + f.Name + "`"
		if repeats(f.Value) {
			name += " (list)"
		}
		def := ""
		if f.HasDefault && f.Default != "" {
			def = "`" + f.Default + "`"
		}
		env := ""
		if len(f.Envs) > 0 {
			env = "`" + strings.Join(f.Envs, "`, `") + "`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, def, env, cell(sentence(f.Help)))
	}
	return b.String()
}

// CommandTable returns a table of all commands.
func (p Program) CommandTable() string {
	var b strings.Builder
	b.WriteString("| command | does |\n|---|---|\n")
	for _, n := range p.Commands() {
		if len(children(n)) == 0 {
			fmt.Fprintf(&b, "| `%s %s` | %s |\n", p.App.Name, strings.Join(words(n), " "), cell(sentence(n.Help)))
		}
	}
	return b.String()
}

// cell returns text for a cell of a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", ">", "&gt;", "\n", " ").Replace(text)
}
