package place

import (
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/zstd"

	"app.sunloop/internal/display"
)

// Place is a town, or a pair of coordinates with the zone of the town nearest.
type Place struct {
	Name         string // empty: only coordinates were given
	Country      string // ISO 3166-1, two letters
	Region       string // of a town in the United States: the state's two letters
	LatitudeDeg  float64
	LongitudeDeg float64
	Population   int
	Zone         string // of the IANA data base
}

// String is the town as people write it.
func (p Place) String() string {
	switch {
	case p.Name == "":
		return fmt.Sprintf("%.2f, %.2f", p.LatitudeDeg, p.LongitudeDeg)
	case p.Region != "":
		return p.Name + ", " + p.Region + ", " + p.Country
	}
	return p.Name + ", " + p.Country
}

//go:embed towns.zst
var packed []byte

// gazetteer is the towns and the ways to find them.
type gazetteer struct {
	towns     []Place
	named     map[string]int32  // fold of a name → the last of names with it
	names     []name            // one for each town and spelling
	countries map[string]string // fold of a country's name → code
	at        [][3]float32      // towns on the unit sphere
}

// name is a town that has a name, and the next one that has it too.
type name struct{ town, next int32 }

// none ends a chain of names.
const none = -1

// towns are unpacked when first asked for.
var towns = sync.OnceValue(func() *gazetteer {
	g, err := unpack(packed)
	if err != nil {
		panic(fmt.Sprintf("place: the embedded gazetteer: %v", err)) // such a program is wrong
	}
	return g
})

func unpack(b []byte) (*gazetteer, error) {
	r, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if b, err = r.DecodeAll(b, nil); err != nil {
		return nil, err
	}
	head, body, _ := strings.Cut(string(b), "\n\n")
	count := strings.Count(body, "\n")
	g := &gazetteer{
		towns: make([]Place, 0, count), at: make([][3]float32, 0, count), countries: map[string]string{},
		named: make(map[string]int32, strings.Count(body, ",")+2*count),
	}
	for line := range strings.SplitSeq(head, "\n") {
		code, name, _ := strings.Cut(line, "\t")
		g.countries[Fold(name)], g.countries[Fold(code)] = code, code
	}
	for line := range strings.Lines(body) {
		if err := g.add(strings.TrimSuffix(line, "\n")); err != nil {
			return nil, err
		}
	}
	return g, nil
}

func (g *gazetteer) add(line string) error {
	c := strings.Split(line, "\t")
	if len(c) != 8 {
		return fmt.Errorf("%q has %s", line, display.CountOf(len(c), "column", "columns"))
	}
	lat, errLat := strconv.ParseFloat(c[4], 64)
	lon, errLon := strconv.ParseFloat(c[5], 64)
	population, errPopulation := strconv.Atoi(c[6])
	if errLat != nil || errLon != nil || errPopulation != nil {
		return fmt.Errorf("%q is no town", line)
	}
	k := int32(len(g.towns))
	g.towns = append(g.towns, Place{c[0], c[2], c[3], lat, lon, population, c[7]})
	g.at = append(g.at, onSphere(lat, lon))
	g.name(Fold(c[0]), k)
	if c[1] == "" {
		return nil
	}
	for other := range strings.SplitSeq(c[1], ",") {
		g.name(other, k)
	}
	return nil
}

func (g *gazetteer) name(key string, town int32) {
	next, known := g.named[key]
	if !known {
		next = none
	}
	g.named[key] = int32(len(g.names))
	g.names = append(g.names, name{town, next})
}

// called is the towns of a name.
func (g *gazetteer) called(text string) []int32 {
	var hits []int32
	at, known := g.named[Fold(text)]
	for known && at != none {
		hits = append(hits, g.names[at].town)
		at = g.names[at].next
	}
	return hits
}

