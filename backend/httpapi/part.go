package httpapi

import (
	"context"

	"app.sunloop/backend/api"
)

// BOMs are bills of materials, and the parts that they are made of.
type BOMs interface {
	GenerateBOM(ctx context.Context, scope api.Scope, r api.BOMRequest) (api.BOM, error)
	// BOM returns api.ErrBOMNotFound for an unknown id.
	BOM(ctx context.Context, scope api.Scope, bomID string) (api.BOM, error)
	// BOMs lists the newest first, without items.
	BOMs(ctx context.Context, scope api.Scope, q api.ListQuery) ([]api.BOM, string, error)
	// Parts lists the catalogue with the customer's stock, by part number.
	Parts(ctx context.Context, scope api.Scope, r api.PartsRequest) ([]api.Part, string, error)
	// AdjustStock returns api.ErrPartNotFound for an unknown part.
	AdjustStock(ctx context.Context, scope api.Scope, r api.PartsRequest) (api.Part, error)
}

func (s *server) partHandlers() {
	one := func(message string, v api.BOM, err error) (api.BOMResponse, error) {
		return api.BOMResponse{Success: true, Message: message, BOMID: v.BOMID, AssetID: v.AssetID, Items: v.Items, TotalCost: &v.TotalCost,
			TotalCostUSD: v.TotalCostUSD, Currency: v.Currency, CurrencyNote: v.CurrencyNote, BOM: &v, Count: 1}, err
	}
	generate := func(ctx context.Context, c *caller, r *api.BOMRequest) (api.BOMResponse, error) {
		v, err := s.BOMs.GenerateBOM(ctx, c.scope, *r)
		return one("Bill of materials generated", v, err)
	}
	handle(s, api.GenerateBOM, generate)
	handle(s, api.BuildBOM, generate)
	handle(s, api.ListBOMs, func(ctx context.Context, c *caller, r *api.BOMRequest) (api.BOMResponse, error) {
		q := c.ofTarget(r.CustomerID, r.SiteID, r.AssetID, r.Page)
		q.Filter.Type = r.MaintenanceType
		list, next, err := s.BOMs.BOMs(ctx, c.scope, q)
		return api.BOMResponse{Success: true, BOMs: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.GetBOM, func(ctx context.Context, c *caller, r *api.BOMRequest) (api.BOMResponse, error) {
		v, err := s.BOMs.BOM(ctx, c.scope, r.BOMID)
		return one("", v, err)
	})
	handle(s, api.ListParts, func(ctx context.Context, c *caller, r *api.PartsRequest) (api.PartsResponse, error) {
		list, next, err := s.BOMs.Parts(ctx, c.scope, *r)
		return api.PartsResponse{Success: true, Parts: nonNil(list), Count: len(list), NextCursor: next}, err
	})
	handle(s, api.AdjustStock, func(ctx context.Context, c *caller, r *api.PartsRequest) (api.PartsResponse, error) {
		p, err := s.BOMs.AdjustStock(ctx, c.scope, *r)
		return api.PartsResponse{Success: true, Message: "Stock adjusted", Part: &p, Count: 1}, err
	})
}
