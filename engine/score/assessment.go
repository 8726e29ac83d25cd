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

// Assessment is what the readings of the day say of an announcement on an unchanged
// plant.
type Assessment string

// Assessments.
const (
	AssessmentTrue      Assessment = "true"      // the readings show it
	AssessmentPlausible Assessment = "plausible" // the readings agree with it, or with the same loss by another cause
	AssessmentFalse     Assessment = "false"     // the readings show that it was not so
	AssessmentUnknown   Assessment = "unknown"
)

//go:embed assessments.csv
var assessmentsCSV string

// judgement is a line of assessments.csv.
type judgement struct {
	plant, family string
	from          time.Time // the day in UTC
	assessment    Assessment
	reason        string
}

var judgements = func() (list []judgement) {
	rows, err := csv.NewReader(strings.NewReader(assessmentsCSV)).ReadAll()
	if err != nil {
		panic("score: assessments.csv: " + err.Error()) // embedded: cannot fail after a build that passed its tests
	}
	for _, r := range rows[1:] {
		day, err := time.Parse(time.DateOnly, r[2])
		if err != nil {
			panic("score: assessments.csv: " + err.Error())
		}
		list = append(list, judgement{r[0], r[1], day, Assessment(r[3]), r[4]})
	}
	return list
}()

// assessmentSlack is how far the start of an announcement may be from that of its assessment:
// the beginning of a slow loss is an estimate.
func assessmentSlack(family detect.Family) time.Duration {
	if family == detect.Soiling || family == detect.PartialShading {
		return 15 * 24 * time.Hour
	}
	return 36 * time.Hour
}

// assessmentOf returns the assessment about an announcement on an unchanged plant, and its
// reason. Missing readings need none; an announcement without one is unknown.
func assessmentOf(plant string, f *diagnose.Finding) (Assessment, string) {
	if f.Family == detect.CommunicationGap {
		return AssessmentTrue, "the readings are missing"
	}
	for _, j := range judgements {
		if j.plant == plant && j.family == string(f.Family) && f.Start.Sub(j.from.Add(12*time.Hour)).Abs() <= assessmentSlack(f.Family) {
			return j.assessment, j.reason
		}
	}
	return AssessmentUnknown, "not judged"
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
		for _, b := range m.judged {
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

// CalibrationError is how far confidences are from the share that was right, of
// findings on injected losses and on untouched plants together; of one tier, or of
// all if it is empty.
func (m *Measured) CalibrationError(tier string) (e float64, findings int) {
	var sure []belief
	for _, j := range m.judged {
		if tier == "" || j.tier == tier {
			sure = append(sure, belief{j.confidence, j.right})
		}
	}
	_, e = trust(sure)
	return e, len(sure)
}

func (r reliability) String() string {
	return fmt.Sprintf("%.1f to %.1f: %d findings, mean confidence %s, right %s", r.from, r.to, r.n, number(r.mean, 2), number(r.right, 2))
}
