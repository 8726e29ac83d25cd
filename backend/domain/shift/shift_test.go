package shift_test

import (
	"errors"
	"testing"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/domaintest"
)

// A hand-over is signed, names the former one, and is read once by the next person, who
// sees only what came after.
func TestHandOver(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	ana, ben := domaintest.Acme, domaintest.Acme
	ana.Actor, ana.ActorID, ben.Actor, ben.ActorID = "ana", "usr_1", "ben", "usr_2"
	add := func(who api.Scope, kind, text string) api.ShiftEntry {
		t.Helper()
		d.Clock = d.Clock.Add(time.Hour)
		e, err := d.Shifts.Add(t.Context(), who, site.SiteID, kind, text)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	list := func(who api.Scope) ([]api.ShiftEntry, api.Time) {
		t.Helper()
		entries, seen, _, err := d.Shifts.List(t.Context(), who, site.SiteID, api.Page{Limit: 50})
		if err != nil {
			t.Fatal(err)
		}
		return entries, seen
	}
	first := add(ana, api.ShiftHandOver, " All quiet ")
	note := add(ana, api.ShiftNote, "Gate code changed")
	second := add(ana, api.ShiftHandOver, "INV-3 is down")
	if first.SignedBy != "ana" || first.Text != "All quiet" || !first.Since.IsZero() || !second.Since.Equal(first.At.Time) {
		t.Errorf("hand-overs: %+v, %+v", first, second)
	}
	if entries, seen := list(ben); len(entries) != 3 || entries[0].EntryID != second.EntryID || !seen.IsZero() {
		t.Errorf("ben has seen until %v: %+v", seen, entries)
	}
	// Until the note: the second hand-over stays unread.
	seen, _, err := d.Shifts.Seen(t.Context(), ben, site.SiteID, "", note.At)
	if err != nil || !seen.Equal(note.At.Time) {
		t.Fatalf("seen until %v, %v", seen, err)
	}
	entries, seen := list(ben)
	if len(entries[0].ReadBy) != 0 || len(entries[1].ReadBy) != 1 || entries[2].ReadBy[0].Name != "ben" || !seen.Equal(note.At.Time) {
		t.Errorf("after the note was seen: %+v", entries)
	}
	// What the signer reads, and what is read twice, changes nothing; an earlier time neither.
	for _, who := range []api.Scope{ana, ben, ben} {
		if _, named, err := d.Shifts.Seen(t.Context(), who, site.SiteID, second.EntryID, first.At); err != nil || named == nil || named.EntryID != second.EntryID {
			t.Fatalf("%s reads %+v, %v", who.Actor, named, err)
		}
	}
	if entries, seen = list(ben); len(entries[0].ReadBy) != 1 || !seen.Equal(note.At.Time) {
		t.Errorf("read twice: %+v until %v", entries[0], seen)
	}
	if _, seen = list(ana); !seen.Equal(first.At.Time) {
		t.Errorf("ana has seen until %v", seen)
	}
}

func TestShiftErrors(t *testing.T) {
	d := domaintest.New(t)
	site := d.AddSite("South", "acme")
	other := api.Scope{Customers: []string{"other"}, Sites: []string{api.Every}, Actor: "eve"}
	if _, err := d.Shifts.Add(t.Context(), other, site.SiteID, api.ShiftNote, "x"); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("a note of another customer: %v", err)
	}
	if _, _, _, err := d.Shifts.List(t.Context(), other, site.SiteID, api.Page{Limit: 1}); !errors.Is(err, api.ErrForbidden) {
		t.Errorf("the log of another customer: %v", err)
	}
	if _, _, err := d.Shifts.Seen(t.Context(), domaintest.Acme, site.SiteID, "shf_none", api.Time{}); !errors.Is(err, api.ErrShiftEntryNotFound) {
		t.Errorf("an unknown entry: %v", err)
	}
	var refusal *api.Error
	if _, _, err := d.Shifts.Seen(t.Context(), domaintest.Acme, site.SiteID, "", api.At(d.Clock.Add(time.Hour))); !errors.As(err, &refusal) || refusal.Status != 400 {
		t.Errorf("seen in the future: %v", err)
	}
}
