package telemetry

import (
	"iter"

	"app.sunloop/backend/store"
)

var sectionKinds = map[string]Section{store.BlockRows: Blocks, store.SumRows: Sums, store.TailRows: Tail}

// RowsOf returns the rows of a kind that a site has, in the form of
// [store.Raw].
func RowsOf(r Reader, siteID, kind string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		if part, ok := sectionKinds[kind]; ok {
			for c, err := range r.All(part) {
				if !yield(store.Entry{Key: store.CellKey(c.Ref, c.Start), Value: c.Value}, err) || err != nil {
					return
				}
			}
			return
		}
		layout, err := r.Layout()
		if err != nil || layout == nil {
			if err != nil {
				yield(store.Entry{}, err)
			}
			return
		}
		if kind == store.SiteRows {
			assetIndex, err := r.AssetIndex()
			yield(store.Entry{Key: []byte(siteID), Value: store.SiteValue(layout, assetIndex)}, err)
			return
		}
		assets, err := r.Assets()
		if err != nil {
			yield(store.Entry{}, err)
			return
		}
		for _, a := range assets {
			if !yield(store.Entry{Key: []byte(a.ID), Value: store.AssetValue(a.Ref)}, nil) {
				return
			}
		}
	}
}
