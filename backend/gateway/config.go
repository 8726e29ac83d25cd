// Package gateway reads the devices of a plant: discovery, polling, and the samples
// that are stored. It only reads; see package modbus below it.
package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/pelletier/go-toml/v2"

	"app.sunloop/backend/gateway/modbus"
	"app.sunloop/engine/reading"
	"app.sunloop/engine/registermap"
)

// Config is the file of sources.
type Config struct {
	Site    Site     `toml:"site"`
	Poll    Duration `toml:"poll"`   // between two readings of a device; 10 s
	Step    Duration `toml:"step"`   // between two stored samples, means of readings; 1 min
	Commit  Duration `toml:"commit"` // between two writes to the data folder; 10 s
	Sources []Source `toml:"source"`
	MQTT    []MQTT   `toml:"mqtt"`

	Folders []Folder `toml:"folder"`
	SFTP    []SFTP   `toml:"sftp"`
	IMAP    []IMAP   `toml:"imap"`
}

// Site is the site of all devices of a file.
type Site struct {
	ID        string   `toml:"id"`
	Customer  string   `toml:"customer,omitempty"`
	Name      string   `toml:"name,omitempty"`
	Timezone  string   `toml:"timezone"`
	Latitude  *float64 `toml:"latitude,omitempty"`
	Longitude *float64 `toml:"longitude,omitempty"`
}

// Source is a connection to one or several devices.
type Source struct {
	Address   string   `toml:"address"`             // see [modbus.Config]
	Timeout   Duration `toml:"timeout,omitempty"`   // of a request; 2 s
	Pause     Duration `toml:"pause,omitempty"`     // between two requests; 50 ms
	Settle    Duration `toml:"settle,omitempty"`    // after connecting
	Registers int      `toml:"registers,omitempty"` // most registers of a request, of devices without their own; 125
	Devices   []Device `toml:"device"`
}

// Device is a device of a source.
type Device struct {
	ID           string       `toml:"id,omitempty" json:"id,omitempty"` // in the messages of a broker; other sources have none
	Asset        string       `toml:"asset" json:"asset"`               // id of its unit in Sunloop
	Name         string       `toml:"name,omitempty" json:"name,omitempty"`
	Kind         reading.Kind `toml:"kind" json:"kind"`
	Map          string       `toml:"map,omitempty" json:"map,omitempty"` // of its registers; empty: SunSpec
	Manufacturer string       `toml:"manufacturer,omitempty" json:"manufacturer,omitempty"`
	Model        string       `toml:"model,omitempty" json:"model,omitempty"`
	Serial       string       `toml:"serial,omitempty" json:"serial,omitempty"`
	CapacityKW   float64      `toml:"capacity_kw,omitempty" json:"capacity_kw,omitempty"` // 0: by the device, or estimated
	Unit         int          `toml:"unit" json:"unit"`
	Base         int          `toml:"base" json:"base"`
	Index        int          `toml:"index,omitempty" json:"index,omitempty"`                           // among the devices of one map, from 0
	Registers    int          `toml:"registers,omitempty" json:"registers,omitempty"`                   // most registers of a request; 0: that of the source
	ImportIsPlus bool         `toml:"import_is_positive,omitempty" json:"import_is_positive,omitempty"` // a meter whose power is positive when energy is drawn
}

// Duration is a time such as "10s" in the file.
type Duration time.Duration

// UnmarshalText reads a duration.
func (d *Duration) UnmarshalText(b []byte) error {
	v, err := time.ParseDuration(string(b))
	*d = Duration(v)
	return err
}

// MarshalText writes a duration.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// maxFile bounds the file of sources.
const maxFile = 4 << 20

// Load reads and checks a file of sources.
func Load(path string) (Config, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return Config{}, fmt.Errorf("read sources: %w", err)
	}
	c, err := Parse(b)
	if err != nil {
		return c, fmt.Errorf("%s: %w", path, err)
	}
	return c, nil
}

// Parse reads and checks the sources of a file.
func Parse(b []byte) (Config, error) {
	var c Config
	if len(b) > maxFile {
		return c, fmt.Errorf("the file has %d bytes; %d are the most", len(b), maxFile)
	}
	var syntax *toml.DecodeError
	if err := toml.Unmarshal(b, new(map[string]any)); errors.As(err, &syntax) {
		row, column := syntax.Position()
		return c, fmt.Errorf("line %d, column %d: %s", row, column, strings.TrimPrefix(syntax.Error(), "toml: "))
	} else if err != nil {
		return c, err
	}
	d := toml.NewDecoder(bytes.NewReader(b)).DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		var strict *toml.StrictMissingError
		var decode *toml.DecodeError
		switch {
		case errors.As(err, &strict) && len(strict.Errors) > 0:
			row, _ := strict.Errors[0].Position()
			return c, fmt.Errorf("line %d: unknown key %s", row, strings.Join(strict.Errors[0].Key(), "."))
		case errors.As(err, &decode):
			row, _ := decode.Position()
			return c, wrongType(b, row)
		}
		return c, err
	}
	c.defaults()
	return c, c.check()
}

