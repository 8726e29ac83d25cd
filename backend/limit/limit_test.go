package limit

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

type part struct {
	Serial string `json:"serial" limit:"id"`
}

type record struct {
	Name   string            `json:"name" limit:"5"`
	Parts  []part            `json:"parts" limit:"2"`
	Tags   map[string]string `json:"tags" limit:"2 3 4"`
	Notes  []string          `json:"notes" limit:"2 5 cut"`
	Moves  []int             `json:"moves" limit:"2 last"`
	Sealed []byte            `json:"sealed" limit:"1KiB"`
	Before any               `json:"before" limit:"10 cut"`
	At     time.Time         `json:"at"`
	Next   *record           `json:"next"`
	local  string
	part
}

func TestCheck(t *testing.T) {
	for want, v := range map[string]record{
		"":                                {Name: "äöüäö", local: strings.Repeat("x", 99), Parts: []part{{}, {}}, Next: &record{}},
		"name: at most 5 characters":      {Name: "äöüäöü"},
		"next.name: at most 5 characters": {Next: &record{Name: "123456"}},
		"parts: at most 2 items":          {Parts: make([]part, 3)},
		"parts[1].serial: at most 200 characters": {Parts: []part{{}, {strings.Repeat("x", 201)}}},
		"serial: at most 200 characters":          {part: part{strings.Repeat("x", 201)}},
		"tags: at most 2 items":                   {Tags: map[string]string{"a": "", "b": "", "c": ""}},
		"tags: at most 3 characters":              {Tags: map[string]string{"abcd": ""}},
		"tags: at most 4 characters":              {Tags: map[string]string{"abc": "12345"}},
		"sealed: at most 1024 bytes":              {Sealed: make([]byte, 1025)},
		"before: at most 10 bytes":                {Before: []string{"0123456789"}},
		"notes[0]: at most 5 characters":          {Notes: []string{"123456"}},
	} {
		got := ""
		if err := Check(&v); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("Check(%+v) = %q, want %q", v, got, want)
		}
	}
}

// TestFit cuts what the service fills itself, refuses the rest, and leaves the
// value of the caller alone.
func TestFit(t *testing.T) {
	notes := []string{"123456", "b", "c"}
	got, err := Fit(record{Notes: notes, Moves: []int{1, 2, 3}, Before: "0123456789"}, nil)
	want := record{Notes: []string{"1234…", "b"}, Moves: []int{2, 3}, Before: "left out: 12 bytes"}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("Fit = %+v, %v, want %+v", got, err, want)
	}
	if notes[0] != "123456" {
		t.Errorf("Fit changed the caller's list to %q", notes)
	}
	var over *Error
	if _, err := Fit(record{Name: "123456"}, nil); !errors.As(err, &over) || over.Path != "name" {
		t.Errorf("Fit of a long name = %v", err)
	}
}

// TestFitReplaces lets a record that was too long before keep its length, and no more.
func TestFitReplaces(t *testing.T) {
	former := record{Name: "123456789", Parts: make([]part, 4)}
	same := former
	same.Next = &record{}
	if _, err := Fit(same, &former); err != nil {
		t.Errorf("a change of another field: %v", err)
	}
	longer := former
	longer.Name += "x"
	if _, err := Fit(longer, &former); err == nil {
		t.Error("a name above its limit may grow")
	}
	former.Notes = []string{"123456"}
	kept := former
	kept.Next = &record{}
	if got, err := Fit(kept, &former); err != nil || got.Notes[0] != "123456" {
		t.Errorf("a long note that has not grown is %q, %v", got.Notes, err)
	}
	more := former
	more.Parts = make([]part, 5)
	if _, err := Fit(more, &former); err == nil {
		t.Error("a list above its limit may grow")
	}
}

func TestMissing(t *testing.T) {
	type inner struct {
		Text string `json:"text"`
	}
	type outer struct {
		Name   string   `json:"name" limit:"name"`
		Lists  []string `json:"lists" limit:"10"`
		Inner  []inner  `json:"inner" limit:"10"`
		Hidden string   `json:"-"`
		Wrong  string   `json:"wrong" limit:"nmae"`
		When   time.Time
		Count  *int
	}
	got := strings.Join(Missing(reflect.TypeFor[outer]()), "\n")
	for _, want := range []string{"outer.Lists: []string needs 2 limits, and has 1", "inner.Text: string needs 1 limits, and has 0", `outer.Wrong: limit "nmae" is neither`} {
		if !strings.Contains(got, want) {
			t.Errorf("Missing does not report %q:\n%s", want, got)
		}
	}
	if n := strings.Count(got, "\n") + 1; n != 3 {
		t.Errorf("Missing reports %d fields, want 3:\n%s", n, got)
	}
	if faults := Missing(reflect.TypeFor[record]()); faults != nil {
		t.Errorf("Missing reports %q of a type with all limits", faults)
	}
}
