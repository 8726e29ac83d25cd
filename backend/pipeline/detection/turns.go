package detection

import (
	"context"
	"sync"
)

// turns lets one run of the detector at a time evaluate a site. Otherwise a run that
// read the telemetry before new data arrived could record its results after those of
// a run that read them. It holds within a process: the results of a run that another
// replica overtakes are corrected by the next run.
type turns struct {
	mu   sync.Mutex
	held map[string]chan struct{} // by site; closed when the run has ended
}

// wait waits for the site's turn; done ends it.
func (t *turns) wait(ctx context.Context, siteID string) (done func(), err error) {
	for {
		t.mu.Lock()
		other, busy := t.held[siteID]
		if !busy {
			own := make(chan struct{})
			if t.held == nil {
				t.held = map[string]chan struct{}{}
			}
			t.held[siteID] = own
			t.mu.Unlock()
			return func() {
				t.mu.Lock()
				delete(t.held, siteID)
				t.mu.Unlock()
				close(own)
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-other:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
