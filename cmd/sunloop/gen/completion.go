package gen

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Shells are the shells that Completion has a script for.
var Shells = []string{"bash", "zsh", "fish"}

// Completion returns the completion script for a shell. The script holds all
// commands, flags and values, and does not run the program. ok is false for a
// shell that is not one of Shells.
func (p Program) Completion(shell string) (script []byte, ok bool) {
	switch shell {
	case "bash":
		return p.bash(), true
	case "zsh":
		return p.zsh(), true
	case "fish":
		return p.fish(), true
	}
	return nil, false
}

// nodes returns the program and its commands.
func (p Program) nodes() []*kong.Node { return append([]*kong.Node{p.App.Node}, p.Commands()...) }

// path returns a command as the scripts know it: "/admin/user", empty for the program.
func path(n *kong.Node) string {
	text := ""
	for _, w := range words(n) {
		text += "/" + w
	}
	return text
}

// completed are the values of flags as a case of bash, grouped by what is
// completed, so that a flag that means the same everywhere is written once.
type completed struct {
	action   string
	patterns []string
}

// values returns, for each action of a shell, the patterns PATH:--FLAG of the
// flags that it completes.
func (p Program) values(action func(kind, []string) string) []completed {
	byFlag := map[string]map[string][]string{} // flag → action → paths
	for _, n := range p.nodes() {
		for _, f := range accepted(n) {
			k, list := p.value(f.Value)
			if k == noValue {
				continue
			}
			for _, spelling := range spellings(f) {
				actions := byFlag[spelling]
				if actions == nil {
					actions = map[string][]string{}
					byFlag[spelling] = actions
				}
				a := action(k, list)
				actions[a] = append(actions[a], path(n))
			}
		}
	}
	patterns := map[string][]string{}
	for flag, actions := range byFlag {
		for a, paths := range actions {
			if len(actions) == 1 {
				patterns[a] = append(patterns[a], "*:"+flag)
				continue
			}
			for _, at := range paths {
				patterns[a] = append(patterns[a], at+":"+flag)
			}
		}
	}
	var out []completed
	for a, list := range patterns {
		slices.Sort(list)
		out = append(out, completed{a, list})
	}
	slices.SortFunc(out, func(a, b completed) int { return strings.Compare(a.patterns[0], b.patterns[0]) })
	return out
}

func (p Program) bash() []byte {
	var b bytes.Buffer
	name := p.App.Name
	fmt.Fprintf(&b, `# bash completion of %[1]s. Load it with: source <(%[1]s completion bash)
_%[1]s() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path= flag= i
  COMPREPLY=()
  # bash splits --flag=value into three words.
  if [[ $cur == = ]]; then
    cur=
  elif [[ $prev == = ]]; then
    prev=${COMP_WORDS[COMP_CWORD-2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == -* ]]; then
      flag=${COMP_WORDS[i]}
      [[ ${COMP_WORDS[i+1]} == = ]] && ((i++))
      _%[1]s_takes_value "$path:$flag" && ((i++))
      continue
    fi
    case $path/${COMP_WORDS[i]} in
`, name)
	var paths []string
	for _, n := range p.Commands() {
		paths = append(paths, path(n))
	}
	fmt.Fprintf(&b, "      %s)\n        path=$path/${COMP_WORDS[i]} ;;\n    esac\n  done\n", strings.Join(paths, "|"))
	b.WriteString("  case $path:$prev in\n")
	for _, v := range p.values(bashAction) {
		fmt.Fprintf(&b, "    %s)\n      %s\n      return ;;\n", strings.Join(v.patterns, "|"), v.action)
	}
	b.WriteString("  esac\n  case $path in\n")
	for _, n := range p.nodes() {
		var commands, options []string
		for _, c := range children(n) {
			commands = append(commands, c.Name)
		}
		for _, f := range accepted(n) {
			options = append(options, spellings(f)...)
		}
		options = unique(append(options, "--help"))
		fmt.Fprintf(&b, "    %s)\n      if [[ $cur == -* ]]; then\n        COMPREPLY=($(compgen -W '%s' -- \"$cur\"))\n", orEmpty(path(n)), strings.Join(options, " "))
		if action := p.bashArguments(n, commands); action != "" {
			fmt.Fprintf(&b, "      else\n        %s\n", action)
		}
		b.WriteString("      fi ;;\n")
	}
	fmt.Fprintf(&b, "  esac\n}\n_%s_takes_value() {\n  case $1 in\n", name)
	var all []string
	for _, v := range p.values(func(kind, []string) string { return "" }) {
		all = append(all, v.patterns...)
	}
	fmt.Fprintf(&b, "    %s)\n      return 0 ;;\n  esac\n  return 1\n}\ncomplete -F _%s %s\n", strings.Join(all, "|"), name, name)
	return b.Bytes()
}

func orEmpty(path string) string {
	if path == "" {
		return "''"
	}
	return path
}

func (p Program) bashArguments(n *kong.Node, commands []string) string {
	if len(commands) > 0 {
		words := fmt.Sprintf(`COMPREPLY=($(compgen -W '%s' -- "$cur"))`, strings.Join(commands, " "))
		if n.DefaultCmd != nil && len(n.DefaultCmd.Positional) > 0 {
			if k, _ := p.value(n.DefaultCmd.Positional[0]); k == file {
				words += `; compopt -o filenames 2>/dev/null; COMPREPLY+=($(compgen -f -- "$cur"))`
			}
		}
		return words
	}
	if len(n.Positional) == 0 {
		return ""
	}
	k, list := p.value(n.Positional[0])
	if k == anyValue {
		return ""
	}
	return bashAction(k, list)
}

