package store

import "bytes"

// Key joins parts into bytes that sort as the parts do, one after the other,
// whatever the parts hold: each part ends in 0x00 0x01, and a zero byte inside
// a part is written 0x00 0xFF.
func Key(parts ...string) []byte {
	var b []byte
	for _, p := range parts {
		for i := range len(p) {
			b = append(b, p[i])
			if p[i] == 0 {
				b = append(b, 0xFF)
			}
		}
		b = append(b, 0, 1)
	}
	return b
}

// Parts is the inverse of [Key]; nil for bytes that Key did not make.
func Parts(key []byte) []string {
	var parts []string
	var part []byte
	for i := 0; i < len(key); i++ {
		if key[i] != 0 {
			part = append(part, key[i])
			continue
		}
		i++
		switch {
		case i == len(key):
			return nil
		case key[i] == 1:
			parts, part = append(parts, string(part)), nil
		case key[i] == 0xFF:
			part = append(part, 0)
		default:
			return nil
		}
	}
	if part != nil {
		return nil
	}
	return parts
}

// After returns the smallest key that sorts behind every key with the prefix,
// or nil.
func After(prefix []byte) []byte {
	end := bytes.Clone(prefix)
	for i := len(end) - 1; i >= 0; i-- {
		if end[i] < 0xFF {
			end[i]++
			return end[:i+1]
		}
	}
	return nil
}
