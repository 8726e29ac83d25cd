package livedata

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/names"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// gateway is what is stored of the batches of a gateway: a sender that numbers them from
// 1. An epoch is one numbering.
type gateway struct {
	SiteID     string      `json:"site_id" limit:"id"`
	CustomerID string      `json:"customer_id" limit:"id"`
	ID         string      `json:"gateway_id" limit:"word"`
	Epoch      string      `json:"epoch" limit:"word"`
	Received   []received  `json:"received" limit:"256"` // ascending, neither overlapping nor adjacent
	Last       []batchHash `json:"last" limit:"64 last"` // newest last
	APIKeyID   string      `json:"api_key_id" limit:"id"`
	Version    string      `json:"version,omitempty" limit:"word cut"`
	FirstSeen  time.Time   `json:"first_seen_at"`
	LastSeen   time.Time   `json:"last_seen_at"`
	LastStored time.Time   `json:"last_stored_at,omitzero"`
	LastPoint  time.Time   `json:"last_point_at,omitzero"`
	Points     int64       `json:"points"`
	Backlog    int         `json:"backlog"`
	Refused    int         `json:"refused"`
	OffsetS    float64     `json:"clock_offset_s"`
}

// received are numbers of batches that are stored.
type received struct {
	First int `json:"first"`
	Last  int `json:"last"`
}

// batchHash identifies the points of a batch, or of several that came in one body.
type batchHash struct {
	First  int    `json:"first"`
	Last   int    `json:"last"`
	SHA256 string `json:"sha256" limit:"word"`
}

var gateways = store.Table[gateway]{
	Bucket: "gateways",
	Key:    func(g gateway) []byte { return store.Key(g.SiteID, g.ID, g.Epoch) },
}

// Bounds of what is stored of gateways.
const (
	maxRanges = 256 // of batches with holes between them
	maxHashes = 64
	maxEpochs = 100 // of a site; the one whose last message is oldest is deleted
)

// Tables returns the tables of this package.
func Tables() []store.Checked { return []store.Checked{gateways} }

// SiteRecords returns the records of sites, by their ids.
func SiteRecords() []record.OfSite { return record.OfSites(gateways) }

// has reports whether all batches from first to last are stored, and whether one is.
func (g *gateway) has(first, last int) (all, some bool) {
	for _, r := range g.Received {
		all = all || r.First <= first && last <= r.Last
		some = some || r.First <= last && first <= r.Last
	}
	return all, some
}

// add adds batches that are stored.
func (g *gateway) add(first, last int) error {
	i, _ := slices.BinarySearchFunc(g.Received, first, func(r received, first int) int { return cmp.Compare(r.First, first) })
	list := slices.Insert(slices.Clone(g.Received), i, received{first, last})
	n := 0
	for _, r := range list[1:] {
		if r.First <= list[n].Last+1 {
			list[n].Last = max(list[n].Last, r.Last)
			continue
		}
		n++
		list[n] = r
	}
	if g.Received = list[:n+1]; len(g.Received) > maxRanges {
		return api.Conflict("Gateway %s has %d holes in its batches, which is the most: send the missing ones first", g.ID, maxRanges-1)
	}
	return nil
}

// check says what a batch is: new, or stored already. The error is a conflict.
func (g *gateway) check(w *api.WriteQuery) (duplicate bool, err error) {
	first := cmp.Or(w.FirstSequence, w.Sequence)
	all, some := g.has(first, w.Sequence)
	if !some {
		return false, nil
	}
	for _, h := range g.Last {
		if h.First == first && h.Last == w.Sequence && h.SHA256 != w.SHA256 {
			return false, api.ErrBatchChanged.With("sequence", w.Sequence)
		}
	}
	if !all {
		return false, api.Conflict("Some of the batches %d to %d are stored already", first, w.Sequence).With("received", g.ranges())
	}
	return true, nil
}

func (g *gateway) ranges() []api.SequenceRange {
	out := make([]api.SequenceRange, len(g.Received))
	for i, r := range g.Received {
		out[i] = api.SequenceRange(r)
	}
	return out
}

// heard records what the gateway said of itself.
func (g *gateway) heard(w *api.WriteQuery, key string, now time.Time) {
	g.APIKeyID, g.Version, g.Backlog, g.Refused, g.LastSeen = key, w.Version, w.Backlog, w.Refused, now
	if !w.SentAt.IsZero() {
		g.OffsetS = math.Round(now.Sub(w.SentAt.Time).Seconds()*10) / 10
	}
}

// gatewayOf returns what is stored of the sender of a batch.
func (l *Live) gatewayOf(tx store.Tx, s api.Site, w *api.WriteQuery) (gateway, error) {
	g, err := gateways.Get(tx, store.Key(s.SiteID, w.GatewayID, w.Epoch))
	if errors.Is(err, store.ErrNotFound) {
		return gateway{SiteID: s.SiteID, CustomerID: s.CustomerID, ID: w.GatewayID, Epoch: w.Epoch, FirstSeen: l.Wall().UTC()}, nil
	}
	return g, err
}

