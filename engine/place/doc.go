// Package place finds towns offline: the input is a name or a pair of
// coordinates, the output latitude, longitude and time zone. It also estimates
// a plant's location from its power only.
//
// The towns are an extract of GeoNames (geonames.org, CC BY 4.0): those of at
// least 15 000 inhabitants, with their other names in Latin script.
package place
