package main

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// errByHand says that a document is written in a way that the console does not
// change.
var errByHand = errors.New("it is written in a way that only its owner can change")

// assignment is the position of a key in a document, and its value.
type assignment struct {
	path                 []string
	start, value, end    int // of the key, of the value, and behind it
	dotted, inHeaderless bool
}

// header is where a table begins.
type header struct {
	path  []string
	array bool
	end   int // behind its line
	last  int // behind the line of its last key; end without one
}

// tomlMap is where keys and tables stand in a document.
type tomlMap struct {
	keys    []assignment
	headers []header
}

// mapTOML finds the keys and tables of a document.
func mapTOML(doc []byte) (tomlMap, error) {
	var m tomlMap
	var p unstable.Parser
	p.Reset(doc)
	var table []string
	for p.NextExpression() {
		e := p.Expression()
		var path []string
		start, behind := 0, 0
		for it := e.Key(); it.Next(); {
			k := it.Node()
			if len(path) == 0 {
				start = int(k.Raw.Offset)
			}
			path = append(path, string(k.Data))
			behind = int(k.Raw.Offset + k.Raw.Length)
		}
		switch e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = path
			end := lineEnd(doc, behind)
			m.headers = append(m.headers, header{path: path, array: e.Kind == unstable.ArrayTable, end: end, last: end})
		case unstable.KeyValue:
			value := behind + bytes.IndexByte(doc[behind:], '=') + 1
			for value < len(doc) && (doc[value] == ' ' || doc[value] == '\t') {
				value++
			}
			end := int(e.Raw.Offset + e.Raw.Length)
			m.keys = append(m.keys, assignment{path: slices.Concat(table, path), start: start, value: value, end: end, dotted: len(path) > 1, inHeaderless: len(m.headers) == 0})
			if n := len(m.headers); n > 0 {
				m.headers[n-1].last = lineEnd(doc, end)
			}
		}
	}
	return m, p.Error()
}

// lineEnd is behind the line that holds at.
func lineEnd(doc []byte, at int) int {
	if i := bytes.IndexByte(doc[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(doc)
}

// setTOML gives a key of a table a value and leaves every other byte of the
// document as it is; a nil value takes the key away and keeps the comment
// behind it. What it answers says what was meant, or there is an error.
func setTOML(doc []byte, table, key string, value any) ([]byte, error) {
	m, err := mapTOML(doc)
	if err != nil {
		return nil, err
	}
	text := ""
	if value != nil {
		line, err := toml.Marshal(map[string]any{key: value})
		if err != nil {
			return nil, err
		}
		text = strings.TrimRight(string(line), "\n")
	}
	out, err := m.set(doc, table, key, text)
	if err != nil {
		return nil, err
	}
	return out, sameBut(doc, out, table, key, value)
}

// set replaces, takes away or adds a key; line is the assignment, empty to take
// it away.
func (m tomlMap) set(doc []byte, table, key, line string) ([]byte, error) {
	path := []string{table, key}
	if i := slices.IndexFunc(m.keys, func(a assignment) bool { return slices.Equal(a.path, path) }); i >= 0 {
		a := m.keys[i]
		if line != "" {
			_, value, _ := strings.Cut(line, " = ")
			return splice(doc, a.value, a.end, value), nil
		}
		from, to := a.start, lineEnd(doc, a.end)
		for from > 0 && doc[from-1] != '\n' {
			from--
		}
		if comment := bytes.IndexByte(doc[a.end:to], '#'); comment >= 0 {
			to = a.end + comment
		}
		return splice(doc, from, to, ""), nil
	}
	if line == "" {
		return doc, nil
	}
	newline := "\n"
	if bytes.Contains(doc, []byte("\r\n")) {
		newline = "\r\n"
	}
	add := func(at int, text string) []byte {
		if at > 0 && doc[at-1] != '\n' {
			text = newline + text
		}
		return splice(doc, at, at, text+newline)
	}
	for _, h := range m.headers {
		if !h.array && slices.Equal(h.path, path[:1]) {
			return add(h.last, line), nil
		}
	}
	// Without a separate header, the table may consist of dotted keys.
	for _, a := range slices.Backward(m.keys) {
		if a.inHeaderless && a.dotted && a.path[0] == table {
			return add(lineEnd(doc, a.end), table+"."+line), nil
		}
	}
	text := "[" + table + "]" + newline + line
	if len(bytes.TrimSpace(doc)) > 0 {
		text = newline + text
	}
	return add(len(doc), text), nil
}

func splice(doc []byte, from, to int, text string) []byte {
	return slices.Concat(doc[:from], []byte(text), doc[to:])
}

// sameBut fails unless after differs from before in that key alone.
func sameBut(before, after []byte, table, key string, value any) error {
	var want, got map[string]any
	if err := toml.Unmarshal(before, &want); err != nil {
		return err
	}
	if err := toml.Unmarshal(after, &got); err != nil {
		return errByHand
	}
	section, _ := got[table].(map[string]any)
	has, there := section[key]
	if there != (value != nil) || value != nil && fmt.Sprint(has) != fmt.Sprint(value) {
		return errByHand
	}
	for _, doc := range []map[string]any{want, got} {
		if section, ok := doc[table].(map[string]any); ok {
			delete(section, key)
			if len(section) == 0 {
				delete(doc, table)
			}
		}
	}
	if !reflect.DeepEqual(want, got) {
		return errByHand
	}
	return nil
}
