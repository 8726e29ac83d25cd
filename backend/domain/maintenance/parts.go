package maintenance

import (
	_ "embed"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"app.sunloop/backend/api"
)

// Catalogue are the parts that bills of materials are made of, and the kits
// that say which of them a kind of work takes.
type Catalogue struct {
	Currency  string  `toml:"currency"`   // ISO 4217, of all costs
	TruckRoll Cents   `toml:"truck_roll"` // what a journey to a site costs; 0: not known
	Parts     []*Part `toml:"part"`
	Kits      []*Kit  `toml:"kit"`

	byNumber map[string]*Part
}

// Part is a kind of spare part.
type Part struct {
	Number      string `toml:"part_number"`
	Description string `toml:"description"`
	UnitCost    Cents  `toml:"unit_cost"`
	Essential   bool   `toml:"essential"`  // work does not start while it is short
	Minimum     int    `toml:"minimum"`    // stock to keep
	OnHand      *int   `toml:"on_hand"`    // stock that a customer begins with; nil: never counted
	InsteadOf   string `toml:"instead_of"` // the part whose place it takes for components of OEM and Model
	OEM         string `toml:"oem"`
	Model       string `toml:"model"` // a part of the model's name; empty: all of the maker's
}

// Kit is what a kind of work takes.
type Kit struct {
	Family      string    `toml:"family"`      // of the fault; empty: where none has its own
	Maintenance []string  `toml:"maintenance"` // types; empty: all
	Asset       string    `toml:"asset"`       // a word of the unit's type; empty: all
	FromKW      float64   `toml:"from_kw"`
	ToKW        float64   `toml:"to_kw"` // 0: no bound
	Hours       float64   `toml:"hours"`
	HoursPer    string    `toml:"hours_per"` // as KitItem.Per
	Isolating   bool      `toml:"isolating"` // the unit is down during the work
	Measuring   bool      `toml:"measuring"` // requires strong sun
	Items       []KitItem `toml:"items"`
}

// KitItem is a line of a kit.
type KitItem struct {
	Part     string `toml:"part"`
	Quantity int    `toml:"quantity"`
	Per      string `toml:"per"`      // empty: the job; "unit", "component", or a size as "50 kW"
	OwnMake  bool   `toml:"own_make"` // it must fit the unit's own components
}

// Cents is an amount of money in hundredths of its currency.
type Cents int64

// Amount is c in the currency's unit: the nearest number to two decimals.
func (c Cents) Amount() float64 { return float64(c) / 100 }

// times is c at an exchange rate, to the nearest hundredth.
func (c Cents) times(rate float64) Cents { return Cents(math.Round(float64(c) * rate)) }

// MarshalText writes the amount with two decimals.
func (c Cents) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%d.%02d", c/100, c%100), nil }

// UnmarshalText reads an amount with at most two decimals, as 4800 or 5.40.
func (c *Cents) UnmarshalText(b []byte) error {
	whole, fraction, _ := strings.Cut(string(b), ".")
	if len(fraction) > 2 || len(whole) < 1 || len(whole) > 12 {
		return fmt.Errorf("%q is not an amount of money with two decimals", b)
	}
	n, err := strconv.ParseUint(whole+(fraction + "00")[:2], 10, 63)
	if err != nil {
		return fmt.Errorf("%q is not an amount of money with two decimals", b)
	}
	*c = Cents(n)
	return nil
}

//go:embed catalogue.toml
var ownCatalogue []byte

// LoadCatalogue reads the catalogue of a file, or the one of the program for
// an empty path. The error names the file and what is wrong with it.
func LoadCatalogue(path string) (*Catalogue, error) {
	b := ownCatalogue
	if path != "" {
		var err error
		if b, err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("read the parts catalogue: %w", err)
		}
	}
	c, err := readCatalogue(b)
	if err != nil {
		return nil, fmt.Errorf("parts catalogue %s: %w", path, err)
	}
	return c, nil
}

