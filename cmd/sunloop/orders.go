package main

import (
	"context"
	"fmt"

	"app.sunloop/backend/api"
	"app.sunloop/tui/plain"
)

// OrdersCmd prints the work orders.
type OrdersCmd struct {
	FactFlags
	ListFlags
	WorkFlags
	State      string `enum:"open,pending,in_progress,on_hold,completed,cancelled,all" default:"open" help:"Type: ${enum} (default ${default})."`
	Priority   string `enum:",high,medium,low" default:"" help:"Only work orders of this priority: high, medium, low."`
	Technician string `help:"Only work orders of this technician; unassigned for those without one."`
	Late       bool   `help:"Only late work orders: not acknowledged, started or restored in time."`
}

// Run prints the orders; exit status 1 when an open one is late.
func (c *OrdersCmd) Run(ctx context.Context, g *Globals, std streams) error {
	if err := c.check(); err != nil {
		return err
	}
	return c.reportWith(ctx, g, std, c.WorkFlags, func(ctx context.Context, f *facts) (bool, error) {
		narrow := api.OrderRequest{Technician: c.Technician}
		switch c.State {
		case "open":
			narrow.OpenOnly = true
		case "all":
		default:
			narrow.Status = c.State
		}
		all, err := f.Orders(ctx, narrow)
		if err != nil {
			return false, untold(err)
		}
		return list[plain.Sited[api.Order]]{
			all: all,
			wanted: func(v plain.Sited[api.Order]) bool {
				o := v.Fact
				return c.matches(o.FaultFamily, o.AssetID, nil) && (c.Priority == "" || o.Priority == c.Priority) && (!c.Late || plain.OrderLate(o))
			},
			critical: func(v plain.Sited[api.Order]) bool { return plain.OrderLate(v.Fact) },
			table:    plain.Orders,
			sum: func(wanted []plain.Sited[api.Order]) string {
				open, late := 0, 0
				for _, o := range wanted {
					if plain.OrderOpen(o.Fact) {
						open++
					}
					if plain.OrderLate(o.Fact) {
						late++
					}
				}
				return fmt.Sprintf("%s, %d open, %d of them late", count(len(wanted), "order", "orders"), open, late)
			},
			json: func(listed []plain.Sited[api.Order]) any {
				return api.OrderResponse{Success: true, Orders: plain.Facts(listed), Count: len(listed)}
			},
		}.print(f, c.Limit)
	})
}
