package settings

import (
	"strings"
	"testing"
)

func TestDefaultsAreValues(t *testing.T) {
	for _, s := range All() {
		if err := s.Check(s.Default); err != nil {
			t.Error(err)
		}
		if s.Title == "" || s.Help == "" || s.Group == "" {
			t.Errorf("%s is not explained", s.Name)
		}
	}
}

func TestCheck(t *testing.T) {
	for name, values := range map[string]map[string]string{
		Mouse:      {"true": "", "false": "", "yes": "mouse is true or false"},
		BellFrom:   {"high": "", "warning": "", "loud": "one of critical, high, medium, low, off"},
		Graph:      {"block": "", "blocks": "one of auto, braille, block, ascii"},
		FPS:        {"0": "", "60": "", "61": "from 0 to 60", "-1": "from 0 to 60", "ten": "whole number"},
		QuadFrom:   {"160x40": "", "200x24": "", "160x10": "from 24", "160": "as 160x40", "axb": "as 160x40"},
		StripsFrom: {"80x24": "", "10x10": "from 24"},
		Split:      {"60x40": "", "90x50": "from 20 to 80"},
		Theme:      {"mine": ""},
	} {
		s, ok := Find(name)
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		for value, want := range values {
			err := s.Check(value)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s = %q: %v, want %q", name, value, err, want)
			}
		}
	}
}

func TestValue(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want any
	}{Mouse: {"false", false}, FPS: {"12", int64(12)}, Split: {"60x40", "60x40"}} {
		s, _ := Find(name)
		if got := s.Value(tt.text); got != tt.want {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestSources(t *testing.T) {
	s := Sources{Graph: {Value: "block", From: FromFile}}
	if got := s.Of(Graph).Value + s.Of(Split).Value; got != "block50x50" {
		t.Error(got)
	}
	if Pace("fast")*Pace("slow") != Pace("normal") {
		t.Error("fast and slow are not as far from normal")
	}
}
