package httpapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"app.sunloop/backend/api"
	"app.sunloop/backend/limit"
)

// shapeOf counts the values of a JSON text without decoding it, and refuses one
// that would take much more memory decoded than its bytes: lists and objects
// within each other deeper than [api.MaxJSONDepth], a list of more than
// [api.MaxJSONList] elements, more than [api.MaxJSONValues] values. Names of
// fields count as values. Of a text that is not JSON it may return anything: the
// decoder refuses such a text before it allocates. A refusal names the field, with
// the limit that the field declares in the type that the text is decoded into.
func shapeOf(b []byte, into reflect.Type, most int) (values int, err error) {
	s := shape{into: into}
	for i := 0; i < len(b); {
		c := b[i]
		switch c {
		case ' ', '\t', '\r', '\n', ':':
			i++
			continue
		case ',':
			i++
			if err := s.next(b); err != nil {
				return s.values, err
			}
			continue
		case ']', '}':
			i++
			s.depth = max(s.depth-1, 0)
			continue
		}
		if s.values++; s.values > most {
			return s.values, s.refuse(b, s.depth, fmt.Sprintf("the body has more than %d values", most))
		}
		switch c {
		case '[', '{':
			i++
			if s.depth == len(s.frames) {
				return s.values, s.refuse(b, 1, fmt.Sprintf("nested deeper than %d levels", api.MaxJSONDepth))
			}
			s.frames[s.depth] = frame{list: c == '[', naming: c == '{'}
			s.depth++
		case '"':
			end := endOfString(b, i)
			if f := s.top(); f != nil && f.naming {
				f.name, f.nameEnd, f.naming = i, end, false
			}
			i = end
		default: // a number, true, false, null, or no JSON
			i++
			for i < len(b) && !delimits(b[i]) {
				i++
			}
		}
	}
	return s.values, nil
}

// shape is where a scan is.
type shape struct {
	into   reflect.Type
	frames [api.MaxJSONDepth]frame
	depth  int // frames that are open
	values int
}

// frame is a list or an object that is open.
type frame struct {
	list    bool
	naming  bool // of an object: the next string is the name of a field
	commas  int
	name    int // of an object: where the name of the present field begins, and ends
	nameEnd int
}

func (s *shape) top() *frame {
	if s.depth == 0 {
		return nil
	}
	return &s.frames[s.depth-1]
}

// next begins the next element or field of the list or object on top.
func (s *shape) next(b []byte) error {
	f := s.top()
	if f == nil {
		return nil
	}
	f.naming = !f.list
	if f.commas++; f.list && f.commas >= api.MaxJSONList {
		return s.refuse(b, s.depth, fmt.Sprintf("at most %d items", api.MaxJSONList))
	}
	return nil
}

// refuse names the field at a depth by the names of the objects around it.
func (s *shape) refuse(b []byte, depth int, why string) error {
	var path []string
	for _, f := range s.frames[:min(depth, s.depth)] {
		var name string
		if f.list {
			if most, ok := limit.ItemsAt(s.into, path); ok && f.commas >= most {
				why = fmt.Sprintf("at most %d items", most)
				break
			}
			continue
		}
		if f.nameEnd == 0 || json.Unmarshal(b[f.name:f.nameEnd], &name) != nil || name == "" {
			continue
		}
		if len(name) > maxShownName {
			name = strings.ToValidUTF8(name[:maxShownName], "") + "…"
		}
		path = append(path, name)
	}
	if len(path) == 0 {
		return invalidBody(why)
	}
	return api.InvalidField(strings.Join(path, "."), why)
}

// maxShownName is the longest name of a field that a refusal repeats, in bytes.
const maxShownName = 64

// endOfString is the position behind the string that begins at i.
func endOfString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

func delimits(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ':', '[', ']', '{', '}', '"':
		return true
	}
	return false
}

// topTexts calls visit with name and value of each field of a JSON object whose
// value is a text, both as they are in the JSON, with their quotes. It decodes
// nothing. b is valid JSON.
func topTexts(b []byte, visit func(name, text []byte)) {
	depth, naming := 0, true
	var name []byte
	for i := 0; i < len(b); {
		switch b[i] {
		case '{', '[':
			if depth++; depth == 1 && b[i] == '[' {
				return
			}
		case '}', ']':
			depth--
		case ',':
			naming = naming || depth == 1
		case ':':
			naming = naming && depth != 1
		case '"':
			end := endOfString(b, i)
			switch {
			case depth != 1:
			case naming:
				name = b[i:end]
			default:
				visit(name, b[i:end])
			}
			i = end
			continue
		}
		i++
	}
}
