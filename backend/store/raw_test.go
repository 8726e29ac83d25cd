package store

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

// TestRawRows: rows are restored from their encoding, and keys of cells sort
// like their positions.
func TestRawRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		refs, starts := rapid.SliceOfN(rapid.Uint32(), 2, 2).Draw(t, "refs"), rapid.SliceOfN(rapid.Int64(), 2, 2).Draw(t, "starts")
		a, b := CellKey(refs[0], starts[0]), CellKey(refs[1], starts[1])
		before := refs[0] < refs[1] || refs[0] == refs[1] && starts[0] < starts[1]
		if (bytes.Compare(a, b) < 0) != before {
			t.Errorf("%d/%d and %d/%d do not sort", refs[0], starts[0], refs[1], starts[1])
		}
		if ref, start, err := SplitCellKey(a); ref != refs[0] || start != starts[0] || err != nil {
			t.Errorf("%d/%d becomes %d/%d, %v", refs[0], starts[0], ref, start, err)
		}
		if ref, err := SplitAssetValue(AssetValue(refs[0])); ref != refs[0] || err != nil {
			t.Errorf("%d becomes %d, %v", refs[0], ref, err)
		}
		layout, roster := rapid.SliceOf(rapid.Byte()).Draw(t, "layout"), rapid.SliceOf(rapid.Byte()).Draw(t, "roster")
		l, r, err := SplitSiteValue(SiteValue(layout, roster))
		if !bytes.Equal(l, layout) || !bytes.Equal(r, roster) || err != nil {
			t.Errorf("%q, %q becomes %q, %q, %v", layout, roster, l, r, err)
		}
	})
	for _, bad := range [][]byte{nil, {1}, {5, 1}, bytes.Repeat([]byte{0xff}, 12)} {
		if _, _, err := SplitSiteValue(bad); err == nil {
			t.Errorf("%q is a site's row", bad)
		}
	}
	if _, _, err := SplitCellKey([]byte("short")); err == nil {
		t.Error("a short key is a place")
	}
	if _, err := SplitAssetValue([]byte("long value")); err == nil {
		t.Error("a long value is a number")
	}
}
