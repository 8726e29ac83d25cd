package place

import "slices"

// Towns returns all known towns, by country and name.
func Towns() []Place { return slices.Clone(towns().towns) }
