package artifact

import (
	"errors"
	"strings"
	"testing"
)

// description is the data of a package stored next to the seal.
type description struct {
	Seal
	Site string `json:"site"`
}

func packed(t *testing.T) Parts {
	t.Helper()
	var model, encoders Writer
	model.Section(1, func(e *Encoder) { e.Float32(0.5) })
	encoders.Section(2, func(e *Encoder) { e.Uint16(7) })
	p, err := Pack(3, &model, &encoders, func(s Seal) any { return description{s, "South"} })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPartsComeBack(t *testing.T) {
	p := packed(t)
	var d description
	if err := p.Describe(3, &d, &d.Seal); err != nil || d.Site != "South" || d.Format != 3 {
		t.Errorf("described as %+v, %v", d, err)
	}
	model, encoders, err := p.Open()
	if err != nil || model.Count(1) != 1 || encoders.Count(2) != 1 {
		t.Errorf("opened: %v", err)
	}
	if p.Hash() != Hash(p.Model, p.Encoders, p.Config) {
		t.Error("the hash is not that of all three")
	}
}

func TestPartsThatDoNotBelongTogether(t *testing.T) {
	for what, spoil := range map[string]func(*Parts){
		"another format":      func(p *Parts) { p.Config = []byte(strings.Replace(string(p.Config), `"format": 3`, `"format": 4`, 1)) },
		"another model":       func(p *Parts) { p.Model = p.Encoders },
		"other encoders":      func(p *Parts) { p.Encoders = p.Model },
		"no description":      func(p *Parts) { p.Config = nil },
		"a huge description":  func(p *Parts) { p.Config = append(p.Config, make([]byte, maximumConfig)...) },
		"a description alone": func(p *Parts) { p.Model, p.Encoders = nil, nil },
	} {
		p := packed(t)
		spoil(&p)
		var d description
		if err := p.Describe(3, &d, &d.Seal); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", what, err)
		}
	}
}
