package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"app.sunloop/engine/ingest"
	"app.sunloop/internal/display"
)

// MappingFlags are how a person states what the columns of a file hold.
type MappingFlags struct {
	Map     string `name:"map" placeholder:"MAPPING" help:"Meaning of columns, as time=Date,power[INV1]=P1,unit=kW,zone=Europe/Berlin; the rest is inferred."`
	MapFile string `name:"map-file" placeholder:"FILE" type:"path" help:"File with a mapping, one entry on each line."`
}

// maxMappingFile is the size in bytes of a mapping.
const maxMappingFile = 64 << 10

// mapping reads the mapping of the flags; entries of --map follow those of the file.
func (f MappingFlags) mapping() (ingest.Mapping, error) {
	text := ""
	if f.MapFile != "" {
		file, err := os.Open(f.MapFile)
		if err != nil {
			return ingest.Mapping{}, fmt.Errorf("--map-file: %w", err)
		}
		defer file.Close()
		b, err := io.ReadAll(io.LimitReader(file, maxMappingFile+1))
		if err != nil {
			return ingest.Mapping{}, fmt.Errorf("--map-file: read %s: %w", f.MapFile, err)
		}
		if len(b) > maxMappingFile {
			return ingest.Mapping{}, fmt.Errorf("--map-file: %s is larger than %s", f.MapFile, display.Bytes(maxMappingFile))
		}
		text = string(b) + "\n"
	}
	m, err := ingest.ParseMapping(text + f.Map)
	if err != nil {
		return m, wrong("--map: %w", err)
	}
	return m, nil
}

// joinNegative joins a flag and a following value that starts with a minus sign and a digit, as in --location -18.12,178.45, which the parser would
// take for another flag.
func joinNegative(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		if a == "--" {
			return append(out, args[i:]...)
		}
		if strings.HasPrefix(a, "--") && !strings.Contains(a, "=") && i+1 < len(args) && isNegative(args[i+1]) {
			a += "=" + args[i+1]
			i++
		}
		out = append(out, a)
	}
	return out
}

// isNegative reports whether an argument is a value such as -18.12,178.45 and no flag.
func isNegative(arg string) bool {
	rest, ok := strings.CutPrefix(arg, "-")
	return ok && rest != "" && (rest[0] >= '0' && rest[0] <= '9' || rest[0] == '.' && len(rest) > 1)
}
