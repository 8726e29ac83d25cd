package httpapi

import (
	"context"
	"encoding/json"
	"fmt"

	"app.sunloop/backend/api"
)

// maxLookbackHours of a detector run: two years.
const maxLookbackHours = 2 * 366 * 24

func (s *server) assets(in *input) (*call, error) {
	var b api.AssetsRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	c := &call{action: b.Action, target: target{customerID: b.CustomerID, siteID: &b.SiteID}, fingerprint: in.digest()}
	switch b.Action {
	case api.ActionAdd:
		if err := checkNewAsset(in, b.Asset); err != nil {
			return nil, err
		}
		c.target.newSite = true // the domain decides where the unit belongs
		c.run = func(ctx context.Context, g granted) (any, error) {
			if g.site.SiteID != "" {
				b.Asset.CustomerID = g.site.CustomerID
			}
			added, err := s.Assets.AddAsset(ctx, g.scope, b.Asset)
			s.places.forget()
			return api.AssetsResponse{Success: true, Message: "Asset added", AssetID: added.AssetID}, err
		}
	case api.ActionGet:
		if b.AssetID == "" {
			return nil, api.MissingField("asset_id")
		}
		c.target.asset = &api.AssetRef{AssetID: b.AssetID, SiteID: b.SiteID, CustomerID: b.CustomerID}
		c.run = func(_ context.Context, g granted) (any, error) {
			return api.AssetsResponse{Success: true, Asset: &g.asset, Count: 1}, nil
		}
	case api.ActionSet, api.ActionInstall, api.ActionRemove:
		change, err := s.assetChange(b)
		if err != nil {
			return nil, err
		}
		c.target.asset = &api.AssetRef{AssetID: b.AssetID, SiteID: b.SiteID, CustomerID: b.CustomerID}
		c.run = func(ctx context.Context, g granted) (any, error) {
			before, after, err := change(ctx, g.scope, *c.target.asset)
			s.places.forget()
			if err != nil {
				return nil, err
			}
			g.note.change(before, after, after.CustomerID)
			return api.AssetsResponse{Success: true, Message: assetMoves[b.Action], AssetID: after.AssetID, Asset: &after, Count: 1}, nil
		}
	case api.ActionList:
		page, err := pageOf(b.Page)
		if err != nil {
			return nil, err
		}
		c.run = func(ctx context.Context, g granted) (any, error) {
			list, next, err := s.Assets.Assets(ctx, g.scope, api.ListQuery{CustomerID: b.CustomerID, SiteID: b.SiteID, Page: page})
			return api.AssetsResponse{Success: true, Assets: there(list), Count: len(list), NextCursor: next}, err
		}
	default:
		return nil, api.ErrInvalidAction
	}
	return c, nil
}

// assetMoves are the words of the changes of a unit.
var assetMoves = map[string]string{api.ActionSet: "Asset changed", api.ActionInstall: "Component installed", api.ActionRemove: "Component removed"}

// assetChange is what an action changes of a unit.
func (s *server) assetChange(b api.AssetsRequest) (func(context.Context, api.Scope, api.AssetRef) (before, after api.Asset, err error), error) {
	switch {
	case b.AssetID == "":
		return nil, api.MissingField("asset_id")
	case b.Version < 0:
		return nil, api.InvalidField("version", "a whole number above 0")
	case b.Action == api.ActionInstall && b.Component == nil:
		return nil, api.MissingField("component")
	case b.Action == api.ActionRemove && b.FormerSerial == "":
		return nil, api.MissingField("former_serial")
	}
	return func(ctx context.Context, scope api.Scope, ref api.AssetRef) (before, after api.Asset, err error) {
		switch b.Action {
		case api.ActionInstall:
			return s.Assets.InstallComponent(ctx, scope, ref, b.Version, *b.Component, b.FormerSerial)
		case api.ActionRemove:
			return s.Assets.RemoveComponent(ctx, scope, ref, b.Version, b.FormerSerial)
		}
		return s.Assets.SetAsset(ctx, scope, ref, b.Asset)
	}, nil
}

func checkNewAsset(in *input, a api.Asset) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(in.body, &given); err != nil {
		return invalidBody("not a JSON object")
	}
	if err := missing(api.MissingField, "asset_id", a.AssetID, "name", a.Name, "type", a.Type, "capacity_kw", string(given["capacity_kw"]), "location", a.Location); err != nil {
		return err
	}
	if a.CapacityKW <= 0 {
		return api.InvalidField("capacity_kw", "more than 0")
	}
	for i, p := range a.Components {
		at := fmt.Sprintf("components[%d].", i)
		if err := missing(api.MissingField, at+"oem", p.OEM, at+"model", p.Model, at+"serial", p.Serial); err != nil {
			return err
		}
	}
	return nil
}

