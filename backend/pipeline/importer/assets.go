package importer

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/names"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/ingest"
	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// resolveAssets finds the site and the assets of a file and creates missing ones;
// words are the decisions. The assets are in the order of the result's.
func (im *Importer) resolveAssets(ctx context.Context, u upload.Upload, r *ingest.Result) (site api.Site, units []api.Asset, words []string, err error) {
	err = im.Records.Update(ctx, func(tx store.Tx) error {
		units, words = nil, nil
		var made, newSite bool
		var newUnits []string
		site, made, err = im.Domain.Sites.CreateSiteIfMissing(tx, api.Site{SiteID: u.SiteID, CustomerID: u.CustomerID, Location: u.Location,
			Timezone: u.Request.Timezone, CapacityKW: u.Request.CapacityKW}, u.Actor)
		if err != nil {
			return err
		}
		if newSite = made; made {
			words = append(words, fmt.Sprintf("site: %s was not known and is now, in the time zone %s", site.SiteID, site.Timezone))
		}
		if kW := u.Request.CapacityKW; !made && kW != 0 && kW != site.CapacityKW {
			words = append(words, fmt.Sprintf("site: %s keeps its capacity of %s; %s came with the file", site.SiteID, display.Power(site.CapacityKW), display.Power(kW)))
		}
		if zone := u.Request.Timezone; !made && zone != "" && zone != site.Timezone {
			words = append(words, fmt.Sprintf("site: the days of %s stay those of %s", site.SiteID, site.Timezone))
		}
		known, err := im.Domain.Sites.AssetsInTx(tx, site.SiteID)
		if err != nil {
			return err
		}
		whole := len(known) == 0 // the file shows all units that the site has
		for _, a := range r.Assets {
			if there := findAsset(known, a.Name); there != nil {
				asset, raised, err := im.Domain.Sites.RaiseCapacity(tx, *there, roundTo(ratedFromPeak(a.Frame), 3))
				if err != nil {
					return err
				}
				if raised {
					if err := im.keepCapacity(tx, u, asset.AssetID, there.CapacityKW); err != nil {
						return err
					}
					words = append(words, fmt.Sprintf("unit: the capacity of %s is now taken as %s, the highest power seen", asset.AssetID, display.Power(asset.CapacityKW)))
				}
				units = append(units, asset)
				continue
			}
			capacity, why, estimated := capacityOf(a, r.Assets, site, whole)
			asset, made, err := im.Domain.Sites.CreateAssetIfMissing(tx, api.Asset{AssetID: newAssetID(known, a.Name), Name: a.Name, Type: "Solar Inverter", CapacityKW: capacity,
				Location: site.Location, SiteID: site.SiteID, CustomerID: site.CustomerID, Timezone: site.Timezone})
			if err != nil {
				return err
			}
			if made && estimated {
				if err := im.Domain.Sites.MarkEstimated(tx, asset); err != nil {
					return err
				}
			}
			if made {
				newUnits = append(newUnits, asset.AssetID)
				words = append(words, fmt.Sprintf("unit: %s was not known and is now, with %s, %s", asset.AssetID, display.Power(asset.CapacityKW), why))
			}
			known = append(known, asset)
			units = append(units, asset)
		}
		if u.Kind == api.UploadNowcast && !newSite && len(newUnits) == 0 {
			return nil // a live step is over before anyone could look, and saves a commit
		}
		_, err = im.Domain.Uploads.SetStatus(tx, u.UploadID, api.UploadProcessing, func(u *upload.Upload) {
			u.Stage, u.NewSite = sitedata.StageStoring, u.NewSite || newSite
			u.NewAssetIDs = append(u.NewAssetIDs, newUnits...)
		})
		return err
	})
	if err != nil {
		return site, nil, nil, fmt.Errorf("resolve assets of upload %s: %w", u.UploadID, err)
	}
	return site, units, words, nil
}

// maxAssets bounds the assets of one file: the strings of a large plant. A file
// with more was misread, and would delay all other imports.
const maxAssets = 5000

