package httpapi

import (
	"fmt"
	"slices"
	"strings"

	"app.sunloop/backend/api"
)

// What the routes of work management share.

// word reads one of some words, whatever their case; an empty one is missing.
func word(name string, value *string, words []string) error {
	if *value == "" {
		return api.MissingField(name)
	}
	*value = strings.ToLower(*value)
	if !slices.Contains(words, *value) {
		return api.InvalidField(name, fmt.Sprintf("it is one of %s", strings.Join(words, ", ")))
	}
	return nil
}

// optionalWord is [word] of a field that may be left out.
func optionalWord(name string, value *string, words []string) error {
	if *value == "" {
		return nil
	}
	return word(name, value, words)
}

// worklist checks what a list of work is about, and its page: an asset, a
// site or a customer must be named.
func worklist(assetID, siteID, customerID string, p api.Page) (target, api.ListQuery, error) {
	t := target{customerID: customerID, siteID: &siteID}
	page, err := pageOf(p)
	if err != nil {
		return t, api.ListQuery{}, err
	}
	switch {
	case assetID != "":
		t.asset = &api.AssetRef{AssetID: assetID, SiteID: siteID, CustomerID: customerID}
	case siteID == "" && customerID == "":
		return t, api.ListQuery{}, api.MissingField("asset_id")
	}
	return t, api.ListQuery{CustomerID: customerID, SiteID: siteID, AssetID: assetID, Page: page}, nil
}

// about narrows a list of one asset to the site that it stands on.
func (g granted) about(q api.ListQuery) api.ListQuery {
	switch {
	case q.AssetID != "":
		q.SiteID = g.asset.SiteID
	case g.site.SiteID != "":
		q.SiteID = g.site.SiteID
	}
	return q
}
