package ingest_test

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"app.sunloop/engine/ingest"
)

// conserved describes how the counts of a result do not add up, "" if they do.
func conserved(res *ingest.Result) string {
	sum := res.Rows.Used
	for why, n := range res.Rows.Skipped {
		if n <= 0 {
			return "no row is skipped for the reason " + why
		}
		sum += n
	}
	stored, missing := 0, 0
	for _, a := range res.Assets {
		if a.Times.Underived < 0 {
			return "more times are stored or missing than unit " + a.Name + " has"
		}
		stored += a.Times.Stored
		missing += a.Times.Missing
	}
	switch {
	case sum != res.Rows.Read:
		return "rows are neither used nor skipped, or counted twice"
	case stored != res.Rows.Stored || missing != res.Rows.Missing:
		return "the times of the units do not add up to those of the file"
	}
	return ""
}

// TestConservation asserts that every row of generated exports is used or counted under a named reason, in total and per unit.
func TestConservation(t *testing.T) {
	const draws = 150
	for seed := range uint64(draws) {
		e := generate(seed)
		res, err := ingest.Read(bytes.NewReader(e.text), e.options)
		if err != nil {
			continue
		}
		if why := conserved(res); why != "" {
			t.Errorf("seed %d: %s: %+v [%s]", seed, why, res.Rows, strings.Join(e.features, " "))
		}
	}
}

// TestSkippedRows asserts the named reasons of rows that are not used.
func TestSkippedRows(t *testing.T) {
	for what, c := range map[string]struct {
		text string
		used int
		want map[string]int
	}{
		"last line is cut":         {"time,power (kW),temp (C)\n2024-06-01 10:00,1,2\n2024-06-01 10:15,2,3\n2024-06-01 10:30,1", 2, map[string]int{ingest.SkipCutLine: 1}},
		"last line without an end": {"time,power (kW),temp (C)\n2024-06-01 10:00,1,2\n2024-06-01 10:15,2,3\n2024-06-01 10:30,1,3", 3, nil},
		"quantity that is not used": {"time,inverter,parameter,value,unit\n2024-06-01 10:00,A,AC power,1,kW\n2024-06-01 10:00,A,Frequency,50,Hz\n2024-06-01 10:15,A,AC power,2,kW\n2024-06-01 10:15,A,Frequency,50,Hz\n",
			2, map[string]int{ingest.SkipOtherQuantity: 2}},
		"unit without values": {"time,inverter,power (kW)\n2024-06-01 10:00,A,1\n2024-06-01 10:00,B,\n2024-06-01 10:15,A,2\n2024-06-01 10:15,B,\n", 2, map[string]int{ingest.SkipLeftOut: 2}},
	} {
		res, err := ingest.Read(strings.NewReader(c.text), ingest.Options{})
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		if why := conserved(res); why != "" {
			t.Errorf("%s: %s: %+v", what, why, res.Rows)
		}
		if res.Rows.Used != c.used || len(res.Rows.Skipped) != len(c.want) {
			t.Errorf("%s: %+v, want %d used", what, res.Rows, c.used)
		}
		for why, n := range c.want {
			if res.Rows.Skipped[why] != n {
				t.Errorf("%s: %+v, want %d rows as %q", what, res.Rows, n, why)
			}
		}
	}
}

// TestContradiction asserts that a file whose rows contradict each other is refused with two example lines, and that one without a usable value is.
func TestContradiction(t *testing.T) {
	var twice strings.Builder
	twice.WriteString("time,power (kW)\n")
	for pass := range 2 {
		for i := range 40 {
			twice.WriteString("2024-06-01 ")
			twice.WriteString([]string{"10", "11", "12", "13"}[i/10])
			twice.WriteString(":")
			twice.WriteString([]string{"00", "05", "10", "15", "20", "25", "30", "35", "40", "45"}[i%10])
			twice.WriteString(",")
			twice.WriteString([]string{"1", "2"}[pass])
			twice.WriteString("\n")
		}
	}
	for what, c := range map[string]struct {
		text string
		kind ingest.Kind
		says string
	}{
		"contradiction": {twice.String(), ingest.ConflictingRows, "such as lines 2 and 42"},
		"no value":      {"time,power (kW)\n2024-06-01 10:00,\n2024-06-01 10:15,n/a\n", ingest.NoDataRows, "no row"},
		"beyond":        {"time,power (kW)\n2024-06-01 10:00,65535\n2024-06-01 10:15,65535\n", ingest.NoDataRows, "no"},
	} {
		_, err := ingest.Read(strings.NewReader(c.text), ingest.Options{CapacityKW: 5})
		var refusal *ingest.Refusal
		if !errors.As(err, &refusal) || refusal.Kind != c.kind || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s and %q", what, err, c.kind, c.says)
		}
	}
}
