// Package limit reads the limits that struct fields declare for what they may
// hold, and checks, cuts and describes values by them. It imports nothing of ours.
//
// A field declares its limit next to its name in JSON:
//
//	Name  string            `json:"name" limit:"name"`
//	Sites []string          `json:"sites" limit:"1000 id"`
//	Notes map[string]string `json:"notes" limit:"50 word text"`
//	Why   []string          `json:"why" limit:"200 text cut"`
//
// The tag has one limit for each level of the field's type: the number of
// characters of a string, the number of items of a list, the number of entries
// of a map and then the limit of its keys if these are strings, the number of
// bytes of a []byte, and the number of bytes in JSON of an any. A limit is a
// number, a number with KiB or MiB, or the name of a [Kinds] entry. Structs
// declare the limits of their own fields. Numbers, booleans and types that
// encode themselves, such as times, need none.
//
// The word "cut" or "last" at the end marks a field that the service fills
// itself. [Fit] shortens such a field to its limit instead of refusing it: "cut"
// keeps the beginning, "last" keeps the end of a list.
package limit
