package ingest

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"
)

// TestBombs: files of the largest upload size that are built to cost more are
// rejected with a reason, or read, within a small multiple of the memory of any
// file.
func TestBombs(t *testing.T) {
	const size = 10 << 20
	fill := func(head, piece string) string { return head + strings.Repeat(piece, (size-len(head))/len(piece)) }
	rows := "time,power\n2025-06-01 00:00,1\n2025-06-01 01:00,2\n"
	for name, text := range map[string]string{
		"one line without an end":     fill("", "x"),
		"one cell in quotes":          fill(`time,power`+"\n"+`2025-06-01 00:00,"`, "1"),
		"quotes without an end":       fill("time,power\n", `"`),
		"quotes that open each cell":  fill("time,power\n", `"1,`),
		"a quote on each line":        fill("time,power\n", "\"\n"),
		"columns without an end":      fill("time", ",power"),
		"columns and their rows":      fill("time"+strings.Repeat(",power", 150_000)+"\n", "2025-06-01 00:00"+strings.Repeat(",1", 150_000)+"\n"),
		"as many columns as may be":   fill("time"+strings.Repeat(",power", maxColumns-1)+"\n", "2025-06-01 00:00"+strings.Repeat(",1", maxColumns-1)+"\n"),
		"cells without an end":        fill("time,power\n2025-06-01 00:00", ",1"),
		"empty lines":                 fill("", "\n"),
		"empty lines after a head":    fill(rows, "\n"),
		"empty lines of Windows":      fill(rows, "\r\n"),
		"empty cells":                 fill(rows, ",\n"),
		"blanks":                      fill("", " "),
		"digits without an end":       fill("time,power\n2025-06-01 00:00,", "9"),
		"a time of each second":       fill("time,power\n", "2025-06-01 00:00:01,1\n"),
		"a head on each line":         fill("", "time,power\n"),
		"bytes of no text":            fill("", "\x00\xff"),
		"text of two bytes, unmarked": fill("", "t\x00i\x00m\x00e\x00,\x00\n\x00"),
	} {
		t.Run(name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			res, err := Read(bytes.NewReader([]byte(text)), Options{Now: now, CapacityKW: 10, MaxBytes: size})
			runtime.ReadMemStats(&after)
			var refused *Refusal
			if err != nil && (!errors.As(err, &refused) || refused.Message == "" || len(refused.Message) > 1000) {
				t.Errorf("refused with %.300v", err)
			}
			if err == nil && len(res.Assets) > 5000 {
				t.Errorf("%d units were read", len(res.Assets))
			}
			if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 20*size>>20 {
				t.Errorf("%d MiB were used for a file of %d", used, size>>20)
			} else {
				t.Logf("%d MiB, %.120v", used, err)
			}
		})
	}
}
