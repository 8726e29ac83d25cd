package ingest

import (
	"regexp"
	"strings"
)

// splitDevices gives the columns of a wide file their assets.
func (p *plan) splitDevices() {
	if p.id >= 0 || p.measure >= 0 || len(p.hours) > 0 {
		for _, col := range p.columns {
			col.device = ""
		}
		return
	}
	stacked := map[string]bool{}
	for _, col := range p.columns {
		if col.device != "" {
			stacked[col.device] = true
		}
	}
	if len(stacked) > 0 {
		return // serial numbers or devices stand above the columns
	}
	for _, r := range []role{rolePower, roleEnergy, roleCounter, roleDaily} {
		if names := p.devicesOf(r); len(names) > 1 {
			for _, col := range p.columns {
				if rest := residue(col.name); names[rest] {
					col.device = deviceName(col, rest)
				}
			}
			return
		}
	}
	for _, col := range p.columns {
		if rest := residue(col.name); col.means.role >= rolePower && col.means.role <= roleDaily && inverterName.MatchString(rest) {
			col.device = rest
		}
	}
}

// inverterName is a device's name that cannot mean anything else.
var inverterName = regexp.MustCompile(`(?i)^(inv|inverter|wr|wechselrichter|device)[ _-]?\d+$`)

// devicesOf are the names of devices among the columns of one role: names that
// differ in a number only, or columns called by nothing but the device.
func (p *plan) devicesOf(r role) map[string]bool {
	patterns, names := map[string][]string{}, map[string]bool{}
	for _, col := range p.columns {
		if col.means.role != r || col.means.total {
			continue
		}
		rest := residue(col.name)
		if rest == "" {
			continue
		}
		pattern := digits.ReplaceAllString(rest, "#")
		if conceptsOf(col.name)&(cPower|cEnergy|cProduction) == 0 && col.unit.dim != dimNone {
			pattern = "" // "North roof (kW)"
		}
		patterns[pattern] = append(patterns[pattern], rest)
	}
	for _, like := range patterns {
		if len(like) > 1 {
			for _, rest := range like {
				names[rest] = true
			}
		}
	}
	return names
}

var digits = regexp.MustCompile(`\d+`)

// deviceName is the name of the asset of a wide column: a bare number says too
// little.
func deviceName(col *column, rest string) string {
	if strings.Trim(rest, "0123456789") == "" {
		return col.name
	}
	return rest
}

// residue is what is left of a column's name without the words that say what
// it measures: "INV-01", "Inverter 2", "P7".
func residue(name string) string {
	words := rawTokens(name)
	from, to := -1, 0
	for _, w := range words {
		c := conceptsOf(w.text)
		measured := c&^(cDevice|cCabinet|cSite|cSerial|cCount|cModule) != 0
		if measured && !codeName.MatchString(w.text) {
			continue
		}
		if from < 0 {
			from = w.at
		}
		to = w.at + len(w.text)
	}
	if from < 0 {
		return ""
	}
	return name[from:to]
}

var codeName = regexp.MustCompile(`^[A-Za-z]{1,4}\d+$`)
