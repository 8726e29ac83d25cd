package telemetry

import (
	"errors"
	"fmt"
	"math"

	"app.sunloop/backend/store/block"
)

var errTail = errors.New("the tail begins before the open day")

// Check reads all telemetry of a site and reports what is wrong with it: blocks
// that cannot be read or that hold samples of other days, sums that do not
// match their block, a damaged tail. An error that prevents reading is
// returned.
func (a *Archive) Check(siteID string, r Reader, report func(error)) error {
	fault := func(err error) { report(fmt.Errorf("site %s: %w", siteID, err)) }
	site, err := siteIn(r, siteID)
	if err != nil {
		report(err)
		return nil
	}
	if site == nil {
		return nil
	}
	zone, err := a.siteZone(site)
	if err != nil {
		report(err)
		return nil
	}
	known, err := site.roster()
	if err != nil {
		report(err)
		return nil
	}
	cal := calendar{zone: zone}
	ref, months := uint32(0), map[int64]monthSums(nil)
	for c, err := range site.All(Blocks) {
		if err != nil {
			return err
		}
		if int(c.Ref) >= len(known) {
			fault(fmt.Errorf("a block of asset %d of %d", c.Ref, len(known)))
			continue
		}
		if months == nil || ref != c.Ref {
			if ref, months, err = site.months(c.Ref); err != nil {
				return err
			}
		}
		checkBlock(c, known[c.Ref], cal.at(c.Start), site.layout.open, months, fault)
	}
	if _, err := site.tailBefore(known, maxStamp); err != nil {
		fault(err)
	}
	for c, err := range site.Rows(math.MinInt64, site.layout.open) {
		if err != nil {
			return err
		}
		fault(fmt.Errorf("%w: at %d", errTail, c.Start))
		break
	}
	return nil
}

// months are the stored sums of an asset by the start of their month.
func (s *site) months(ref uint32) (uint32, map[int64]monthSums, error) {
	months := map[int64]monthSums{}
	for c, err := range s.Overlapping(Sums, []uint32{ref}, math.MinInt64, maxStamp, 0) {
		if err != nil {
			return ref, nil, err
		}
		months[c.Start] = c.Value
	}
	return ref, months, nil
}

// checkBlock holds a block against its run and its days' sums.
func checkBlock(c Cell, of asset, run run, open int64, months map[int64]monthSums, fault func(error)) {
	f, err := block.Decode(c.Value)
	if err != nil {
		fault(fmt.Errorf("asset %s: %w", of.id, err))
		return
	}
	if n := f.Len(); n == 0 || c.Start != run.start || f.Times[0] < run.start || f.Times[n-1] >= min(run.end, open) {
		fault(fmt.Errorf("asset %s: the block of %d has samples of other days", of.id, c.Start))
	}
	month := months[run.month]
	want := len(sums(f, run.days, run.end, of.step)) * daySumSize
	if len(month)%daySumSize != 0 || len(month.between(run.start, run.end)) != want {
		fault(fmt.Errorf("asset %s: the sums of %d are not of its block", of.id, c.Start))
	}
}