// putGateway stores what is known of a gateway.
func putGateway(tx store.Tx, g gateway) error {
	if _, err := gateways.Get(tx, gateways.Key(g)); errors.Is(err, store.ErrNotFound) {
		list, _, err := gateways.List(tx, store.Query{Prefix: store.Key(g.SiteID)})
		if err != nil {
			return err
		}
		for len(list) >= maxEpochs {
			i := 0
			for k := range list {
				if list[k].LastSeen.Before(list[i].LastSeen) {
					i = k
				}
			}
			if err := gateways.Delete(tx, gateways.Key(list[i])); err != nil {
				return err
			}
			list = slices.Delete(list, i, i+1)
		}
	}
	return gateways.Put(tx, g)
}

// Collect stores points that a collector sent for a site. When it returns they are
// durable. A numbered batch is stored once: first its points, in a way that has the same
// result when it is repeated, then its number.
func (l *Live) Collect(ctx context.Context, of api.Site, keyID string, w *api.WriteQuery, frames []store.AssetFrame) (r api.WriteResponse, err error) {
	s := l.site(of)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Site = of
	r = api.WriteResponse{Success: true, ServiceTime: api.At(l.Wall())}
	var g gateway
	if w.GatewayID != "" {
		if err := l.Records.View(ctx, func(tx store.Tx) (err error) { g, err = l.gatewayOf(tx, of, w); return err }); err != nil {
			return r, fmt.Errorf("read gateway %s: %w", w.GatewayID, err)
		}
		if w.Sequence > 0 {
			if r.Duplicate, err = g.check(w); err != nil {
				return r, err
			}
		}
	}
	if !r.Duplicate && len(frames) > 0 {
		if r.CreatedAssets, err = l.createUnits(ctx, s, frames); err != nil {
			return r, err
		}
		if frames, err = l.dropImplausible(ctx, s, w, frames, &r); err != nil {
			return r, err
		}
		if len(frames) > 0 {
			if err := l.store(ctx, s, frames, false); err != nil {
				return r, err
			}
		}
		for _, f := range frames {
			for _, c := range f.Frame.Columns {
				for _, v := range c.Values {
					if !math.IsNaN(v) {
						r.Points++
					}
				}
			}
		}
		r.Units = len(frames)
	}
	if w.GatewayID == "" {
		return r, nil
	}
	err = l.Records.Update(ctx, func(tx store.Tx) error {
		if g, err = l.gatewayOf(tx, of, w); err != nil {
			return err
		}
		now := l.Wall().UTC()
		g.heard(w, keyID, now)
		if w.Sequence > 0 && !r.Duplicate {
			first := cmp.Or(w.FirstSequence, w.Sequence)
			if err := g.add(first, w.Sequence); err != nil {
				return err
			}
			if g.Last = append(g.Last, batchHash{first, w.Sequence, w.SHA256}); len(g.Last) > maxHashes {
				g.Last = g.Last[len(g.Last)-maxHashes:]
			}
			g.LastStored, g.Points = now, g.Points+int64(r.Points)
			if at := newest(frames); at.After(g.LastPoint) {
				g.LastPoint = at
			}
		}
		return putGateway(tx, g)
	})
	if err != nil {
		return r, fmt.Errorf("record the batch of gateway %s: %w", w.GatewayID, err)
	}
	r.Received = g.ranges()
	if !w.SentAt.IsZero() {
		r.ClockOffsetS = &g.OffsetS
	}
	return r, nil
}

// knownFor is how long the units of a site are taken from memory: units are removed by
// merging them.
const knownFor = time.Minute