// checkAssetCount rejects a file of more than maxAssets.
func checkAssetCount(r *ingest.Result) error {
	if len(r.Assets) <= maxAssets {
		return nil
	}
	return &ingest.Refusal{Kind: ingest.TooLarge, Message: fmt.Sprintf("the file speaks of %s; %d are the most", display.CountOf(len(r.Assets), "unit", "units"), maxAssets)}
}

// findAsset returns the asset with a name: its id, its name, that of a unit that was
// merged into it, or the serial number of one of its components. Units of former
// versions have digits of other scripts, or a quantity, in their names.
func findAsset(known []api.Asset, name string) *api.Asset {
	id, made := shortID(name), shortID(names.NewID(name))
	for _, is := range []func(a api.Asset) bool{
		func(a api.Asset) bool { return a.Name == name && strings.HasPrefix(a.AssetID, made+"-") }, // by newAssetID
		func(a api.Asset) bool { return a.AssetID == name || a.AssetID == id },
		func(a api.Asset) bool { return strings.EqualFold(a.Name, name) },
		func(a api.Asset) bool { return slices.Contains(a.FormerIDs, name) || slices.Contains(a.FormerIDs, id) },
		func(a api.Asset) bool {
			return slices.ContainsFunc(a.Components, func(c api.Component) bool { return c.Serial == name })
		},
		func(a api.Asset) bool { return a.AssetID == made && names.NewID(a.Name) != made }, // it was renamed
		func(a api.Asset) bool { return ingest.PlainDigits(a.AssetID) == name },
	} {
		if i := slices.IndexFunc(known, is); i >= 0 {
			return &known[i]
		}
	}
	long := func(a api.Asset) bool { return ingest.WithoutQuantity(a.AssetID) == name }
	i := slices.IndexFunc(known, long)
	if i < 0 || slices.ContainsFunc(known[i+1:], long) {
		return nil
	}
	return &known[i]
}

// newAssetID returns the id of a new unit with a name in a file, which no known unit has.
// It follows [names.NewID] and has at most 64 runes, without a number that makes it
// unique.
func newAssetID(known []api.Asset, name string) string {
	id := cmp.Or(shortID(names.NewID(name)), "unit")
	unique := id
	for n := 2; slices.ContainsFunc(known, func(a api.Asset) bool { return a.AssetID == unique || slices.Contains(a.FormerIDs, unique) }); n++ {
		unique = fmt.Sprintf("%s-%d", id, n)
	}
	return unique
}

// shortID returns the printable characters of a name, trimmed, at most 64 runes.
func shortID(name string) string {
	name = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name))
	if r := []rune(name); len(r) > 64 {
		name = strings.TrimSpace(string(r[:64]))
	}
	return name
}

// capacityOf returns the rated power of a new asset: its share of the site's by
// the power seen, if the file has all assets of the site; else the highest power
// seen.
func capacityOf(a ingest.Asset, all []ingest.Asset, site api.Site, whole bool) (kW float64, why string, estimated bool) {
	seen := ratedFromPeak(a.Frame)
	if whole && site.CapacityKW > 0 {
		if len(all) == 1 {
			return site.CapacityKW, "the site's capacity", false
		}
		sum := 0.0
		for _, b := range all {
			sum += ratedFromPeak(b.Frame)
		}
		if sum > 0 && seen > 0 {
			return roundTo(site.CapacityKW*seen/sum, 3), "its share of the site's capacity by the power it has shown", false
		}
		return roundTo(site.CapacityKW/float64(len(all)), 3), "an equal share of the site's capacity", false
	}
	return roundTo(seen, 3), "the highest power in the file", true
}

// ratedFromPeak returns the power that one reading in a thousand exceeds, so that
// a single spike does not count.
func ratedFromPeak(f series.Frame) float64 {
	var v []float64
	for _, p := range f.Values(series.PowerKW) {
		if p > 0 && !math.IsInf(p, 0) {
			v = append(v, p)
		}
	}
	if len(v) == 0 {
		return 0
	}
	slices.Sort(v)
	return v[len(v)-1-len(v)/1000]
}

// roundTo rounds to n significant digits.
func roundTo(v float64, n int) float64 {
	if !(v > 0) {
		return 0
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-float64(n-1))
	return math.Round(v/unit) * unit
}
