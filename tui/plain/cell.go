package plain

import (
	"strconv"
	"strings"
)

// Inert is a cell of a table that is exported for a spreadsheet: what it would run as a formula gets a quote in front, and a
// number stays one.
func Inert(cell string) string {
	if strings.TrimLeft(cell, "=+-@\t\r\n＝＋－＠") == cell || number(cell) {
		return cell
	}
	return "'" + cell
}

// number says whether a cell is a decimal number, which a spreadsheet reads as one. Infinities and hexadecimal are none.
func number(cell string) bool {
	if strings.Trim(cell, "0123456789.+-eE") != "" {
		return false
	}
	_, err := strconv.ParseFloat(cell, 64)
	return err == nil
}
