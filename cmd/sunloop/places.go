package main

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"app.sunloop/backend/regularfile"
	"app.sunloop/tui"
)

// The bounds of the file of places.
const (
	maxPlaces     = 20
	maxPlaceBytes = 1 << 20
)

// places keeps where people were in the console, by service and person, in a
// file that only the person can read. A file that cannot be read is none.
type places struct{ path, service string }

// placesOf are those of a service.
func placesOf(service string) places {
	return places{filepath.Join(configDir(), "places.json"), service}
}

// keptPlace is one of them, the last used first.
type keptPlace struct {
	Who   string    `json:"who"`
	Place tui.Place `json:"place"`
}

func (p places) who(user string) string { return p.service + " " + user }

func (p places) read() []keptPlace {
	f, err := regularfile.Open(p.path)
	if err != nil {
		return nil
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxPlaceBytes+1))
	if err != nil || len(b) > maxPlaceBytes {
		return nil
	}
	var all []keptPlace
	if json.Unmarshal(b, &all) != nil {
		return nil
	}
	return all
}

// Place is where a person was; the zero Place when that is not known.
func (p places) Place(user string) tui.Place {
	all := p.read()
	if i := slices.IndexFunc(all, func(k keptPlace) bool { return k.Who == p.who(user) }); i >= 0 {
		return all[i].Place
	}
	return tui.Place{}
}

// Keep writes a place down, or forgets it when there is nothing in it.
func (p places) Keep(user string, place tui.Place) error {
	all := slices.DeleteFunc(p.read(), func(k keptPlace) bool { return k.Who == p.who(user) })
	if place.Site != "" {
		all = slices.Insert(all, 0, keptPlace{p.who(user), place})
	}
	all = all[:min(len(all), maxPlaces)]
	b, err := json.Marshal(all)
	for err == nil && len(b) > maxPlaceBytes && len(all) > 1 {
		all = all[:len(all)-1]
		b, err = json.Marshal(all)
	}
	if err != nil {
		return err
	}
	if err := writePrivate(p.path, b); err != nil {
		return fmt.Errorf("keep the place: %w", err)
	}
	return nil
}
