package forward

import (
	"os"
	"path/filepath"
	"testing"
)

// TestStatusAfterRestart: a gateway that is started again without a link shows as waiting
// what is not stored at the service yet; without the note of what is, all that it has.
func TestStatusAfterRestart(t *testing.T) {
	p := newPlant(t)
	for range 20 {
		p.commit(false)
	}
	p.settle()
	cut := true
	p.service.judge = func(string) error {
		if cut {
			return errLink
		}
		return nil
	}
	for range 3 {
		p.commit(false)
	}
	before := p.forward.Status()
	p.kill()
	p.forward.step(t.Context())
	s := p.forward.Status()
	if s.State != StateWaiting || s.Batches != 3 || s.Acknowledged != 20 || s.LastSequence != 23 || s.Points == 0 || s.Points != before.Points {
		t.Errorf("after a restart without a link: %+v; before: %+v", s, before)
	}
	_ = p.spool.Close()
	if err := os.Remove(filepath.Join(p.dir, "spool", "stored")); err != nil {
		t.Fatal(err)
	}
	p.start()
	if s := p.forward.Status(); s.Batches != 23 || s.Acknowledged != 0 {
		t.Errorf("without the note: %+v", s)
	}
	cut = false
	p.settle()
	p.check()
	p.kill()
	if s := p.forward.Status(); s.Batches != 0 || s.Acknowledged != 23 {
		t.Errorf("after all was sent: %+v", s)
	}
}
