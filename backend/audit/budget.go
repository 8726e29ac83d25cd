package audit

import (
	"time"

	"app.sunloop/backend/admission"
)

// limit is how many bounded records there may be: some at once, then one each
// so often.
type limit struct {
	burst int
	each  time.Duration
}

// The limits of authenticated callers, of unauthenticated clients of one
// network, and of all unauthenticated clients together: a flood from one
// network must not hide the attempts of others.
var (
	limitOfActor           = limit{60, time.Minute}
	limitOfNetwork         = limit{20, 10 * time.Minute}
	limitOfUnauthenticated = limit{600, time.Minute}
)

const maxBudgets = 4096

// budgets are those of the actors and networks; the empty one is that of all
// unauthenticated clients. They are kept in memory: a restart resets them.
type budgets map[string]*budget

type budget struct {
	limit
	left    int
	filled  time.Time // up to which left was counted
	omitted int
}

// take takes one record of an actor, or of an unauthenticated client at the
// address if the actor is empty. It returns how many were omitted since the
// last that was kept.
func (b *budgets) take(actor, address string, bounded bool, now time.Time) (ok bool, omitted int) {
	if !bounded {
		if e := (*b)[actor]; e != nil {
			omitted, e.omitted = e.omitted, 0
		}
		return true, omitted
	}
	if actor != "" {
		return b.of(actor, limitOfActor, now).take()
	}
	own, all := b.of("@"+admission.Host(address), limitOfNetwork, now), b.of("", limitOfUnauthenticated, now)
	if all.left == 0 && own.left > 0 {
		return all.take()
	}
	if ok, omitted = own.take(); ok {
		_, others := all.take()
		omitted += others
	}
	return ok, omitted
}

func (e *budget) take() (ok bool, omitted int) {
	if e.left == 0 {
		e.omitted++
		return false, 0
	}
	e.left--
	omitted, e.omitted = e.omitted, 0
	return true, omitted
}

// of is the budget of a name, filled up to now.
func (b *budgets) of(name string, l limit, now time.Time) *budget {
	if *b == nil {
		*b = budgets{}
	}
	e := (*b)[name]
	if e == nil {
		if len(*b) >= maxBudgets {
			b.prune(now)
		}
		e = &budget{limit: l, left: l.burst, filled: now}
		(*b)[name] = e
	}
	e.fill(now)
	return e
}

func (e *budget) fill(now time.Time) {
	if now.Before(e.filled) { // the clock was put back: the used budget refills from now on
		e.filled = now
	}
	n := int(now.Sub(e.filled) / e.each)
	if n <= 0 {
		return
	}
	e.left = min(e.burst, e.left+n)
	e.filled = e.filled.Add(time.Duration(n) * e.each)
}

// prune deletes full budgets, and if only a few are full all budgets except the
// common one of unauthenticated callers, which bounds the disk space on its
// own.
func (b *budgets) prune(now time.Time) {
	for name, e := range *b {
		if e.fill(now); e.left == e.burst {
			delete(*b, name)
		}
	}
	if len(*b) > maxBudgets*3/4 {
		unauthenticated := (*b)[""]
		clear(*b)
		if unauthenticated != nil {
			(*b)[""] = unauthenticated
		}
	}
}
