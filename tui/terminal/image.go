package terminal

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"slices"
	"strconv"
	"time"
)

// Graphics is how a terminal takes images.
type Graphics uint8

// The protocols. NoGraphics is also a terminal that did not report one.
const (
	NoGraphics Graphics = iota
	// Kitty is the graphics protocol of Kitty, which Ghostty, WezTerm and Konsole have too.
	Kitty
	// Sixel is the protocol of the VT340, which foot, xterm, mlterm, tmux and others have.
	Sixel
)

// PixelSize is the size of a cell in pixels.
type PixelSize struct{ W, H int }

// usualCell is the size of a cell where the terminal does not report one: Kitty scales images to
// cells.
var usualCell = PixelSize{8, 16}

// placed is an image over a rectangle of cells. The image is never changed.
type placed struct {
	rect   Rect
	pixels *image.Paletted
}

// Image puts an image over the whole region, scaled to it by the terminal, and reports whether it
// did: a region that is cut off takes none. The cells below must be drawn too; text in them is
// drawn over the image. The caller must not change the image afterwards.
func (r Region) Image(pixels *image.Paletted) bool {
	if r.rect.Empty() || r.clip != r.rect {
		return false
	}
	r.grid.images = append(r.grid.images, placed{r.rect, pixels})
	return true
}

// shownImage is an image that the terminal has.
type shownImage struct {
	placed
	id int // of the Kitty protocol
}

const (
	// imageRate bounds the mean of the bytes a second that are spent on images in which only the
	// newest values changed.
	imageRate = 40
	// firstImage is the first of the ids of images. It is unlikely that another program of the
	// same terminal uses those after it.
	firstImage = 0x53_4c_00_00
	// kittyChunk is the largest part of an image in one sequence of the Kitty protocol.
	kittyChunk = 4096
	// deleteImages deletes all images of the Kitty protocol.
	deleteImages = "\x1b_Ga=d,d=A,q=2\x1b\\"
)

// SetGraphics switches images: those that are shown are replaced or removed by the next frame.
func (o *Output) SetGraphics(g Graphics) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.graphics != g {
		o.dropped = o.dropped || o.graphics == Kitty && len(o.images) > 0
		o.graphics, o.full = g, true
	}
}

// imageChanges divides the images of the next frame into those to send and those to delete. With
// all, whatever is shown is lost. An image in which little changed is held back until its turn,
// unless the user caused the frame.
func (o *Output) imageChanges(all bool) (send []placed, remove []shownImage) {
	next := o.nextImages
	if o.graphics == NoGraphics {
		next = nil
	}
	kept := o.images[:0:0]
	for _, image := range next {
		i := slices.IndexFunc(o.images, func(s shownImage) bool { return s.rect == image.rect })
		switch {
		case all || i < 0 || o.graphics == Sixel && o.overwritten(image.rect):
			send = append(send, image)
		case o.images[i].pixels == image.pixels || same(o.images[i].pixels, image.pixels), !o.caused && o.early(image, o.images[i]):
			kept = append(kept, o.images[i])
		default:
			send = append(send, image)
		}
	}
	for _, s := range o.images {
		if !slices.ContainsFunc(kept, func(k shownImage) bool { return k.rect == s.rect }) {
			remove = append(remove, s)
		}
	}
	o.images = kept
	return send, remove
}

// early reports whether an image differs little from the one that is shown, and it is not its turn yet.
func (o *Output) early(image placed, shown shownImage) bool {
	return o.options.Now != nil && o.options.Now().Before(o.imageTurn) && differing(image.pixels, shown.pixels)*16 <= image.pixels.Rect.Dx()
}

// overwritten reports whether a cell below an image changes.
func (o *Output) overwritten(r Rect) bool {
	for y := r.Y; y < r.Y+r.H; y++ {
		for x := r.X; x < r.X+r.W; x++ {
			if i := y*o.w2 + x; i < len(o.next) && i < len(o.shown) && !sameCell(&o.next[i], &o.shown[i]) {
				return true
			}
		}
	}
	return false
}

// same reports whether two images look the same.
func same(a, b *image.Paletted) bool {
	return a.Rect == b.Rect && bytes.Equal(a.Pix, b.Pix) && slices.Equal(a.Palette, b.Palette)
}

// differing returns how many columns of two images differ; all of them if their sizes do.
func differing(a, b *image.Paletted) int {
	if a.Rect != b.Rect {
		return a.Rect.Dx()
	}
	n := 0
	for x := range a.Rect.Dx() {
		for y := range a.Rect.Dy() {
			if a.Palette[a.Pix[y*a.Stride+x]] != b.Palette[b.Pix[y*b.Stride+x]] {
				n++
				break
			}
		}
	}
	return n
}

// erase prepares the removal of images: the cells below those of the sixel protocol are painted again.
func (o *Output) erase(remove []shownImage) {
	if o.graphics == Kitty {
		return
	}
	for _, s := range remove {
		for y := s.rect.Y; y < min(s.rect.Y+s.rect.H, o.h1); y++ {
			for x := s.rect.X; x < min(s.rect.X+s.rect.W, o.w1); x++ {
				o.shown[y*o.w1+x] = Cell{Text: "\x00", Width: 1} // no drawn cell is equal to it
			}
		}
	}
}