func bashAction(k kind, list []string) string {
	switch k {
	case oneOf:
		return fmt.Sprintf(`COMPREPLY=($(compgen -W '%s' -- "$cur"))`, strings.Join(list, " "))
	case file:
		return `compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -f -- "$cur"))`
	case folder:
		return `compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -d -- "$cur"))`
	}
	return ":"
}

func unique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

func (p Program) zsh() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "#compdef %[1]s\n# zsh completion of %[1]s. Load it with: source <(%[1]s completion zsh)\n", p.App.Name)
	for _, n := range p.nodes() {
		function := "_" + strings.ReplaceAll(p.PageName(n), "-", "_")
		fmt.Fprintf(&b, "\n%s() {\n  local curcontext=$curcontext state line\n  typeset -A opt_args\n  _arguments -C \\\n", function)
		seen := map[string]bool{}
		for _, f := range accepted(n) {
			for _, s := range spellings(f) {
				if !seen[s] {
					seen[s] = true
					fmt.Fprintf(&b, "    %s \\\n", p.zshFlag(f, s))
				}
			}
		}
		b.WriteString("    '--help[Show help.]'")
		kids := children(n)
		switch {
		case len(kids) > 0:
			b.WriteString(" \\\n    '1:command:((")
			for i, c := range kids {
				if i > 0 {
					b.WriteString(" ")
				}
				fmt.Fprintf(&b, `%s\:"%s"`, c.Name, zshText(c.Help))
			}
			b.WriteString("))' \\\n    '*::arguments:->arguments'\n  case $state in\n    arguments)\n      case $line[1] in\n")
			for _, c := range kids {
				fmt.Fprintf(&b, "        %s) _%s ;;\n", c.Name, strings.ReplaceAll(p.PageName(c), "-", "_"))
			}
			b.WriteString("      esac ;;\n  esac\n")
		case len(n.Positional) > 0:
			for i, a := range n.Positional {
				k, list := p.value(a)
				position := fmt.Sprint(i + 1)
				if a.IsSlice() {
					position = "*"
				}
				fmt.Fprintf(&b, " \\\n    '%s:%s:%s'", position, zshText(a.Name), zshAction(k, list))
			}
			b.WriteString("\n")
		default:
			b.WriteString("\n")
		}
		b.WriteString("}\n")
	}
	fmt.Fprintf(&b, "\nif [ \"$funcstack[1]\" = _%[1]s ]; then\n  _%[1]s\nelse\n  compdef _%[1]s %[1]s\nfi\n", p.App.Name)
	return b.Bytes()
}

func (p Program) zshFlag(f *kong.Flag, spelling string) string {
	k, list := p.value(f.Value)
	text := "'"
	if repeats(f.Value) {
		text += "*"
	}
	text += spelling
	if k != noValue {
		text += "="
	}
	text += "[" + zshText(f.Help) + "]"
	if k != noValue {
		text += ":" + zshText(placeholder(f)) + ":" + zshAction(k, list)
	}
	return text + "'"
}

var zshEscapes = strings.NewReplacer("'", "", "[", "(", "]", ")", ":", `\:`, "\n", " ", `"`, "", "`", "", "$", "", `\`, "")

func zshText(text string) string { return zshEscapes.Replace(text) }

func zshAction(k kind, list []string) string {
	switch k {
	case oneOf:
		return "(" + strings.Join(list, " ") + ")"
	case file:
		return "_files"
	case folder:
		return "_files -/"
	}
	return ""
}

func (p Program) fish() []byte {
	var b bytes.Buffer
	name := p.App.Name
	var groups []string
	for _, n := range p.Commands() {
		groups = append(groups, path(n))
	}
	fmt.Fprintf(&b, `# fish completion of %[1]s. Load it with: %[1]s completion fish | source
function __%[1]s_at
    set -l path ''
    for word in (commandline -opc)[2..-1]
        contains -- "$path/$word" %[2]s
        and set path "$path/$word"
    end
    test "$path" = "$argv[1]"
end
complete -c %[1]s -f
`, name, strings.Join(groups, " "))
	for _, n := range p.nodes() {
		at := fmt.Sprintf("complete -c %s -n \"__%s_at '%s'\"", name, name, path(n))
		for _, c := range children(n) {
			fmt.Fprintf(&b, "%s -a %s -d %s\n", at, c.Name, fishText(c.Help))
		}
		if n.DefaultCmd != nil && len(n.DefaultCmd.Positional) > 0 {
			if k, _ := p.value(n.DefaultCmd.Positional[0]); k == file {
				fmt.Fprintf(&b, "%s -F\n", at)
			}
		}
		if len(children(n)) == 0 && len(n.Positional) > 0 {
			switch k, list := p.value(n.Positional[0]); k {
			case oneOf:
				fmt.Fprintf(&b, "%s -a %s\n", at, fishText(strings.Join(list, " ")))
			case file:
				fmt.Fprintf(&b, "%s -F\n", at)
			case folder:
				fmt.Fprintf(&b, "%s -a '(__fish_complete_directories)'\n", at)
			}
		}
		seen := map[string]bool{}
		for _, f := range accepted(n) {
			k, list := p.value(f.Value)
			for _, s := range spellings(f) {
				if seen[s] {
					continue
				}
				seen[s] = true
				line := at + " -l " + strings.TrimPrefix(s, "--") + " -d " + fishText(f.Help)
				switch k {
				case oneOf:
					line += " -x -a " + fishText(strings.Join(list, " "))
				case file:
					line += " -r -F"
				case folder:
					line += " -x -a '(__fish_complete_directories)'"
				case anyValue:
					line += " -x"
				}
				b.WriteString(line + "\n")
			}
		}
	}
	return b.Bytes()
}

// fishText returns text as one quoted word of fish.
func fishText(text string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`, "\n", " ").Replace(text) + "'"
}
