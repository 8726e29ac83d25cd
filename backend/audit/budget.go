package audit

import "time"

// The budget of bounded records: some at once, then one a minute.
const (
	burst      = 60
	oneEach    = time.Minute
	maxBudgets = 4096
)

// budgets are those of the actors; the empty one is that of all strangers. In
// memory: a restart forgives.
type budgets map[string]*budget

type budget struct {
	left    int
	filled  time.Time // up to which left was counted
	omitted int
}

// take takes one record of the actor's budget if it is bounded, and answers
// how many were omitted since the last that was kept.
func (b *budgets) take(actor string, bounded bool, now time.Time) (ok bool, omitted int) {
	if *b == nil {
		*b = budgets{}
	}
	e := (*b)[actor]
	if e == nil {
		if !bounded {
			return true, 0
		}
		if len(*b) >= maxBudgets {
			b.prune(now)
		}
		e = &budget{left: burst, filled: now}
		(*b)[actor] = e
	}
	if bounded {
		e.fill(now)
		if e.left == 0 {
			e.omitted++
			return false, 0
		}
		e.left--
	}
	omitted, e.omitted = e.omitted, 0
	return true, omitted
}

func (e *budget) fill(now time.Time) {
	n := int(now.Sub(e.filled) / oneEach)
	if n <= 0 {
		return
	}
	e.left = min(burst, e.left+n)
	e.filled = e.filled.Add(time.Duration(n) * oneEach)
	if e.left == burst {
		e.filled = now
	}
}

// prune forgets the budgets that are full, and when none is, all but the
// strangers'.
func (b *budgets) prune(now time.Time) {
	for actor, e := range *b {
		if e.fill(now); e.left == burst {
			delete(*b, actor)
		}
	}
	if len(*b) >= maxBudgets {
		strangers := (*b)[""]
		clear(*b)
		if strangers != nil {
			(*b)[""] = strangers
		}
	}
}