// valueRules say what the values of the keys must be that are not texts.
var valueRules = map[string]string{
	"unit": "a whole number", "base": "a whole number", "index": "a whole number", "registers": "a whole number",
	"factor": "a number", "plaintext": "true or false", "states": "a list of texts such as [\"0-6:3\", \"7:4\"]",
	"mqtt": "tables that begin with [[mqtt]]", "value": "a text in quotes, or tables that begin with [[mqtt.value]]",
	"capacity_kw": "a number", "latitude": "a number", "longitude": "a number", "import_is_positive": "true or false",
	"folder": "tables that begin with [[folder]]", "sftp": "tables that begin with [[sftp]]", "imap": "tables that begin with [[imap]]",
	"pattern": listRule + ` such as ["*.csv"]`, "host_keys": listRule + ` such as ["SHA256:…"]`, "senders": listRule + ` such as ["reports@portal.example"]`,
	"history": "true or false", "subfolders": "true or false", "once_per_message_id": "true or false",
	"poll": durationRule, "step": durationRule, "commit": durationRule, "timeout": durationRule, "pause": durationRule, "settle": durationRule,
	"site": "a table that begins with [site]", "source": "tables that begin with [[source]]", "device": "tables that begin with [[source.device]] or [[mqtt.device]]",
}

const (
	durationRule = `a duration such as "10s"`
	listRule     = "a list of texts"
)

// wrongType is the error for a value of another type in a line, counted from 1.
func wrongType(b []byte, line int) error {
	lines := bytes.Split(b, []byte("\n"))
	if line < 1 || line > len(lines) {
		return errors.New("a value has the wrong type")
	}
	text, _, _ := strings.Cut(string(lines[line-1]), "=")
	key := strings.Trim(text, " \t\r[]\"'")
	if i := strings.LastIndexByte(key, '.'); i >= 0 {
		key = strings.Trim(key[i+1:], " \t\"'")
	}
	rule, ok := valueRules[key]
	if !ok {
		rule = "a text in quotes"
	}
	return fmt.Errorf("line %d: %s must be %s", line, key, rule)
}

func (c *Config) defaults() {
	for _, d := range []struct {
		to    *Duration
		value time.Duration
	}{{&c.Poll, 10 * time.Second}, {&c.Step, time.Minute}, {&c.Commit, 10 * time.Second}} {
		if *d.to == 0 {
			*d.to = Duration(d.value)
		}
	}
	if c.Site.Customer == "" {
		c.Site.Customer = "default"
	}
	if c.Site.Timezone == "" {
		c.Site.Timezone = "UTC"
	}
}

func (c *Config) check() error {
	if c.Site.ID == "" {
		return errors.New("site.id: required")
	}
	if _, err := time.LoadLocation(c.Site.Timezone); err != nil {
		return fmt.Errorf("site.timezone: %w", err)
	}
	if (c.Site.Latitude == nil) != (c.Site.Longitude == nil) {
		return errors.New("site.latitude and site.longitude: one needs the other")
	}
	if c.Site.Latitude != nil {
		if v := *c.Site.Latitude; !(v >= -90 && v <= 90) {
			return fmt.Errorf("site.latitude: invalid value %g: from -90 to 90", v)
		}
		if v := *c.Site.Longitude; !(v >= -180 && v <= 180) {
			return fmt.Errorf("site.longitude: invalid value %g: from -180 to 180", v)
		}
	}
	poll, step, commit := time.Duration(c.Poll), time.Duration(c.Step), time.Duration(c.Commit)
	switch {
	case poll < time.Second || poll > time.Hour || poll%time.Second != 0:
		return fmt.Errorf("poll: invalid value %s: whole seconds from 1s to 1h", poll)
	case step < poll || step > time.Hour || step%poll != 0 || time.Hour%step != 0:
		return fmt.Errorf("step: invalid value %s: a multiple of poll that divides an hour", step)
	case commit < time.Second || commit > 10*time.Minute:
		return fmt.Errorf("commit: invalid value %s: from 1s to 10m", commit)
	}
	assets := map[string]bool{}
	for _, s := range c.Sources {
		if err := modbus.Check(s.Address); err != nil {
			return err
		}
		if s.Registers < 0 || s.Registers > 125 {
			return fmt.Errorf("registers of %s: invalid value %d: from 1 to 125", s.Address, s.Registers)
		}
		for _, d := range []struct {
			key   string
			value Duration
		}{{"timeout", s.Timeout}, {"pause", s.Pause}, {"settle", s.Settle}} {
			if d.value != 0 && time.Duration(d.value) < time.Millisecond { // a number without a unit is in nanoseconds
				return fmt.Errorf("%s of %s: must be %s", d.key, s.Address, durationRule)
			}
		}
		for _, d := range s.Devices {
			switch {
			case d.ID != "":
				return fmt.Errorf("id of %s: only devices of a broker have one", d.Asset)
			case d.Unit < 0 || d.Unit > 255:
				return fmt.Errorf("unit of %s: invalid value %d: from 0 to 255", d.Asset, d.Unit)
			case d.Base < 0 || d.Base > 65533:
				return fmt.Errorf("base of %s: invalid value %d: from 0 to 65533", d.Asset, d.Base)
			case d.Registers < 0 || d.Registers > 125:
				return fmt.Errorf("registers of %s: invalid value %d: from 1 to 125", d.Asset, d.Registers)
			case d.Index < 0:
				return fmt.Errorf("index of %s: 0 or more", d.Asset)
			}
			if d.Map != "" {
				if _, err := registermap.Load(d.Map); err != nil {
					return fmt.Errorf("map of %s: %w", d.Asset, err)
				}
				if d.Base != 0 || d.Index != 0 || d.Registers != 0 {
					return fmt.Errorf("device %s: base, index and registers are of devices with SunSpec", d.Asset)
				}
			}
			if err := d.check(fmt.Sprintf("unit %d of %s", d.Unit, s.Address), assets); err != nil {
				return err
			}
		}
	}
	if err := c.checkMQTT(assets); err != nil {
		return err
	}
	return c.checkDrops()
}

