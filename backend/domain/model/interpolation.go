package model

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
	"app.sunloop/backend/store"
)

// Interpolation is a result of gap filling with its customer.
type Interpolation struct {
	api.InterpolationResult
	CustomerID string
}

var interpolations = store.Table[Interpolation]{
	Bucket: "interpolations",
	Key:    func(i Interpolation) []byte { return store.Key(i.SiteID, i.ResultID) },
	Indexes: []store.Index[Interpolation]{
		{Name: "customer", Key: func(i Interpolation) []byte { return store.Key(i.CustomerID, i.ResultID) }},
	},
	Form: store.As(newInterpolationRecord, interpolationRecord.interpolation),
}

// keptInterpolations is how many results of a site stay: each covers the
// whole window again.
const keptInterpolations = 5

// AddInterpolation stores a result, and answers a site's oldest ones beyond
// those that are kept, which it drops: their tables are for the caller to drop.
func (s *Service) AddInterpolation(tx store.Tx, i Interpolation) (dropped []Interpolation, err error) {
	if err := interpolations.Put(tx, i); err != nil {
		return nil, fmt.Errorf("store the interpolation of site %s: %w", i.SiteID, err)
	}
	all, _, err := interpolations.List(tx, store.Query{Prefix: store.Key(i.SiteID), Reverse: true})
	if err != nil {
		return nil, fmt.Errorf("list the interpolations of site %s: %w", i.SiteID, err)
	}
	dropped = all[min(keptInterpolations, len(all)):]
	for _, old := range dropped {
		if err := interpolations.Delete(tx, store.Key(old.SiteID, old.ResultID)); err != nil {
			return nil, fmt.Errorf("drop an old interpolation of site %s: %w", i.SiteID, err)
		}
	}
	return dropped, nil
}

// Interpolations lists results newest first, or returns
// [api.ErrNoInterpolation].
func (s *Service) Interpolations(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.InterpolationResult, string, error) {
	sq := store.Query{Index: "customer", Prefix: store.Key(q.CustomerID), Reverse: true}
	if q.SiteID != "" {
		sq.Index, sq.Prefix = "", store.Key(q.SiteID)
	}
	found, next, err := record.List(ctx, s.records, interpolations, sq, q.Page, func(i Interpolation) bool {
		return record.Matches(scope, q)(i.CustomerID, i.SiteID, "") && q.Since(madeAt(i.ResultID))
	})
	if err != nil {
		return nil, "", fmt.Errorf("list interpolations: %w", err)
	}
	if len(found) == 0 && q.Cursor == "" {
		return nil, "", api.ErrNoInterpolation
	}
	out := make([]api.InterpolationResult, len(found))
	for k, i := range found {
		out[k] = i.InterpolationResult
	}
	return out, next, nil
}

// madeAt is when the record of an id was made.
func madeAt(id string) time.Time {
	at, _ := record.MadeAt([]string{"", id})
	return at
}

// ObjectRefs returns the objects that models and interpolations refer to.
func ObjectRefs(tx store.Tx) (refs []record.ObjectRef, err error) {
	err = record.EachReadable(tx, models, func(m Model) {
		if a := m.Artefacts; a.Model != "" {
			refs = append(refs, record.ObjectRef{By: "model " + m.ModelVersion + " of site " + api.PublicSiteID(m.SiteID) + " of customer " + m.CustomerID, Keys: a.All(), SHA256: m.Hash})
		}
	})
	return refs, errors.Join(err, record.EachReadable(tx, interpolations, func(i Interpolation) {
		if i.FilledValues != "" {
			refs = append(refs, record.ObjectRef{By: "interpolation " + i.ResultID, URI: i.FilledValues})
		}
	}))
}

// ObjectsOfSite returns the objects to which models and interpolations of a site
// refer: keys, and URIs.
func ObjectsOfSite(tx store.Tx, siteID string) (keys, uris []string, err error) {
	ofSite := store.Query{Prefix: store.Key(siteID)}
	err = models.Each(tx, ofSite, func(m Model) error {
		if m.Artefacts.Model != "" {
			keys = append(keys, m.Artefacts.All()...)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the models of site %s: %w", siteID, err)
	}
	err = interpolations.Each(tx, ofSite, func(i Interpolation) error {
		if i.FilledValues != "" {
			uris = append(uris, i.FilledValues)
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the interpolations of site %s: %w", siteID, err)
	}
	return keys, uris, nil
}

// IsReferenced reports whether a model of the site refers to the object of a key, or
// an interpolation to its URI.
func IsReferenced(tx store.Tx, siteID, key, uri string) (refers bool, err error) {
	ofSite := store.Query{Prefix: store.Key(siteID)}
	err = models.Each(tx, ofSite, func(m Model) error {
		refers = refers || slices.Contains(m.Artefacts.All(), key)
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("read the models of site %s: %w", siteID, err)
	}
	err = interpolations.Each(tx, ofSite, func(i Interpolation) error {
		refers = refers || i.FilledValues == uri
		return nil
	})
	if err != nil {
		return false, fmt.Errorf("read the interpolations of site %s: %w", siteID, err)
	}
	return refers, nil
}
