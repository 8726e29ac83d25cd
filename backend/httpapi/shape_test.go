package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"reflect"
	"strings"
	"testing"

	"app.sunloop/backend/api"
)

func repeated(element string, n int) string {
	return strings.TrimSuffix(strings.Repeat(element+",", n), ",")
}

func TestShapeOf(t *testing.T) {
	into := reflect.TypeFor[*api.AssetsRequest]()
	for _, c := range []struct {
		name, text, field, reason string
		values                    int
	}{
		{"nothing", ``, "", "", 0},
		{"fields and values", `{"a":1,"b":[true,null,"x,y"],"c":{"d":-1.5e3}}`, "", "", 12},
		{"escaped quotes", `{"a\"b":"[[[\\\"{{{"}`, "", "", 3},
		{"deepest", `{"a":` + strings.Repeat("[", api.MaxJSONDepth-1) + strings.Repeat("]", api.MaxJSONDepth-1) + `}`, "", "", api.MaxJSONDepth + 1},
		{"too deep", `{"a":` + strings.Repeat("[", api.MaxJSONDepth) + strings.Repeat("]", api.MaxJSONDepth) + `}`, "a", "nested deeper than 16 levels", 0},
		{"too deep in all", strings.Repeat("[", api.MaxJSONDepth+1), "", "nested deeper than 16 levels", 0},
		{"longest list", `{"x":[` + repeated("0", api.MaxJSONList) + `]}`, "", "", api.MaxJSONList + 3},
		{"list too long", `{"x":{"y":[` + repeated("0", api.MaxJSONList+1) + `]}}`, "x.y", "at most 5000 items", 0},
		{"list of objects too long", `{"x":[` + repeated("{}", api.MaxJSONList+1) + `]}`, "x", "at most 5000 items", 0},
		{"list of a field with its own limit", `{"components":[` + repeated("{}", api.MaxJSONList+1) + `]}`, "components", "at most 200 items", 0},
		{"the same by its values", `{"components":[` + repeated(`{"oem":"a","model":"b"}`, api.MaxJSONList) + `]}`, "components", "at most 200 items", 0},
		{"too many lists", `{"x":[` + repeated("[0,0,0]", 3000) + `]}`, "x", "the body has more than 10000 values", 0},
		{"too many fields", `{` + repeated(`"x":1`, 6000) + `}`, "x", "the body has more than 10000 values", 0},
		{"a long name", `{"` + strings.Repeat("n", 100) + `":[` + repeated("0", api.MaxJSONList+1) + `]}`, strings.Repeat("n", 64) + "…", "at most 5000 items", 0},
	} {
		values, err := shapeOf([]byte(c.text), into, api.MaxJSONValues)
		var refusal *api.Error
		switch {
		case c.reason == "":
			if err != nil || values != c.values {
				t.Errorf("%s: %d values, %v, want %d", c.name, values, err, c.values)
			}
		case !errors.As(err, &refusal) || refusal.Status != 400 || refusal.Details["reason"] != c.reason:
			t.Errorf("%s: %v, want %s", c.name, err, c.reason)
		case c.field != "" && refusal.Details["field"] != c.field:
			t.Errorf("%s: field %v, want %s", c.name, refusal.Details["field"], c.field)
		}
	}
}

// shapeByTokens is what shapeOf counts, by the decoder of the standard library.
func shapeByTokens(text []byte) (values, depth, longest int, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	type open struct {
		list  bool
		items int
	}
	var stack []open
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return values, depth, longest, nil
		}
		if err != nil {
			return 0, 0, 0, err
		}
		if delim, ok := token.(json.Delim); ok && (delim == ']' || delim == '}') {
			if top := stack[len(stack)-1]; top.list {
				longest = max(longest, top.items)
			}
			stack = stack[:len(stack)-1]
			continue
		}
		values++
		if len(stack) > 0 {
			stack[len(stack)-1].items++
		}
		if delim, ok := token.(json.Delim); ok {
			stack = append(stack, open{list: delim == '['})
			depth = max(depth, len(stack))
		}
	}
}

// FuzzShape compares the count of values with the decoder of the standard library:
// a text that is within the limits is never refused, and one above them always is.
func FuzzShape(f *testing.F) {
	for _, text := range []string{
		`{}`, `[]`, `null`, `"a\"]"`, `{"a":[1,{"b":"c"}],"d":""}`, ` { "a" : [ ] , "b" : -0.1e+9 } `, `{"a":"\\"}`, `[[],[[]],{}]`,
		`{"a":[` + repeated("{}", api.MaxJSONList+1) + `]}`, strings.Repeat("[", 17) + strings.Repeat("]", 17), `{` + repeated(`"x":1`, 6000) + `}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		values, err := shapeOf(text, reflect.TypeFor[*api.AssetsRequest](), api.MaxJSONValues)
		if !json.Valid(text) {
			return // it must only return
		}
		want, depth, longest, tokenErr := shapeByTokens(text)
		if tokenErr != nil {
			t.Fatalf("the decoder reads it: %v", tokenErr)
		}
		within := want <= api.MaxJSONValues && depth <= api.MaxJSONDepth && longest <= api.MaxJSONList
		if within != (err == nil) || within && values != want {
			t.Fatalf("%d values, %v; the decoder has %d values, depth %d, longest list %d", values, err, want, depth, longest)
		}
	})
}

// FuzzTopTexts compares the texts at the top of an object with those that the
// decoder of the standard library finds.
func FuzzTopTexts(f *testing.F) {
	for _, text := range []string{`{}`, `{"a":"b","c":["d","e"],"f":{"g":"h"},"i":"j,\"k"}`, `["a","b"]`, `{"a":1,"a":"b"}`, `{"a":"b","a":"c"}`, `"a"`, `null`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		var fields map[string]any
		if json.Unmarshal(text, &fields) != nil {
			fields = nil
		}
		want := map[string]string{}
		for name, v := range fields {
			if s, ok := v.(string); ok {
				want[name] = s
			}
		}
		got := map[string]string{}
		topTexts(text, func(quotedName, quotedText []byte) {
			var name, value string
			if err := errors.Join(json.Unmarshal(quotedName, &name), json.Unmarshal(quotedText, &value)); err != nil {
				t.Fatalf("%s %s: %v", quotedName, quotedText, err)
			}
			if _, isText := fields[name].(string); isText { // the last of a name counts
				got[name] = value
			}
		})
		if !maps.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	})
}
