package ingest_test

import (
	"errors"
	"fmt"
	"strings"

	"app.sunloop/engine/ingest"
)

// A file with decimal commas, and the power in watts.
func ExampleRead() {
	const export = "Zeit;WR 1 Leistung (W);WR 2 Leistung (W)\n" +
		"01.06.2026 12:00;4512,5;4498,0\n" +
		"01.06.2026 12:15;4630,0;4601,5\n" +
		"01.06.2026 12:30;4701,0;4688,0\n"
	result, err := ingest.Read(strings.NewReader(export), ingest.Options{CapacityKW: 12})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, a := range result.Assets {
		fmt.Println(a.Name, a.Frame.Len(), "samples every", result.Interval)
	}
	fmt.Println(result.UnitSource, result.ValueKind)
	// Output:
	// WR 1 3 samples every 15m0s
	// WR 2 3 samples every 15m0s
	// W power
}

// A file that cannot be imported is refused with the reason.
func ExampleRefusal() {
	_, err := ingest.Read(strings.NewReader("time,colour\n2026-06-01 12:00,blue\n"), ingest.Options{})
	var refused *ingest.Refusal
	fmt.Println(errors.As(err, &refused), refused.Kind)
	// Output: true no_power_or_energy_column
}