// createUnits adds the units that the site does not have, and returns their ids.
func (l *Live) createUnits(ctx context.Context, s *site, frames []store.AssetFrame) (created []string, err error) {
	if since := l.Wall().Sub(s.unitsAt); since < 0 || since >= knownFor {
		s.units = nil
	}
	missing := slices.DeleteFunc(slices.Clone(frames), func(f store.AssetFrame) bool { return isKnown(s.units, f) })
	if len(missing) == 0 {
		return nil, nil
	}
	units := map[string]float64{}
	add := func(tx store.Tx) error {
		clear(units)
		created = nil
		list, err := l.Domain.Sites.AssetsInTx(tx, s.SiteID)
		if err != nil {
			return err
		}
		for _, a := range list {
			units[a.AssetID] = a.CapacityKW
		}
		return nil
	}
	err = l.Records.View(ctx, func(tx store.Tx) error { return add(tx) })
	if err == nil && slices.ContainsFunc(missing, func(f store.AssetFrame) bool { return !isKnown(units, f) }) {
		err = l.Records.Update(ctx, func(tx store.Tx) error {
			if err := add(tx); err != nil {
				return err
			}
			for _, f := range missing {
				if isKnown(units, f) {
					continue
				}
				if reason := names.CheckNewID(f.AssetID); reason != "" {
					return api.InvalidField("asset_id", fmt.Sprintf("the new unit %q: %s", f.AssetID, reason))
				}
				asset, made, err := l.Domain.Sites.CreateAssetIfMissing(tx, api.Asset{AssetID: f.AssetID, Name: f.AssetID, Type: "solar_inverter", CapacityKW: leastCapacityKW,
					SiteID: s.SiteID, CustomerID: s.CustomerID, Location: s.Location, Timezone: s.Timezone, Latitude: s.Latitude, Longitude: s.Longitude})
				if err != nil {
					return err
				}
				if made {
					if err := l.Domain.Sites.MarkEstimated(tx, asset); err != nil {
						return err
					}
					created = append(created, f.AssetID)
				}
				units[f.AssetID] = asset.CapacityKW
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("add units to site %s: %w", s.SiteID, err)
	}
	s.units, s.unitsAt = units, l.Wall()
	return created, nil
}

func isKnown(units map[string]float64, f store.AssetFrame) bool {
	_, known := units[f.AssetID]
	return known
}

// dropImplausible leaves out power that its unit cannot have, by the rule for files of live
// data, and names it in the response. Without invalid=skip
// the first one is an error, and nothing is stored.
func (l *Live) dropImplausible(ctx context.Context, s *site, w *api.WriteQuery, frames []store.AssetFrame, r *api.WriteResponse) ([]store.AssetFrame, error) {
	out := slices.Clone(frames)
	for i := range out {
		f := &out[i].Frame
		power := f.Values(series.PowerKW)
		if len(power) == 0 {
			continue
		}
		id, capacity := out[i].AssetID, s.units[out[i].AssetID]
		most, err := l.MostPower(ctx, s.SiteID, id, capacity, power, time.Unix(f.Times[0], 0))
		if err != nil {
			return nil, err
		}
		if !sitedata.Exceeds(power, most) {
			continue
		}
		kept := f.Clone()
		power = kept.Values(series.PowerKW)
		for k, v := range power {
			if !(math.Abs(v) > most) {
				continue
			}
			reason := fmt.Sprintf("unit %s cannot have %s, as at %s: its capacity is %s", id, display.Power(v), time.Unix(f.Times[k], 0).UTC().Format(time.RFC3339), display.Power(capacity))
			if w.Invalid != api.InvalidSkip {
				return nil, api.InvalidField(series.PowerKW.String(), reason)
			}
			if r.Invalid++; len(r.InvalidPoints) < api.MaxInvalidPoints {
				r.InvalidPoints = append(r.InvalidPoints, api.InvalidPoint{Field: series.PowerKW.String(), Reason: reason})
			}
			power[k] = math.NaN()
		}
		out[i].Frame = withoutEmpty(kept)
	}
	return slices.DeleteFunc(out, func(f store.AssetFrame) bool { return f.Frame.Len() == 0 }), nil
}

// withoutEmpty is a frame without the times that have no value.
func withoutEmpty(f series.Frame) series.Frame {
	var keep []int
	for i := range f.Times {
		if slices.ContainsFunc(f.Columns, func(c series.Column) bool { return !math.IsNaN(c.Values[i]) }) {
			keep = append(keep, i)
		}
	}
	if len(keep) == f.Len() {
		return f
	}
	return f.Select(keep)
}

// Gateways lists the gateways of sites in a scope, by site.
func (l *Live) Gateways(ctx context.Context, scope api.Scope, q api.ListQuery) (list []api.GatewayRecord, next string, err error) {
	var prefix []byte
	if q.SiteID != "" {
		prefix = store.Key(q.SiteID)
	}
	found, next, err := record.List(ctx, l.Records, gateways, store.Query{Prefix: prefix}, q.Page, func(g gateway) bool {
		return scope.Allows(g.CustomerID, g.SiteID) && (q.CustomerID == "" || q.CustomerID == g.CustomerID) && q.Since(g.LastSeen)
	})
	return record.Convert(found, gateway.record), next, err
}

func (g gateway) record() api.GatewayRecord {
	r := api.GatewayRecord{GatewayID: g.ID, Epoch: g.Epoch, SiteID: g.SiteID, CustomerID: g.CustomerID, APIKeyID: g.APIKeyID, Version: g.Version,
		FirstSeenAt: api.At(g.FirstSeen), LastSeenAt: api.At(g.LastSeen), Points: g.Points, Backlog: g.Backlog, Refused: g.Refused,
		ClockOffsetS: g.OffsetS, ClockWrong: math.Abs(g.OffsetS) > api.ClockToleranceS, Received: g.ranges()}
	if !g.LastStored.IsZero() {
		r.LastStoredAt = api.At(g.LastStored)
	}
	if !g.LastPoint.IsZero() {
		r.LastPointAt = api.At(g.LastPoint)
	}
	return r
}

// newest is the newest time of frames.
func newest(frames []store.AssetFrame) (last time.Time) {
	for _, f := range frames {
		if n := f.Frame.Len(); n > 0 {
			if at := time.Unix(f.Frame.Times[n-1], 0).UTC(); at.After(last) {
				last = at
			}
		}
	}
	return last
}
