package feed

import (
	"context"
	"errors"
	"fmt"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/client"
	"app.sunloop/engine/simulate"
)

// Operators acts for a fleet's operators after faults are found, through the API: it
// counts the stock, plans inspections, creates work orders for the worst findings, and
// completes the repair that it began. A completed order ends the fault in the fleet, also
// one that a person at the console has completed.
type Operators struct {
	Client *client.Client
	Fleet  *simulate.Fleet
	Clock  *Clock
	Look   time.Duration // by the wall, between two looks for findings

	// LeaveAt is the site whose worst finding is left as it is, so that its alarm
	// is unacknowledged and without an order; empty: none.
	LeaveAt string
}

// crewOrders is the number of work orders of a site's worst findings: the first
// is in progress, the others are pending.
const crewOrders = 2

// technician is who begins the first repair.
const technician = "Lena Park"

// repairTime is how long the repair takes by the plants' clock.
const repairTime = 6 * time.Hour

// repairLooks is how many looks for findings there are for one look for completed orders.
const repairLooks = 4

// Run works through the sites as their findings come in, and follows the orders until ctx
// ends. A site that has work orders already is left as it is.
func (c *Operators) Run(ctx context.Context) error {
	ticker := time.NewTicker(c.Look)
	defer ticker.Stop()
	repaired := map[string]bool{}
	left := c.Fleet.Sites
	for n := 0; ; n++ {
		if n%repairLooks == 0 {
			for _, s := range c.Fleet.Sites {
				if err := c.followOrders(ctx, s, repaired); err != nil && ctx.Err() == nil {
					return fmt.Errorf("follow the orders of site %s: %w", s.ID, err)
				}
			}
		}
		var later []*simulate.Site
		for _, s := range left {
			done, err := c.visit(ctx, s)
			if err != nil {
				return fmt.Errorf("work at site %s: %w", s.ID, err)
			}
			if !done {
				later = append(later, s)
			}
		}
		left = later
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}

// followOrders completes the repair that the operators began when the time has ended, and
// ends the faults of the orders that are completed. repaired has those that were ended.
func (c *Operators) followOrders(ctx context.Context, s *simulate.Site, repaired map[string]bool) error {
	list, err := c.Client.Orders(ctx, api.ListQuery{CustomerID: customerOf(s), SiteID: s.ID, Page: api.Page{Limit: api.MaxLimit}}, api.OrderRequest{})
	if err != nil {
		return err
	}
	for _, o := range list.Orders {
		if o.Status == api.OrderInProgress && o.AssignedTechnician == technician && c.Clock.Now().Sub(o.Clocks.StartedAt.Time) >= repairTime {
			done, err := c.Client.MoveOrder(ctx, api.OrderRequest{Action: api.ActionComplete, OrderID: o.OrderID, CompletionNotes: "Replaced, tested under load"})
			if err != nil {
				return err
			}
			o = *done.Order
		}
		if o.Status == api.OrderCompleted && o.FaultFamily != "" && !repaired[o.OrderID] {
			repaired[o.OrderID] = true
			s.Repair(o.AssetID, o.FaultFamily, o.CompletedAt.Time)
		}
	}
	return nil
}

// visit plans the work of a site; done is false while nothing is found there.
func (c *Operators) visit(ctx context.Context, s *simulate.Site) (done bool, err error) {
	of := api.ListQuery{CustomerID: customerOf(s), SiteID: s.ID, Page: api.Page{Limit: api.MaxLimit}}
	found, err := c.Client.Findings(ctx, of)
	if errors.Is(err, api.ErrNoSummaries) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var worst []api.Finding
	for _, f := range found.MLEnhancedActivities {
		if f.Active && len(f.AssetIDs) == 0 && f.SeverityLabel != api.SeverityNormal {
			worst = append(worst, f)
		}
	}
	if s.ID == c.LeaveAt && len(worst) > 0 {
		worst = worst[1:]
	}
	worst = worst[:min(len(worst), crewOrders)]
	there, err := c.Client.Orders(ctx, of, api.OrderRequest{})
	if err != nil || there.Count > 0 || len(worst) == 0 {
		return there != nil && there.Count > 0, err
	}
	if err := c.inspections(ctx, s); err != nil {
		return false, err
	}
	for i, f := range worst {
		if err := c.repair(ctx, s, f, i == 0); err != nil {
			return false, err
		}
	}
	return true, nil
}

// inspections plans the yearly inspection of the first units.
func (c *Operators) inspections(ctx context.Context, s *simulate.Site) error {
	for i, u := range s.Units[:min(len(s.Units), 3)] {
		_, err := c.Client.CreateSchedule(ctx, api.ScheduleRequest{AssetID: u.AssetID, SiteID: s.ID, CustomerID: customerOf(s), MaintenanceType: api.MaintenancePreventive,
			ScheduledDate: api.At(c.startOfShift(s, 7+14*i)), Priority: api.PriorityLow, Reason: "Yearly inspection: torque, filters, thermography", EveryMonths: 12})
		if err != nil {
			return err
		}
	}
	return nil
}

// repair creates the work order of a finding, with its schedule and its bill of
// materials, and reserves the parts in stock.
func (c *Operators) repair(ctx context.Context, s *simulate.Site, f api.Finding, begin bool) error {
	priority := map[string]string{api.SeverityCritical: api.PriorityHigh, api.SeverityWarning: api.PriorityMedium}[f.SeverityLabel]
	plan, err := c.Client.CreateSchedule(ctx, api.ScheduleRequest{AssetID: f.AssetID, SiteID: s.ID, CustomerID: customerOf(s), MaintenanceType: api.MaintenanceCorrective,
		ScheduledDate: api.At(c.startOfShift(s, 1)), Priority: priority, Reason: f.Summary})
	if err != nil {
		return err
	}
	bill, err := c.Client.GenerateBOM(ctx, api.BOMRequest{AssetID: f.AssetID, SiteID: s.ID, CustomerID: customerOf(s), ScheduleID: plan.ScheduleID, FaultFamily: f.FaultFamily})
	if err != nil {
		return err
	}
	for _, i := range bill.Items {
		n := i.Quantity + 1 // one more than the job takes
		if _, err := c.Client.AdjustStock(ctx, api.PartsRequest{SiteID: s.ID, PartNumber: i.PartNumber, OnHand: &n, Reason: "Counted"}); err != nil {
			return err
		}
	}
	order := api.OrderRequest{AssetID: f.AssetID, SiteID: s.ID, CustomerID: customerOf(s), ScheduleID: plan.ScheduleID, BOMID: bill.BOMID, PlannedStart: api.At(c.startOfShift(s, 1))}
	if begin {
		order.AssignedTechnician, order.PlannedStart = technician, api.At(c.Clock.Now())
	}
	made, err := c.Client.CreateOrder(ctx, order)
	if err != nil || !begin {
		return err
	}
	_, err = c.Client.MoveOrder(ctx, api.OrderRequest{Action: api.ActionStart, OrderID: made.OrderID, Note: "On the way"})
	return err
}

// startOfShift is 08:00 of the site so many days from the plants' now.
func (c *Operators) startOfShift(s *simulate.Site, days int) time.Time {
	y, m, d := c.Clock.Now().In(s.Zone).Date()
	return time.Date(y, m, d+days, 8, 0, 0, 0, s.Zone)
}
