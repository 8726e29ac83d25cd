// Command gazetteer makes the embedded towns of engine/place from a table of
// GeoNames (its README describes the columns): towns of at least 15 000
// inhabitants, one a line, by country and name, compressed.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/text/language"
	"golang.org/x/text/language/display"

	"app.sunloop/engine/place"
)

func main() {
	from := flag.String("from", "cities500.txt", "table of GeoNames")
	to := flag.String("to", "towns.zst", "file to write")
	least := flag.Int("population", 15_000, "inhabitants at least")
	flag.Parse()
	if err := run(*from, *to, *least); err != nil {
		fmt.Fprintln(os.Stderr, "gazetteer:", err)
		os.Exit(1)
	}
}

// Columns of the table.
const (
	columnName       = 1
	columnOtherNames = 3
	columnLatitude   = 4
	columnLongitude  = 5
	columnFeature    = 7
	columnCountry    = 8
	columnRegion     = 10
	columnPopulation = 14
	columnZone       = 17
	columns          = 19
)

// sections are the feature codes of parts of towns and of former places, which
// the table also contains: a part's name must not hide another town.
var sections = []string{"PPLX", "PPLH", "PPLQ", "PPLW"}

// otherNamesFrom is the population from which names in other scripts are kept.
const otherNamesFrom = 300_000

type town struct {
	line, country, name string
}

func run(from, to string, least int) (err error) {
	f, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	var towns []town
	countries := map[string]bool{}
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<20)
	for n := 1; scan.Scan(); n++ {
		c := strings.Split(scan.Text(), "\t")
		if len(c) != columns {
			return fmt.Errorf("%s line %d has %d columns, not %d", from, n, len(c), columns)
		}
		population, err := strconv.Atoi(c[columnPopulation])
		if err != nil {
			return fmt.Errorf("%s line %d: %w", from, n, err)
		}
		if population < least || slices.Contains(sections, c[columnFeature]) {
			continue
		}
		lat, errLat := degrees(c[columnLatitude])
		lon, errLon := degrees(c[columnLongitude])
		if err := errors.Join(errLat, errLon); err != nil {
			return fmt.Errorf("%s line %d: %w", from, n, err)
		}
		region := ""
		if c[columnCountry] == "US" {
			region = c[columnRegion]
		}
		countries[c[columnCountry]] = true
		line := strings.Join([]string{c[columnName], others(c[columnName], c[columnOtherNames], population), c[columnCountry], region, lat, lon, strconv.Itoa(population), c[columnZone]}, "\t")
		towns = append(towns, town{line, c[columnCountry], c[columnName]})
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("read %s: %w", from, err)
	}
	slices.SortFunc(towns, func(a, b town) int {
		return cmp.Or(strings.Compare(a.country, b.country), strings.Compare(a.name, b.name), strings.Compare(a.line, b.line))
	})
	var out bytes.Buffer
	names := display.English.Regions()
	for _, code := range slices.Sorted(maps.Keys(countries)) {
		name := code
		if r, err := language.ParseRegion(code); err == nil {
			name = names.Name(r)
		}
		fmt.Fprintf(&out, "%s\t%s\n", code, name)
	}
	out.WriteByte('\n')
	for _, t := range towns {
		out.WriteString(t.line)
		out.WriteByte('\n')
	}
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(8<<20))
	if err != nil {
		return err
	}
	packed := w.EncodeAll(out.Bytes(), nil)
	fmt.Printf("%d towns of %d countries, %d bytes, packed %d\n", len(towns), len(countries), out.Len(), len(packed))
	return os.WriteFile(to, packed, 0o644)
}

// degrees is rounded to 0.001, about 100 m.
func degrees(text string) (string, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err == nil && !(v >= -180 && v <= 180) {
		err = fmt.Errorf("%g degrees", v)
	}
	return strconv.FormatFloat(math.Round(v*1000)/1000, 'f', -1, 64), err
}

// others returns the names, apart from the first, by which a town may be looked
// up: those in Latin script, for large towns all, each spelling once.
func others(name, list string, population int) string {
	seen := map[string]bool{place.Fold(name): true}
	var out []string
	for other := range strings.SplitSeq(list, ",") {
		key := place.Fold(other)
		code := len(key) == 3 && strings.ToUpper(other) == other // of an airport
		if key == "" || seen[key] || code || population < otherNamesFrom && !latin(key) {
			continue
		}
		seen[key] = true
		out = append(out, key)
	}
	return strings.Join(out, ",")
}

func latin(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) })
}