func (s *server) sites(in *input) (*call, error) {
	var b api.SitesRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	c := &call{action: b.Action, fingerprint: in.digest()}
	switch b.Action {
	case api.ActionSet:
		if b.Site == nil {
			return nil, api.MissingField("site")
		}
		site := *b.Site
		if site.SiteID == "" {
			site.SiteID = b.SiteID
		}
		if site.CustomerID == "" {
			site.CustomerID = b.CustomerID
		}
		if site.SiteID == "" {
			return nil, api.MissingField("site_id")
		}
		c.target = target{customerID: site.CustomerID, siteID: &site.SiteID, newSite: true}
		c.run = func(ctx context.Context, g granted) (any, error) {
			if g.site.SiteID != "" {
				site.CustomerID = g.site.CustomerID
			}
			now, err := s.Sites.SetSite(ctx, g.scope, site)
			s.places.forget()
			return api.SitesResponse{Success: true, Message: "Site stored", Site: &now, Count: 1}, err
		}
	case api.ActionGet:
		if b.SiteID == "" {
			return nil, api.MissingField("site_id")
		}
		c.target = target{customerID: b.CustomerID, siteID: &b.SiteID}
		c.run = func(_ context.Context, g granted) (any, error) {
			return api.SitesResponse{Success: true, Site: &g.site, Count: 1}, nil
		}
	case api.ActionList:
		page, err := pageOf(b.Page)
		if err != nil {
			return nil, err
		}
		c.target = target{customerID: b.CustomerID}
		c.run = func(ctx context.Context, g granted) (any, error) {
			list, next, err := s.Sites.Sites(ctx, g.scope, api.ListQuery{CustomerID: b.CustomerID, Page: page})
			return api.SitesResponse{Success: true, Sites: there(list), Count: len(list), NextCursor: next}, err
		}
	default:
		return nil, api.ErrInvalidAction
	}
	return c, nil
}

func (s *server) detect(in *input) (*call, error) {
	var b api.DetectRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	switch b.Action {
	case api.ActionRun:
		return s.detectRun(in, b)
	case api.ActionList:
		return s.detectList(b)
	}
	return nil, api.ErrInvalidAction
}

func (s *server) detectRun(in *input, b api.DetectRequest) (*call, error) {
	if b.AssetID == "" {
		return nil, api.MissingField("asset_id")
	}
	if b.LookbackHours < 0 || b.LookbackHours > maxLookbackHours {
		return nil, api.InvalidField("lookback_hours", fmt.Sprintf("a whole number from 1 to %d", maxLookbackHours))
	}
	ref := api.AssetRef{AssetID: b.AssetID, SiteID: b.SiteID, CustomerID: b.CustomerID}
	t := target{customerID: b.CustomerID, siteID: &b.SiteID, asset: &ref}
	return &call{action: b.Action, target: t, fingerprint: in.digest(), run: func(ctx context.Context, g granted) (any, error) {
		d, err := s.Detector.Detect(ctx, g.scope, ref, b.LookbackHours)
		return api.DetectResponse{Success: true, Message: "Detection completed", DetectionID: d.DetectionID, AssetID: d.AssetID,
			AnomaliesDetected: &d.AnomaliesDetected, Status: d.Status, Analysis: d.Analysis, Count: 1}, err
	}}, nil
}

func (s *server) detectList(b api.DetectRequest) (*call, error) {
	page, err := pageOf(b.Page)
	if err != nil {
		return nil, err
	}
	t := target{customerID: b.CustomerID, siteID: &b.SiteID}
	if b.AssetID != "" {
		t.asset = &api.AssetRef{AssetID: b.AssetID, SiteID: b.SiteID, CustomerID: b.CustomerID}
	}
	return &call{action: b.Action, target: t, run: func(ctx context.Context, g granted) (any, error) {
		q := api.ListQuery{CustomerID: b.CustomerID, SiteID: b.SiteID, AssetID: b.AssetID, Page: page}
		list, next, err := s.Detector.Detections(ctx, g.scope, q)
		return api.DetectResponse{Success: true, Detections: there(list), Count: len(list), NextCursor: next}, err
	}}, nil
}

func (s *server) detections(in *input) (*call, error) {
	var b api.DetectRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	return s.detectList(b)
}

func (s *server) siteSummary(in *input) (*call, error) {
	var b api.SiteSummaryRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	switch {
	case b.Action == api.ActionFleet:
		return s.fleet(b)
	case b.Action != api.ActionSiteSummary:
		return nil, api.ErrInvalidAction
	case b.SiteID == "":
		return nil, api.MissingField("site_id")
	}
	return &call{action: b.Action, target: target{customerID: b.CustomerID, siteID: &b.SiteID}, run: func(ctx context.Context, g granted) (any, error) {
		sum, err := s.Summaries.SiteSummary(ctx, g.scope, b.SiteID)
		return api.SiteSummaryResponse{Success: true, Summary: sum, SiteSummary: sum}, err
	}}, nil
}

// fleet lists the day of all sites in reach.
func (s *server) fleet(b api.SiteSummaryRequest) (*call, error) {
	page, err := pageOf(b.Page)
	if err != nil {
		return nil, err
	}
	return &call{action: b.Action, target: target{customerID: b.CustomerID}, run: func(ctx context.Context, g granted) (any, error) {
		list, next, err := s.Summaries.Fleet(ctx, g.scope, api.ListQuery{CustomerID: b.CustomerID, Page: page})
		return api.FleetResponse{Success: true, Sites: there(list), Count: len(list), NextCursor: next}, err
	}}, nil
}

func (s *server) activities(in *input) (*call, error) {
	var b api.ActivitiesRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	if b.Limit == 0 {
		b.Limit = api.MaxLimit // a day, but for the busiest
	}
	page, err := pageOf(b.Page)
	if err != nil {
		return nil, err
	}
	return &call{action: b.Action, target: target{customerID: b.CustomerID, siteID: &b.SiteID}, run: func(ctx context.Context, g granted) (any, error) {
		list, next, err := s.Findings.Activities(ctx, g.scope, api.ListQuery{CustomerID: b.CustomerID, SiteID: b.SiteID, Page: page})
		return api.ActivitiesResponse{Success: true, Activities: there(list), Count: len(list), NextCursor: next}, err
	}}, nil
}
