package analysis

import (
	"strings"
	"testing"

	"app.sunloop/tui/internal/picture"
	"app.sunloop/tui/internal/stage"
	"app.sunloop/tui/keymap"
	"app.sunloop/tui/view"
	"app.sunloop/tui/view/widget"
)

// A challenger is evaluated and promoted, an archived model is gone back to,
// and what is not possible says why.
func TestModelMovesOffered(t *testing.T) {
	v, b := bookView(t, false), NewModels()
	drawBook(v, b, 118, 32)
	for model, want := range map[string]map[keymap.Action]string{
		"sunloop-blend 1.2.0": {keymap.PromoteModel: "", keymap.EvaluateModel: "", keymap.RollbackModel: "is challenger: only an archived model can be restored"},
		"sunloop-blend 1.1.0": {keymap.PromoteModel: "is production: only a challenger", keymap.EvaluateModel: "only a challenger", keymap.RollbackModel: "is production"},
		"sunloop-blend 1.0.0": {keymap.PromoteModel: "is archived: only a challenger", keymap.RollbackModel: "", keymap.CancelTraining: ""},
	} {
		b.SelectRow(model)
		drawBook(v, b, 118, 32)
		for a, why := range want {
			if got := b.Disabled(a, v); why == "" && got != "" || !strings.Contains(got, why) {
				t.Errorf("%s, %s: %q, want %q", model, a, got, why)
			}
		}
	}
	stage.Do(b, v, keymap.Right)
	drawBook(v, b, 118, 32)
	if why := b.Disabled(keymap.PromoteModel, v); why != "select a model of the registry" {
		t.Errorf("in the history: %q", why)
	}
	v.Site.Uploads.Data = nil
	if why := b.Disabled(keymap.CancelTraining, v); why != "no training is running" {
		t.Errorf("cancel: %q", why)
	}
}

// A promotion requires a reason of some length; against the evaluation it
// is not forced unless that is chosen.
func TestPromotionForm(t *testing.T) {
	v, b := bookView(t, false), NewModels()
	drawBook(v, b, 118, 32)
	open, ok := stage.Do(b, v, keymap.PromoteModel).(view.OpenDialog)
	if !ok {
		t.Fatal("no dialog")
	}
	d := open.Dialog.(*widget.StepForm)
	picture.Golden(t, "models-promote", stage.DialogText(v, d, 80, 24))
	if r := stage.Press(d, "better", "enter"); r != nil || d.WrongAt != 0 || !strings.Contains(d.Wrong, "at least 10 characters") {
		t.Errorf("a short reason led to %v: %q", r, d.Wrong)
	}
	if d.Value("force") != "no" {
		t.Errorf("forced by default")
	}
	if r := stage.Press(d, " in three weeks", "enter"); r == nil || !d.Busy {
		t.Errorf("a reason of %q was refused: %s", d.Value("reason"), d.Wrong)
	}
	picture.Golden(t, "models-cancel", stage.DialogText(v, NewCancelTraining(*trainingOf(v)), 80, 24))
	if r := stage.Press(NewCancelTraining(*trainingOf(v)), "enter"); r != view.Request(view.Close{}) {
		t.Error("the marked answer is not the harmless one")
	}
}
