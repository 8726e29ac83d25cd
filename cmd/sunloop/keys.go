package main

import (
	"fmt"
	"os"
	"strings"

	"app.sunloop/tui/keymap"
)

// KeysCmd lists the console's keys.
type KeysCmd struct {
	Markdown bool   `help:"Print the tables of docs/keys.md."`
	Into     string `placeholder:"FILE" hidden:"" help:"Rewrite the tables in FILE, between their marks." type:"path"`
}

// The marks around the table.
const (
	tableBegin = "<!-- keys: made by `make generate` from tui/keymap -->\n"
	tableEnd   = "<!-- end of keys -->\n"
)

// Run prints the keys as the user has bound them.
func (c KeysCmd) Run(g *Globals, std streams) error {
	keys, err := keymap.Default().Rebind(g.file.Keys)
	if err != nil {
		return err
	}
	if c.Into != "" {
		return replaceBetween(c.Into, tableBegin, tableEnd, keymap.Default().Markdown())
	}
	if c.Markdown {
		fmt.Fprint(std.out, keys.Markdown())
		return nil
	}
	for _, e := range keys.Entries() {
		fmt.Fprintf(std.out, "%-10s %-16s %s\n", strings.Join(e.Binding.Keys(), " "), e.Action, e.Binding.Help().Desc)
	}
	return nil
}

// replaceBetween rewrites the part of a file between two marks.
func replaceBetween(path, begin, end, text string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(b), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no marks %q and %q", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(path, []byte(before+begin+text+end+after), 0o644)
}