// paintImages appends new images, then the deletion of old ones, so that there is no moment without.
func (o *Output) paintImages(send []placed, remove []shownImage) {
	p := &o.painter
	before := len(p.buf)
	for _, image := range send {
		o.imageID++
		shown := shownImage{image, firstImage + o.imageID}
		p.x, p.y = -1, -1
		p.moveTo(o.next[image.rect.Y*o.w2:(image.rect.Y+1)*o.w2], image.rect.X, image.rect.Y)
		if o.graphics == Sixel {
			p.buf = appendSixel(p.buf, image.pixels)
			p.x, p.y = -1, -1
			o.textOver(image.rect)
		} else {
			p.buf = appendKitty(p.buf, shown)
		}
		p.x, p.y = -1, -1
		o.images = append(o.images, shown)
	}
	if n := len(p.buf) - before; n > 0 && o.options.Now != nil {
		o.imageTurn = o.options.Now().Add(time.Duration(n) * time.Second / imageRate)
	}
	if o.graphics != Kitty {
		return
	}
	for _, s := range remove {
		p.buf = append(p.buf, "\x1b_Ga=d,d=I,q=2,i="...)
		p.buf = strconv.AppendInt(p.buf, int64(s.id), 10)
		p.buf = append(p.buf, "\x1b\\"...)
	}
}

// textOver paints the text in the cells of a rectangle again, over the image that covered them.
func (o *Output) textOver(r Rect) {
	for y := r.Y; y < r.Y+r.H; y++ {
		row := o.next[y*o.w2 : (y+1)*o.w2]
		for x := r.X; x < r.X+r.W; x++ {
			if c := &row[x]; c.Width > 0 && !invisible(c) {
				o.painter.moveTo(row, x, y)
				o.painter.cell(c, o.w2)
			}
		}
	}
}

// appendKitty appends an image of the Kitty protocol at the cursor: a PNG in parts, scaled to the
// cells, below their text, without a response and without moving the cursor.
func appendKitty(buf []byte, s shownImage) []byte {
	var b bytes.Buffer
	// A bytes.Buffer takes everything, and a paletted image has no other error.
	_ = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, s.pixels)
	data := base64.StdEncoding.EncodeToString(b.Bytes())
	for first := true; first || data != ""; first = false {
		part := data[:min(len(data), kittyChunk)]
		data = data[len(part):]
		buf = append(buf, "\x1b_G"...)
		if first {
			buf = append(buf, "a=T,f=100,q=2,C=1,z=-1,i="...)
			buf = strconv.AppendInt(buf, int64(s.id), 10)
			buf = append(buf, ",c="...)
			buf = strconv.AppendInt(buf, int64(s.rect.W), 10)
			buf = append(buf, ",r="...)
			buf = strconv.AppendInt(buf, int64(s.rect.H), 10)
			buf = append(buf, ',')
		}
		buf = append(buf, "m=0;"...)
		if data != "" {
			buf[len(buf)-2] = '1'
		}
		buf = append(append(buf, part...), "\x1b\\"...)
	}
	return buf
}

// appendSixel appends an image of the sixel protocol: the colours, then bands of six rows, in
// each band the pixels of each of its colours.
func appendSixel(buf []byte, pixels *image.Paletted) []byte {
	w, h := pixels.Rect.Dx(), pixels.Rect.Dy()
	number := func(n int) { buf = strconv.AppendInt(buf, int64(n), 10) }
	buf = append(buf, "\x1bP0;1;0q\"1;1;"...)
	number(w)
	buf = append(buf, ';')
	number(h)
	for i, c := range pixels.Palette {
		r, g, b, _ := c.RGBA()
		buf = append(buf, '#')
		number(i)
		buf = append(buf, ";2;"...)
		for k, part := range [...]uint32{r, g, b} {
			if k > 0 {
				buf = append(buf, ';')
			}
			number((int(part)*100 + 0x7fff) / 0xffff)
		}
	}
	for top := 0; top < h; top += 6 {
		var used [256]bool
		for y := top; y < min(top+6, h); y++ {
			for _, c := range pixels.Pix[y*pixels.Stride : y*pixels.Stride+w] {
				used[c] = true
			}
		}
		first := true
		for c := range pixels.Palette {
			if !used[c] {
				continue
			}
			if !first {
				buf = append(buf, '$')
			}
			first = false
			buf = append(buf, '#')
			number(c)
			buf = appendBand(buf, pixels, top, uint8(c)) //nolint:gosec // a palette has at most 256
		}
		buf = append(buf, '-')
	}
	return append(buf, "\x1b\\"...)
}

// appendBand appends the pixels of one colour in six rows, repeated ones counted. What follows
// the last pixel is omitted.
func appendBand(buf []byte, pixels *image.Paletted, top int, color uint8) []byte {
	w, h := pixels.Rect.Dx(), min(top+6, pixels.Rect.Dy())
	run, last := 0, byte(0)
	flush := func() {
		switch {
		case run > 3:
			buf = append(buf, '!')
			buf = strconv.AppendInt(buf, int64(run), 10)
			buf = append(buf, '?'+last)
		default:
			for range run {
				buf = append(buf, '?'+last)
			}
		}
		run = 0
	}
	for x := range w {
		bits := byte(0)
		for y := top; y < h; y++ {
			if pixels.Pix[y*pixels.Stride+x] == color {
				bits |= 1 << (y - top)
			}
		}
		if bits != last {
			flush()
			last = bits
		}
		run++
	}
	if last != 0 {
		flush()
	}
	return buf
}
