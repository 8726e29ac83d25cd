package maintenance

import (
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// FuzzCatalogue asserts that a catalogue which was read holds what its rules
// say, and that every sum of money in it reads back as it is written.
func FuzzCatalogue(f *testing.F) {
	f.Add(ownCatalogue)
	for _, text := range []string{"", "currency = 'EUR'\n[[part]]\npart_number = 'a'\nunit_cost = '1.50'\n", "[[part]]\n[[part]]\n", "[[kit]]\nhours = nan\n",
		"currency='EUR'\n[[part]]\npart_number='a'\nunit_cost=92233720368547758.07\n[[kit]]\nitems=[{part='a',quantity=-1,per='0 kW'}]\n"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := readCatalogue(text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("refused without a word")
			}
			return
		}
		for _, p := range c.Parts {
			if p == nil || p.Number == "" || p.UnitCost < 0 || c.byNumber[p.Number] == nil {
				t.Fatalf("%+v", p)
			}
			b, err := toml.Marshal(map[string]Cents{"c": p.UnitCost})
			var back map[string]Cents
			if err == nil {
				err = toml.Unmarshal(b, &back)
			}
			if err != nil || back["c"] != p.UnitCost {
				t.Fatalf("%d cents are written %s and read %d, %v", p.UnitCost, b, back["c"], err)
			}
		}
		for _, k := range c.Kits {
			if k == nil || !(k.Hours >= 0 && k.Hours < 1e9) {
				t.Fatalf("%+v", k)
			}
			for _, i := range k.Items {
				if c.byNumber[i.Part] == nil || i.Quantity <= 0 {
					t.Fatalf("%+v", i)
				}
			}
		}
	})
}