// check checks what all devices have, and adds its asset to those of the file.
func (d *Device) check(place string, assets map[string]bool) error {
	switch {
	case d.Asset == "":
		return fmt.Errorf("asset of %s: required", place)
	case len(d.Asset) > 64:
		return fmt.Errorf("asset %q: at most 64 characters", d.Asset)
	case assets[d.Asset]:
		return fmt.Errorf("asset %q: two devices have it", d.Asset)
	case d.CapacityKW < 0:
		return fmt.Errorf("capacity_kw of %s: 0 or more", d.Asset)
	}
	switch d.Kind {
	case reading.Inverter, reading.Meter, reading.Weather, reading.Battery, reading.Other:
	default:
		return fmt.Errorf("kind of %s: invalid value %q: inverter, meter, weather, battery or other", d.Asset, d.Kind)
	}
	assets[d.Asset] = true
	return nil
}

// heading begins a new file of sources.
const heading = `# Devices that Sunloop reads. sunloop gateway discover --add appends to this file.
`

// Add appends sources to a file, which keeps its text, and makes the file with the
// site if there is none. Devices that the file has are left out; a file of another
// site is an error. It returns how many devices were added.
func Add(path string, site Site, poll time.Duration, found []Source) (int, error) {
	var c Config
	old, err := os.ReadFile(path)
	isNew := errors.Is(err, fs.ErrNotExist)
	switch {
	case isNew:
		c = Config{Site: site, Poll: Duration(poll)}
		c.defaults()
		if poll > time.Minute {
			c.Step = c.Poll
		}
		b, err := toml.Marshal(struct {
			Poll   Duration `toml:"poll"`
			Step   Duration `toml:"step"`
			Commit Duration `toml:"commit"`
			Site   Site     `toml:"site"`
		}{c.Poll, c.Step, c.Commit, c.Site})
		if err != nil {
			return 0, err
		}
		old = append([]byte(heading), b...)
	case err != nil:
		return 0, fmt.Errorf("read sources: %w", err)
	default:
		if c, err = Parse(old); err != nil {
			return 0, fmt.Errorf("%s: %w", path, err)
		}
		if site.ID != "" && site.ID != c.Site.ID {
			return 0, fmt.Errorf("%s has the devices of site %q, not of %q", path, c.Site.ID, site.ID)
		}
	}
	var added []Source
	n := 0
	for _, s := range found {
		fresh := s
		fresh.Devices = nil
		for _, d := range s.Devices {
			if !c.has(s.Address, d) {
				fresh.Devices = append(fresh.Devices, d)
				n++
			}
		}
		if len(fresh.Devices) > 0 {
			added = append(added, fresh)
		}
	}
	if n > 0 {
		b, err := toml.Marshal(struct {
			Sources []Source `toml:"source"`
		}{added})
		if err != nil {
			return 0, err
		}
		old = append(append(old, '\n'), b...)
	}
	if _, err := Parse(old); err != nil {
		return 0, fmt.Errorf("%s with the new devices: %w", path, err)
	}
	if n == 0 && !isNew {
		return 0, nil
	}
	return n, replaceFile(path, old)
}

// has reports whether the file has a device: the same serial number, or the same
// place.
func (c *Config) has(address string, d Device) bool {
	for _, s := range c.Sources {
		for _, is := range s.Devices {
			if is.Asset == d.Asset || s.Address == address && is.Unit == d.Unit && is.Base == d.Base && is.Index == d.Index {
				return true
			}
		}
	}
	return false
}

// replaceFile writes a file in one step, with mode 0600.
func replaceFile(path string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".sources-*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return fmt.Errorf("write sources: %w", err)
	}
	return nil
}
