package plain

import (
	"encoding/csv"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestInertCells(t *testing.T) {
	for cell, want := range map[string]string{
		"": "", "a": "a", "3": "3", "-3.5": "-3.5", "+1e-9": "+1e-9", "a=1": "a=1", "'=1": "'=1", " =1": " =1",
		"=1+1": "'=1+1", "@x": "'@x", "-x": "'-x", "+49 30": "'+49 30", "\tx": "'\tx", "\r=1": "'\r=1", "\n=1": "'\n=1", "＝1+1": "'＝1+1", "＠x": "'＠x",
		"-1+1": "'-1+1", "-Inf": "'-Inf", "+0x1p-2": "'+0x1p-2", "-1|cmd": "'-1|cmd", "-": "'-", "--1": "'--1", "-1e": "'-1e",
	} {
		if got := Inert(cell); got != want {
			t.Errorf("Inert(%q) = %q, want %q", cell, got, want)
		}
	}
}

// TestNoCellIsAFormula: no text that is written as CSV and read back begins
// like a formula, its original is recoverable, and numbers stay as they are.
func TestNoCellIsAFormula(t *testing.T) {
	starts := rapid.SampledFrom([]string{"", "=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠", "'", " "})
	rapid.Check(t, func(rt *rapid.T) {
		cell := starts.Draw(rt, "start") + rapid.String().Draw(rt, "rest")
		var b strings.Builder
		w := csv.NewWriter(&b)
		if err := w.Write([]string{Inert(cell)}); err != nil {
			rt.Skip(err)
		}
		w.Flush()
		read := strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`)
		if _, err := strconv.ParseFloat(cell, 64); strings.ContainsRune("=+-@\t\r\n＝＋－＠", []rune(read + " ")[0]) && read != "" && err != nil {
			rt.Errorf("%q is written as %q", cell, b.String())
		}
		if got := Inert(cell); got != cell && got != "'"+cell {
			rt.Errorf("%q became %q", cell, got)
		}
		n := strconv.FormatFloat(rapid.Float64().Draw(rt, "number"), rapid.SampledFrom([]byte("efg")).Draw(rt, "format"), -1, 64)
		if got := Inert(n); got != n && !strings.Contains(n, "Inf") {
			rt.Errorf("the number %s became %q", n, got)
		}
	})
}
