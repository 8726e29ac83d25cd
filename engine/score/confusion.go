package score

import (
	"fmt"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/diagnose"
	"app.sunloop/engine/simulate"
)

// Confusion counts what faults of a kind were called: truth, then answer.
type Confusion struct {
	CommsReal           map[string]map[string]int `json:"comms_vs_real"`
	CurtailmentDerating map[string]map[string]int `json:"curtailment_vs_derating"`
	Families            map[string]map[string]int `json:"families"`
}

func count(m *map[string]map[string]int, truth, answer string) {
	if *m == nil {
		*m = map[string]map[string]int{}
	}
	if (*m)[truth] == nil {
		(*m)[truth] = map[string]int{}
	}
	(*m)[truth][answer]++
}

func (c *Confusion) add(o Confusion) {
	for _, x := range []struct{ to, from *map[string]map[string]int }{
		{&c.CommsReal, &o.CommsReal}, {&c.CurtailmentDerating, &o.CurtailmentDerating}, {&c.Families, &o.Families},
	} {
		for truth, row := range *x.from {
			for answer, n := range row {
				for range n {
					count(x.to, truth, answer)
				}
			}
		}
	}
}

// confuse counts the results of a case. A data gap must not be reported as an
// outage, nor an outage as a data gap.
func confuse(truth []simulate.Truth, findings []diagnose.Finding, m matching) Confusion {
	var c Confusion
	for t := range truth {
		f := &truth[t]
		if !f.Visible {
			continue
		}
		answer := "missed"
		if k, ok := m.foundBy[t]; ok {
			answer = string(findings[k].Family)
		}
		count(&c.Families, f.Family, answer)
		switch f.Kind {
		case simulate.CommunicationGap:
			if k, ok := m.foundBy[t]; ok {
				answer = string(findings[k].Class)
			}
			count(&c.CommsReal, "comms", answer)
		case simulate.UnitOutage, simulate.SiteOutage:
			if answer != "missed" {
				answer = "real"
			}
			for k := range findings { // also called a gap of the data alone
				if e := &findings[k]; e.Family == detect.CommunicationGap && e.Class == detect.Comms && m.isFree(k) && e.Units[0] == f.Units[0] && f.Overlaps(e.Start, e.Start.Add(time.Hour)) {
					answer = "comms"
				}
			}
			count(&c.CommsReal, "real", answer)
		case simulate.Curtailment, simulate.Derating:
			count(&c.CurtailmentDerating, f.Family, answer)
		}
	}
	return c
}

func (m matching) isFree(finding int) bool { _, used := m.truthOf[finding]; return !used }

// describe is a fault in a line.
func describe(f *simulate.Truth) string {
	return fmt.Sprintf("%s from %s to %s, %d units from %s, severity %g, %.0f kWh, shown %.1f h",
		f.Kind, f.From.UTC().Format("2006-01-02T15:04"), f.To.UTC().Format("2006-01-02T15:04"), len(f.Units), f.Units[0], f.Severity, f.LostKWh, f.ShownHours)
}
