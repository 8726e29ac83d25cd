package httpapi

import (
	"context"
	"fmt"

	"app.sunloop/backend/api"
)

// BOMs are bills of materials, and the parts that they are made of.
type BOMs interface {
	GenerateBOM(ctx context.Context, scope api.Scope, r api.BOMRequest) (api.BOM, error)
	// BOM answers api.ErrBOMNotFound for an unknown id.
	BOM(ctx context.Context, scope api.Scope, bomID string) (api.BOM, error)
	// BOMs lists the newest first, without items.
	BOMs(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.BOM, string, error)
	// Parts lists the catalogue with the customer's stock, by part number.
	Parts(ctx context.Context, scope api.Scope, r api.PartsRequest) ([]api.Part, string, error)
	// AdjustStock answers api.ErrPartNotFound for an unknown part.
	AdjustStock(ctx context.Context, scope api.Scope, r api.PartsRequest) (api.Part, error)
}

func (s *server) bom(in *input) (*call, error) {
	var b api.BOMRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	c := &call{action: b.Action, target: target{customerID: b.CustomerID, siteID: &b.SiteID}, fingerprint: in.digest()}
	one := func(message string, v api.BOM, err error) (any, error) {
		return api.BOMResponse{Success: true, Message: message, BOMID: v.BOMID, AssetID: v.AssetID, Items: v.Items, TotalCost: &v.TotalCost,
			TotalCostUSD: v.TotalCostUSD, Currency: v.Currency, CurrencyNote: v.CurrencyNote, BOM: &v, Count: 1}, err
	}
	switch b.Action {
	case api.ActionGenerate, api.ActionBuild:
		if b.AssetID == "" {
			return nil, api.MissingField("asset_id")
		}
		if b.CustomerID == "" && b.MaintenanceType == "" {
			return nil, api.MissingField("maintenance_type")
		}
		if err := optionalWord("maintenance_type", &b.MaintenanceType, api.MaintenanceTypes()); err != nil {
			return nil, err
		}
		c.target.asset = &api.AssetRef{AssetID: b.AssetID, SiteID: b.SiteID, CustomerID: b.CustomerID}
		c.run = func(ctx context.Context, g granted) (any, error) {
			v, err := s.BOMs.GenerateBOM(ctx, g.scope, b)
			return one("Bill of materials generated", v, err)
		}
	case api.ActionList:
		t, q, err := worklist(b.AssetID, b.SiteID, b.CustomerID, b.Page)
		if err != nil {
			return nil, err
		}
		c.target = t
		c.run = func(ctx context.Context, g granted) (any, error) {
			list, next, err := s.BOMs.BOMs(ctx, g.scope, g.about(q))
			return api.BOMResponse{Success: true, BOMs: there(list), Count: len(list), NextCursor: next}, err
		}
	case api.ActionGet:
		if b.BOMID == "" {
			return nil, api.MissingField("bom_id")
		}
		c.run = func(ctx context.Context, g granted) (any, error) {
			v, err := s.BOMs.BOM(ctx, g.scope, b.BOMID)
			return one("", v, err)
		}
	default:
		return nil, api.ErrInvalidAction
	}
	return c, nil
}

func (s *server) parts(in *input) (*call, error) {
	var b api.PartsRequest
	if err := in.json(&b); err != nil {
		return nil, err
	}
	c := &call{action: b.Action, target: target{customerID: b.CustomerID, siteID: &b.SiteID}, fingerprint: in.digest()}
	if b.Action != api.ActionList && b.Action != api.ActionAdjust {
		return nil, api.ErrInvalidAction
	}
	if b.CustomerID == "" && b.SiteID == "" {
		return nil, api.MissingField("customer_id")
	}
	if b.Action == api.ActionList {
		page, err := pageOf(b.Page)
		if err != nil {
			return nil, err
		}
		b.Page = page
		c.run = func(ctx context.Context, g granted) (any, error) {
			list, next, err := s.BOMs.Parts(ctx, g.scope, b)
			return api.PartsResponse{Success: true, Parts: there(list), Count: len(list), NextCursor: next}, err
		}
		return c, nil
	}
	if err := checkAdjustment(b); err != nil {
		return nil, err
	}
	c.run = func(ctx context.Context, g granted) (any, error) {
		p, err := s.BOMs.AdjustStock(ctx, g.scope, b)
		return api.PartsResponse{Success: true, Message: "Stock adjusted", Part: &p, Count: 1}, err
	}
	return c, nil
}

func checkAdjustment(b api.PartsRequest) error {
	switch {
	case b.PartNumber == "":
		return api.MissingField("part_number")
	case b.OnHand == nil && b.Change == nil && b.Minimum == nil:
		return api.MissingField("on_hand")
	case b.OnHand != nil && b.Change != nil:
		return api.InvalidField("change", "it goes with no on_hand")
	case blank(b.Reason):
		return api.MissingField("reason")
	}
	for _, n := range []struct {
		name  string
		value *int
		least int
	}{{"on_hand", b.OnHand, 0}, {"change", b.Change, -api.MaxStock}, {"minimum", b.Minimum, 0}} {
		if n.value != nil && (*n.value < n.least || *n.value > api.MaxStock) {
			return api.InvalidField(n.name, fmt.Sprintf("a whole number from %d to %d", n.least, api.MaxStock))
		}
	}
	return nil
}
