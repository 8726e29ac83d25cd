package artifact

import (
	"encoding/json"
	"fmt"
)

// Parts is a model as three objects: what was learned, what turns data into its
// inputs, and a description in JSON that holds the checksums of the other two.
type Parts struct{ Model, Encoders, Config []byte }

// Hash is the SHA-256 of all three, in hex.
func (p Parts) Hash() string { return Hash(p.Model, p.Encoders, p.Config) }

// Seal is the part of a description that keeps the three objects together. A
// description embeds it.
type Seal struct {
	Format   int    `json:"format"`
	Model    string `json:"model_sha256"`
	Encoders string `json:"encoders_sha256"`
}

// maximumConfig is the longest description that is read.
const maximumConfig = 1 << 20

// Pack writes the parts; describe is given the seal and returns the
// description.
func Pack(format int, model, encoders *Writer, describe func(Seal) any) (Parts, error) {
	p := Parts{Model: model.Bytes(), Encoders: encoders.Bytes()}
	var err error
	if p.Config, err = json.MarshalIndent(describe(Seal{format, Hash(p.Model), Hash(p.Encoders)}), "", " "); err != nil {
		return Parts{}, fmt.Errorf("describe the model: %w", err)
	}
	return p, nil
}

// Describe reads the description into config, which embeds seal, and checks
// that it is of the format and that the parts belong together.
func (p Parts) Describe(format int, config any, seal *Seal) error {
	if len(p.Config) > maximumConfig {
		return malformed("a description of %d bytes", len(p.Config))
	}
	if err := json.Unmarshal(p.Config, config); err != nil {
		return malformed("the description: %v", err)
	}
	switch {
	case seal.Format != format:
		return malformed("format %d is not one this program reads (%d)", seal.Format, format)
	case seal.Model != Hash(p.Model) || seal.Encoders != Hash(p.Encoders):
		return malformed("the objects do not belong together")
	}
	return nil
}

// Open opens what was learned and the encoders.
func (p Parts) Open() (model, encoders *Container, err error) {
	if model, err = Open(p.Model); err != nil {
		return nil, nil, fmt.Errorf("what was learned: %w", err)
	}
	if encoders, err = Open(p.Encoders); err != nil {
		return nil, nil, fmt.Errorf("encoders: %w", err)
	}
	return model, encoders, nil
}
