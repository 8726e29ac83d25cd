// Package screen holds what is drawn over or in place of the panes: sign-in, the
// palette, help, the choosers, forms, and the further screens.
package screen

import (
	"app.sunloop/themes"
	"app.sunloop/tui/terminal"
	"app.sunloop/tui/view"
)

// frame draws a dialog's frame over r and returns its inside.
func frame(r terminal.Region, v view.Context, title string) terminal.Region {
	ground := v.Palette.Style(themes.Panel)
	r.Clear(ground)
	inside := r.Box(terminal.LinesFor(v.ASCII), v.Palette.Style(themes.BorderFocus))
	if w, _ := r.Size(); w > 4 && title != "" {
		r.PutIn(2, 0, w-4, " "+title+" ", v.Palette.Style(themes.Title), v.ASCII)
	}
	w, h := inside.Size()
	return inside.Region(terminal.Rect{X: 1, W: max(w-2, 0), H: h})
}

// Draw draws a dialog in the middle of the screen.
func Draw(d view.Dialog, whole terminal.Region, v view.Context) {
	sw, sh := whole.Size()
	w, h := d.Size(sw, sh)
	w, h = min(w+4, sw), min(h+2, sh)
	area := terminal.Rect{X: (sw - w) / 2, Y: (sh - h) / 2, W: w, H: h}
	v.Focused = true
	d.Draw(frame(whole.Region(area), v, d.Title()), v)
}
