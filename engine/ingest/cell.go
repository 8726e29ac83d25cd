package ingest

import (
	"bytes"
	"math"
	"strconv"
	"strings"

	"app.sunloop/engine/series"
)

// read returns the value of a cell in the base unit, NaN if the cell is not a
// number.
func (c *column) read(cell []byte) float64 {
	if len(cell) == 0 {
		return math.NaN()
	}
	if c.means.role != roleState {
		if v, ok := plainNumber(cell, c.style.decimal); ok {
			return c.unit.base(v)
		}
	}
	return c.readAs(c.unit, cell)
}

func (c *column) readAs(u unit, cell []byte) float64 {
	if len(cell) == 0 {
		return math.NaN()
	}
	switch {
	case c.means.role == roleState:
		return c.means.stateOf(cell)
	case (c.means.quantity == series.ErrorCode || c.means.quantity == series.VendorCode) && bytes.HasPrefix(cell, []byte("0x")):
		if v, err := strconv.ParseUint(string(cell[2:]), 16, 52); err == nil {
			return float64(v)
		}
		return math.NaN()
	}
	cell, negative := withoutTrailingSign(cell)
	v, rest, ok := parseNumber(cell, c.style)
	if !ok {
		c.unread += digits(cell)
		return math.NaN()
	}
	if negative {
		v = -v
	}
	if rest = withoutFlag(rest); len(rest) > 0 {
		written, ok := parseUnit(string(rest))
		if !ok || u.dim != dimNone && written.dim != u.dim {
			return math.NaN()
		}
		u = written
		c.note(u.name)
	}
	return u.base(v)
}

// note records the unit that a cell contains.
func (c *column) note(name string) {
	for _, u := range c.units {
		if u == name {
			return
		}
	}
	c.units = append(c.units, name)
}

// SunSpec operating states (models 101 to 103) by the words that portals use.
var states = map[string]float64{
	"off": 1, "offline": 1, "shutdown": 1, "disconnected": 1, "aus": 1, "stop": 1, "stopped": 1,
	"sleeping": 2, "night": 2, "nacht": 2, "sleep": 2,
	"starting": 3, "startup": 3, "start": 3, "checking": 3,
	"ok": 4, "normal": 4, "running": 4, "run": 4, "on": 4, "mppt": 4, "mpp": 4, "producing": 4, "generating": 4, "grid connected": 4, "on-grid": 4, "grid-connected": 4,
	"throttled": 5, "derating": 5, "grid connected: power limited": 5, "derated": 5,
	"shutting down": 6, "fault": 7, "error": 7, "alarm": 7, "failure": 7, "störung": 7,
	"standby": 8, "waiting": 8, "wait": 8, "idle": 8, "standby: no irradiation": 8,
}

func (m meaning) stateOf(cell []byte) float64 {
	if v, ok := states[strings.ToLower(string(cell))]; ok {
		return v
	}
	if n, err := strconv.Atoi(string(cell)); err == nil && m.sunSpec && n >= 1 && n <= 8 {
		return float64(n)
	}
	return math.NaN()
}

// withoutTrailingSign returns a number without the marks of negative numbers in accounts, "(12.5)" and "12.5-".
func withoutTrailingSign(cell []byte) (number []byte, negative bool) {
	n := len(cell)
	switch {
	case n > 2 && cell[0] == '(' && cell[n-1] == ')' && digit(cell[1]):
		return cell[1 : n-1], true
	case n > 1 && cell[n-1] == '-' && digit(cell[0]) && digit(cell[n-2]):
		return cell[:n-1], true
	}
	return cell, false
}

// digits returns 1 for a cell that has a digit, so that it may be a number in a form that is not known.
func digits(cell []byte) int {
	if bytes.ContainsAny(cell, "0123456789") {
		return 1
	}
	return 0
}