func readCatalogue(b []byte) (*Catalogue, error) {
	c := &Catalogue{byNumber: map[string]*Part{}}
	d := toml.NewDecoder(strings.NewReader(string(b)))
	d.DisallowUnknownFields()
	if err := d.Decode(c); err != nil {
		var decode *toml.DecodeError
		var strict *toml.StrictMissingError
		switch {
		case errors.As(err, &strict) && len(strict.Errors) > 0:
			row, _ := strict.Errors[0].Position()
			return nil, fmt.Errorf("line %d: there is no field %q", row, strings.Join(strict.Errors[0].Key(), "."))
		case errors.As(err, &decode):
			row, _ := decode.Position()
			return nil, fmt.Errorf("line %d: %s", row, strings.TrimPrefix(decode.Error(), "toml: "))
		}
		return nil, err
	}
	if len(c.Currency) != 3 || strings.ToUpper(c.Currency) != c.Currency {
		return nil, fmt.Errorf("currency %q is not an ISO 4217 code such as USD", c.Currency)
	}
	for _, p := range c.Parts {
		switch {
		case p.Number == "" || p.Description == "":
			return nil, fmt.Errorf("a part has no part_number or no description: %q %q", p.Number, p.Description)
		case c.byNumber[p.Number] != nil:
			return nil, fmt.Errorf("part %s is there twice", p.Number)
		case p.Minimum < 0 || p.OnHand != nil && *p.OnHand < 0:
			return nil, fmt.Errorf("part %s: a stock below 0", p.Number)
		}
		c.byNumber[p.Number] = p
	}
	slices.SortFunc(c.Parts, func(a, b *Part) int { return strings.Compare(a.Number, b.Number) })
	return c, c.check()
}

// check holds the references of parts and kits against the parts.
func (c *Catalogue) check() error {
	for _, p := range c.Parts {
		if p.InsteadOf != "" && (c.byNumber[p.InsteadOf] == nil || p.OEM == "") {
			return fmt.Errorf("part %s is instead of %q: that is no part, or its oem is missing", p.Number, p.InsteadOf)
		}
	}
	general := map[string]bool{}
	for i, k := range c.Kits {
		name := fmt.Sprintf("kit %d (%s)", i+1, k.Family)
		if !(k.Hours > 0 && k.Hours <= api.MaxOrderHours) {
			return fmt.Errorf("%s: hours %g are not above 0 and up to %d", name, k.Hours, api.MaxOrderHours)
		}
		if _, err := times(k.HoursPer, api.Asset{}, 1); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		for _, m := range k.Maintenance {
			if !slices.Contains(api.MaintenanceTypes(), m) {
				return fmt.Errorf("%s: %q is no type of maintenance", name, m)
			}
		}
		for _, it := range k.Items {
			if c.byNumber[it.Part] == nil || it.Quantity < 1 {
				return fmt.Errorf("%s: %d of part %q: there is no such part, or no such quantity", name, it.Quantity, it.Part)
			}
			if _, err := times(it.Per, api.Asset{}, 1); err != nil {
				return fmt.Errorf("%s: part %s: %w", name, it.Part, err)
			}
		}
		if k.Family == "" && k.Asset == "" && k.FromKW == 0 && k.ToKW == 0 {
			for _, m := range api.MaintenanceTypes() {
				general[m] = general[m] || len(k.Maintenance) == 0 || slices.Contains(k.Maintenance, m)
			}
		}
	}
	for _, m := range api.MaintenanceTypes() {
		if !general[m] {
			return fmt.Errorf("there is no kit for %s work on any unit without a known fault", m)
		}
	}
	return nil
}

// kit is the first that fits the work, one of the family before others.
func (c *Catalogue) kit(maintenanceType, family string, asset api.Asset) *Kit {
	for _, f := range []string{family, ""} {
		for _, k := range c.Kits {
			if k.Family == f && k.fits(maintenanceType, asset) {
				return k
			}
		}
	}
	panic("maintenance: a catalogue that was checked has a kit for everything")
}

func (k *Kit) fits(maintenanceType string, a api.Asset) bool {
	return (len(k.Maintenance) == 0 || slices.Contains(k.Maintenance, maintenanceType)) &&
		strings.Contains(strings.ToLower(a.Type), strings.ToLower(k.Asset)) &&
		a.CapacityKW >= k.FromKW && (k.ToKW == 0 || a.CapacityKW <= k.ToKW)
}

// times is how often a quantity counts: for the job, each of the units, each
// component, or each begun step of the unit's size.
func times(per string, a api.Asset, units int) (int, error) {
	switch per {
	case "":
		return 1, nil
	case "unit":
		return max(units, 1), nil
	case "component":
		return max(len(a.Components), 1), nil
	}
	text, ok := strings.CutSuffix(per, "kW")
	step, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if !ok || err != nil || !(step > 0) {
		return 0, fmt.Errorf(`per %q is none of unit, component and a size as "50 kW"`, per)
	}
	return max(int(math.Ceil(a.CapacityKW/step)), 1), nil
}

// own is the part that fits a component in place of a general one.
func (c *Catalogue) own(general *Part, of api.Component) *Part {
	for _, p := range c.Parts {
		if p.InsteadOf == general.Number && strings.EqualFold(p.OEM, of.OEM) && strings.Contains(strings.ToLower(of.Model), strings.ToLower(p.Model)) {
			return p
		}
	}
	return general
}
