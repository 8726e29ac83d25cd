package httpapi

import "strings"

// matching looks for tag in the members of If-None-Match by the weak
// comparison of RFC 9110 section 8.8.3.2, and returns the member as the caller
// sent it. A tag that a compressed answer carried names the same content.
func matching(headers []string, tag string) (member string, ok bool) {
	for _, header := range headers {
		rest := strings.TrimSpace(header)
		if rest == "*" {
			return tag, true
		}
		for rest != "" {
			var m string
			if m, rest, ok = cutTag(rest); !ok {
				break // what cannot be read matches nothing
			}
			if identity(m) == tag {
				return m, true
			}
		}
	}
	return "", false
}

// cutTag cuts the first member off a list of entity tags. A comma may stand
// inside the quotes.
func cutTag(list string) (member, rest string, ok bool) {
	list = strings.TrimLeft(list, " \t,")
	start := 0
	if strings.HasPrefix(list, "W/") {
		start = 2
	}
	if len(list) <= start || list[start] != '"' {
		return "", "", false
	}
	end := strings.IndexByte(list[start+1:], '"')
	if end < 0 {
		return "", "", false
	}
	end += start + 2
	rest = strings.TrimLeft(list[end:], " \t")
	if rest != "" && rest[0] != ',' {
		return "", "", false
	}
	return list[:end], strings.TrimLeft(rest, " \t,"), true
}

// identity is the tag of the uncompressed content, without weakness.
func identity(member string) string {
	member = strings.TrimPrefix(member, "W/")
	for _, coding := range []string{`-gzip"`, `-zstd"`} {
		if plain, ok := strings.CutSuffix(member, coding); ok {
			return plain + `"`
		}
	}
	return member
}
