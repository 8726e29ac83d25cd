package telemetry

import (
	"encoding/binary"
	"errors"
	"fmt"

	"app.sunloop/backend/store"
)

// assetIndex lists a site's assets in the order in which they first reported; an
// asset's position is its ref, which represents it in keys. It holds each
// asset's period and newest sample, so that these need no search.
type assetIndex []asset

type asset struct {
	id          string
	first, last int64 // stamps, Unix seconds
	step        int64 // its usual interval in seconds; 0 unknown, irregularStep: it has none
	newest      sample
}

var errAssetIndex = errors.New("damaged list of assets")

func (r assetIndex) append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(r)))
	for _, a := range r {
		b = binary.AppendUvarint(b, uint64(len(a.id)))
		b = append(b, a.id...)
		b = binary.AppendVarint(b, a.first)
		b = binary.AppendVarint(b, a.last)
		b = binary.AppendVarint(b, a.step)
		b = append(b, a.newest...)
	}
	return b
}

// readAssetIndex reads an asset index whose newest samples lie in b.
func readAssetIndex(b []byte) (assetIndex, error) {
	if len(b) == 0 {
		return nil, nil
	}
	text := string(b) // one copy for all ids
	n, at := binary.Uvarint(b)
	if at <= 0 || n > uint64(len(b)) {
		return nil, errAssetIndex
	}
	r := make(assetIndex, n)
	for i := range r {
		a := &r[i]
		size, w := binary.Uvarint(b[at:])
		if at += w; w <= 0 || size > uint64(len(b)-at) {
			return nil, errAssetIndex
		}
		a.id = text[at : at+int(size)]
		at += int(size)
		for _, v := range []*int64{&a.first, &a.last, &a.step} {
			x, w := binary.Varint(b[at:])
			if w <= 0 {
				return nil, errAssetIndex
			}
			*v, at = x, at+w
		}
		var err error
		if a.newest, err = frontSample(b[at:]); err != nil {
			return nil, errAssetIndex
		}
		at += len(a.newest)
	}
	if at != len(b) {
		return nil, errAssetIndex
	}
	return r, nil
}

// byID are the refs by id.
func (r assetIndex) byID() map[string]uint32 {
	refs := make(map[string]uint32, len(r))
	for i, a := range r {
		refs[a.id] = uint32(i)
	}
	return refs
}

// from are the assets from place n on.
func (r assetIndex) from(n int) []Asset {
	var out []Asset
	for i := n; i < len(r); i++ {
		out = append(out, Asset{r[i].id, uint32(i)})
	}
	return out
}

// refs are the places of all frames' assets, in an asset index that new ones have
// joined.
func (r assetIndex) refs(frames []store.AssetFrame) (assetIndex, []uint32) {
	known := make(map[string]uint32, len(r)+len(frames))
	for i, a := range r {
		known[a.id] = uint32(i)
	}
	refs := make([]uint32, len(frames))
	for i, f := range frames {
		ref, ok := known[f.AssetID]
		if !ok {
			ref = uint32(len(r))
			known[f.AssetID] = ref
			r = append(r, asset{id: f.AssetID, first: f.Frame.Times[0], last: f.Frame.Times[0] - 1})
		}
		refs[i] = ref
	}
	return r, refs
}

// note takes account of what the asset reported.
func (a *asset) note(f store.AssetFrame) {
	times := f.Frame.Times
	end := len(times) - 1
	switch step := usualStep(times); {
	case step != 0:
		a.step = step
	case a.step == 0 && a.newest != nil && times[end] > a.last:
		a.step = min(times[end]-a.last, secondsADay)
	}
	a.first = min(a.first, times[0])
	newest := sampleOf(f.Frame, end)
	switch {
	case times[end] > a.last:
		a.last, a.newest = times[end], newest
	case times[end] == a.last:
		a.newest = a.newest.merge(newest)
	}
}

// checkFrames returns an error for frames that Append does not accept.
func checkFrames(site store.SiteKey, frames []store.AssetFrame) error {
	if site.ID == "" || site.Zone == nil {
		return errors.New("site has no id or no zone")
	}
	for _, f := range frames {
		if f.AssetID == "" {
			return errors.New("asset has no id")
		}
		if err := f.Frame.Check(); err != nil {
			return fmt.Errorf("asset %s: %w", f.AssetID, err)
		}
	}
	return nil
}
