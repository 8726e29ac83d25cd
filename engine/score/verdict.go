package score

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strings"
	"time"

	"app.sunloop/engine/detect"
	"app.sunloop/engine/diagnose"
)

// Verdict is what the readings of the day say of an announcement on an unchanged
// plant.
type Verdict string

// Verdicts.
const (
	VerdictTrue      Verdict = "true"      // the readings show it
	VerdictPlausible Verdict = "plausible" // the readings agree with it, or with the same loss by another cause
	VerdictFalse     Verdict = "false"     // the readings show that it was not so
	VerdictUnknown   Verdict = "unknown"
)

//go:embed verdicts.csv
var verdictsCSV string

// judgement is a line of verdicts.csv.
type judgement struct {
	plant, family string
	from          time.Time // the day in UTC
	verdict       Verdict
	reason        string
}

var judgements = func() (list []judgement) {
	rows, err := csv.NewReader(strings.NewReader(verdictsCSV)).ReadAll()
	if err != nil {
		panic("score: verdicts.csv: " + err.Error()) // embedded: cannot fail after a build that passed its tests
	}
	for _, r := range rows[1:] {
		day, err := time.Parse(time.DateOnly, r[2])
		if err != nil {
			panic("score: verdicts.csv: " + err.Error())
		}
		list = append(list, judgement{r[0], r[1], day, Verdict(r[3]), r[4]})
	}
	return list
}()

// verdictSlack is how far the start of an announcement may be from that of its verdict:
// the beginning of a slow loss is an estimate.
func verdictSlack(family detect.Family) time.Duration {
	if family == detect.Soiling || family == detect.PartialShading {
		return 15 * 24 * time.Hour
	}
	return 36 * time.Hour
}

// verdictOf returns the verdict about an announcement on an unchanged plant, and its
// reason. Rows that are missing need no verdict; what nobody judged is unknown.
func verdictOf(plant string, f *diagnose.Finding) (Verdict, string) {
	if f.Family == detect.CommunicationGap {
		return VerdictTrue, "the readings are missing"
	}
	for _, j := range judgements {
		if j.plant == plant && j.family == string(f.Family) && f.Start.Sub(j.from.Add(12*time.Hour)).Abs() <= verdictSlack(f.Family) {
			return j.verdict, j.reason
		}
	}
	return VerdictUnknown, "not judged"
}

// reliability is the share that was right of the findings whose confidences lie
// between two bounds.
type reliability struct {
	from, to, mean, right float64
	n                     int
}

// Reliability groups findings with a known truth by confidence: the reliability curve.
func (m *Measured) Reliability() (out []reliability) {
	for _, bound := range []float64{0.2, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.01} {
		r := reliability{to: min(bound, 1)}
		if len(out) > 0 {
			r.from = out[len(out)-1].to
		}
		for _, b := range m.sure {
			if b.confidence >= r.from && b.confidence < bound {
				r.n++
				r.mean += b.confidence
				if b.right {
					r.right++
				}
			}
		}
		if r.n > 0 {
			r.mean, r.right = r.mean/float64(r.n), r.right/float64(r.n)
		}
		out = append(out, r)
	}
	return out
}

func (r reliability) String() string {
	return fmt.Sprintf("%.1f to %.1f: %d findings, mean confidence %s, right %s", r.from, r.to, r.n, number(r.mean, 2), number(r.right, 2))
}