func onSphere(latDeg, lonDeg float64) [3]float32 {
	const rad = math.Pi / 180
	sin, cos := math.Sincos(latDeg * rad)
	y, x := math.Sincos(lonDeg * rad)
	return [3]float32{float32(cos * x), float32(cos * y), float32(sin)}
}

// earthKM is the earth's mean radius.
const earthKM = 6371.0088

// DistanceKM is how far two points, degrees, lie apart along the ground, by the
// haversine formula.
func DistanceKM(aLatDeg, aLonDeg, bLatDeg, bLonDeg float64) float64 {
	const rad = math.Pi / 180
	a, b := math.Sin((bLatDeg-aLatDeg)*rad/2), math.Sin((bLonDeg-aLonDeg)*rad/2)
	return 2 * earthKM * math.Asin(math.Sqrt(min(a*a+math.Cos(aLatDeg*rad)*math.Cos(bLatDeg*rad)*b*b, 1)))
}

// Nearest is the town nearest to a point, and how far it is along the ground.
func Nearest(latDeg, lonDeg float64) (town Place, km float64) {
	g, at := towns(), onSphere(latDeg, lonDeg)
	best, least := 0, float32(math.Inf(1))
	for i, v := range g.at {
		x, y, z := v[0]-at[0], v[1]-at[1], v[2]-at[2]
		if d := x*x + y*y + z*z; d < least {
			best, least = i, d
		}
	}
	chord := math.Sqrt(float64(least))
	return g.towns[best], 2 * earthKM * math.Asin(min(chord/2, 1))
}

// otherCountries are names of countries in addition to those in the gazetteer,
// folded.
var otherCountries = map[string]string{
	"usa": "US", "u s a": "US", "united states of america": "US", "america": "US", "uk": "GB", "great britain": "GB", "england": "GB",
	"scotland": "GB", "wales": "GB", "northern ireland": "GB", "uae": "AE", "emirates": "AE", "czech republic": "CZ", "holland": "NL",
	"the netherlands": "NL", "korea": "KR", "republic of korea": "KR", "rsa": "ZA", "republic of south africa": "ZA", "turkey": "TR",
	"ivory coast": "CI", "russian federation": "RU", "viet nam": "VN", "burma": "MM", "swaziland": "SZ", "macedonia": "MK",
	"deutschland": "DE", "espana": "ES", "italia": "IT", "osterreich": "AT", "schweiz": "CH", "suisse": "CH", "brasil": "BR", "polska": "PL",
	"nederland": "NL", "belgie": "BE", "belgique": "BE", "norge": "NO", "sverige": "SE", "danmark": "DK", "suomi": "FI", "turkiye": "TR",
}

// states of the United States, folded.
var states = map[string]string{
	"alabama": "AL", "alaska": "AK", "arizona": "AZ", "arkansas": "AR", "california": "CA", "colorado": "CO", "connecticut": "CT",
	"delaware": "DE", "district of columbia": "DC", "florida": "FL", "georgia": "GA", "hawaii": "HI", "idaho": "ID", "illinois": "IL",
	"indiana": "IN", "iowa": "IA", "kansas": "KS", "kentucky": "KY", "louisiana": "LA", "maine": "ME", "maryland": "MD",
	"massachusetts": "MA", "michigan": "MI", "minnesota": "MN", "mississippi": "MS", "missouri": "MO", "montana": "MT", "nebraska": "NE",
	"nevada": "NV", "new hampshire": "NH", "new jersey": "NJ", "new mexico": "NM", "new york": "NY", "north carolina": "NC",
	"north dakota": "ND", "ohio": "OH", "oklahoma": "OK", "oregon": "OR", "pennsylvania": "PA", "rhode island": "RI",
	"south carolina": "SC", "south dakota": "SD", "tennessee": "TN", "texas": "TX", "utah": "UT", "vermont": "VT", "virginia": "VA",
	"washington": "WA", "west virginia": "WV", "wisconsin": "WI", "wyoming": "WY",
}
