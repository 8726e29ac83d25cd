package chart

import (
	"math"
	"slices"
	"strings"

	"github.com/guptarohit/asciigraph"
)

// median of the values that are there, the lower one of an even number; NaN if there are none.
func median(values []float64) float64 {
	there := make([]float64, 0, len(values))
	for _, v := range values {
		if !math.IsNaN(finite(v)) {
			there = append(there, v)
		}
	}
	if len(there) == 0 {
		return math.NaN()
	}
	slices.Sort(there)
	return there[(len(there)-1)/2]
}

// asciiChars draw a line without box characters, asciiAxis does the same to what the library draws for axes.
var (
	asciiChars = asciigraph.CharSet{
		Horizontal: "-", VerticalLine: "|", ArcDownRight: ".", ArcDownLeft: ".", ArcUpRight: "'", ArcUpLeft: "'",
		EndCap: "-", StartCap: "-", UpRight: "+", DownHorizontal: "+",
	}
	asciiAxis = strings.NewReplacer("┤", "|", "┼", "+", "└", "+", "┬", "+", "─", "-", "│", "|", "╴", "-", "╶", "-")
)
