// Package place knows where the towns of the world are, without a network: a
// name or a pair of coordinates in, latitude, longitude and time zone out. It
// also finds a plant's rough place from its power alone.
//
// The towns are an extract of GeoNames (geonames.org, CC BY 4.0): those of at
// least 15 000 inhabitants, with their other names in Latin script.
package place
