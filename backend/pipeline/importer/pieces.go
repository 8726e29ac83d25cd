package importer

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/upload"
	"app.sunloop/backend/pipeline/sitedata"
	"app.sunloop/backend/store"
	"app.sunloop/engine/ingest"
	"app.sunloop/engine/ingest/format"
	"app.sunloop/engine/ingest/piece"
	"app.sunloop/engine/series"
	"app.sunloop/internal/display"
)

// maxWarnings bounds the warnings about all pieces of a file.
const maxWarnings = 200

// pieces reads a large file in pieces, so that memory does not grow with it. Its result
// is that of the first piece, with the counts of all.
type pieces struct {
	im      *Importer
	upload  upload.Upload
	options ingest.Options
	n       int // of pieces so far
	total   *ingest.Result
	units   []ingest.Asset // of all pieces that were read, each with its rated power as its one sample
}

// each calls do with the result of each piece. Pieces other than the first that have no
// value are counted as skipped rows.
func (p *pieces) each(ctx context.Context, share func(done float64), do func(r *ingest.Result) error) error {
	object, err := p.im.Objects.Open(ctx, p.upload.ObjectKey)
	if err != nil {
		return err
	}
	defer func() { _ = object.Close() }() // only read
	counted := &countingReader{r: object}
	text, err := openText(counted, p.im.MaxLargeUpload())
	if err != nil {
		return err
	}
	p.n, p.total = 0, nil
	return piece.Each(text, piece.Size, func(v piece.Piece) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.n++
		result, err := p.read(v)
		if err != nil {
			return err
		}
		share(float64(counted.n) / float64(max(p.upload.Bytes, 1)))
		if result == nil {
			return nil
		}
		p.add(result)
		return do(result)
	}, func(data []byte) (dataLine int, err error) {
		first, err := readWhole(bytes.NewReader(data), p.options)
		if err != nil {
			return 0, err
		}
		if len(p.options.Mapping.Entries) == 0 {
			p.options.Mapping = first.Mapping
		}
		if first.ValueKind != ingest.KindPower {
			p.options.EnergyKind = first.ValueKind
		}
		return first.DataLine, nil
	})
}

// read reads one piece; nil for one without a value.
func (p *pieces) read(v piece.Piece) (*ingest.Result, error) {
	result, err := readWhole(bytes.NewReader(v.Data), p.options)
	var refusal *ingest.Refusal
	if !errors.As(err, &refusal) {
		return result, err
	}
	if p.total != nil && (refusal.Kind == ingest.NoDataRows || refusal.Kind == ingest.NoPowerOrEnergy) {
		n := bytes.Count(v.Data, []byte("\n"))
		p.total.Rows.Read += n
		p.total.Rows.Skipped["no value"] += n
		p.warn(ingest.Decision{Topic: "rows", Text: display.CountOf(n, "consecutive row", "consecutive rows") + " without a usable value"})
		return nil, nil
	}
	if p.n > 1 {
		refusal.Message = fmt.Sprintf("part %d, from byte %d of the text: %s", p.n, v.Start, refusal.Message)
		refusal.Line = 0
	}
	return nil, refusal
}

// addUnits adds the units of a piece.
func (p *pieces) addUnits(r *ingest.Result) error {
	for _, a := range r.Assets {
		i := slices.IndexFunc(p.units, func(b ingest.Asset) bool { return b.Name == a.Name })
		if i < 0 {
			i, p.units = len(p.units), append(p.units, ingest.Asset{Name: a.Name})
		}
		if kW := ratedFromPeak(a.Frame); kW > ratedFromPeak(p.units[i].Frame) {
			p.units[i].Frame = series.Frame{Times: a.Frame.Times[:1]}
			p.units[i].Frame.Set(series.PowerKW, []float64{kW})
		}
	}
	return checkAssetCount(&ingest.Result{Assets: p.units})
}

// add adds the counts and warnings of a piece.
func (p *pieces) add(r *ingest.Result) {
	if p.total == nil {
		total := *r
		total.Rows.Skipped = map[string]int{}
		for why, n := range r.Rows.Skipped {
			total.Rows.Skipped[why] = n
		}
		total.Warnings = slices.Clone(r.Warnings)
		p.total = &total
		return
	}
	t := p.total
	t.Rows.Read, t.Rows.Used = t.Rows.Read+r.Rows.Read, t.Rows.Used+r.Rows.Used
	t.Rows.Stored, t.Rows.Missing = t.Rows.Stored+r.Rows.Stored, t.Rows.Missing+r.Rows.Missing
	for why, n := range r.Rows.Skipped {
		t.Rows.Skipped[why] += n
	}
	if !r.First.IsZero() && (t.First.IsZero() || r.First.Before(t.First)) {
		t.First = r.First
	}
	if r.Last.After(t.Last) {
		t.Last = r.Last
	}
	for _, w := range r.Warnings {
		p.warn(w)
	}
}

func (p *pieces) warn(w ingest.Decision) {
	if len(p.total.Warnings) < maxWarnings && !slices.Contains(p.total.Warnings, w) {
		p.total.Warnings = append(p.total.Warnings, w)
	}
}

// joinPieces reads a large file as its import did and joins its pieces: the values of
// the whole file are in memory, some 16 bytes each.
func (im *Importer) joinPieces(ctx context.Context, u upload.Upload, options ingest.Options) (*ingest.Result, error) {
	p := &pieces{im: im, upload: u, options: options}
	var names []string
	frames := map[string][]series.Frame{}
	err := p.each(ctx, func(float64) {}, func(r *ingest.Result) error {
		for _, a := range r.Assets {
			if frames[a.Name] == nil {
				names = append(names, a.Name)
			}
			frames[a.Name] = append(frames[a.Name], a.Frame)
		}
		return nil
	})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, api.Conflict("The file of upload %s is not kept any more, so that its values are not known", u.UploadID)
	case err != nil:
		return nil, fmt.Errorf("read the file of upload %s again: %w", u.UploadID, err)
	}
	p.total.Assets = nil
	for _, name := range names {
		p.total.Assets = append(p.total.Assets, ingest.Asset{Name: name, Frame: mergeAll(frames[name])})
	}
	return p.total, nil
}

// mergeAll joins frames, later ones over earlier ones, each value about log n times.
func mergeAll(frames []series.Frame) series.Frame {
	if len(frames) == 1 {
		return frames[0]
	}
	half := len(frames) / 2
	return series.Merge(mergeAll(frames[:half]), mergeAll(frames[half:]))
}

// importPieces imports a large file. First all of it is read and what it replaces is
// kept, so that a file that is refused stores nothing; then its units are added in one
// transaction, and it is read again and stored piece by piece.
func (im *Importer) importPieces(ctx context.Context, u upload.Upload) error {
	req := u.Request.Of(u.CustomerID, u.SiteID)
	options, err := im.readOptions(ctx, req)
	if err != nil {
		return err
	}
	before, known, err := im.siteAndUnits(ctx, req)
	if err != nil {
		return err
	}
	p := &pieces{im: im, upload: u, options: options}
	replaced, doubts, err := im.checkPieces(ctx, p, before, known)
	if err != nil {
		return err
	}
	im.Progress.SetUpload(u.UploadID, sitedata.StageStoring, 0)
	site, _, words, err := im.resolveAssets(ctx, u, &ingest.Result{Assets: p.units})
	if err != nil {
		return err
	}
	var units []api.Asset
	p.options = options
	err = p.each(ctx, func(done float64) { im.Progress.SetUpload(u.UploadID, sitedata.StageStoring, done) }, func(r *ingest.Result) error {
		is, some, said, err := im.resolveAssets(ctx, u, r)
		if err != nil {
			return err
		}
		site = is
		for _, unit := range some {
			if !slices.ContainsFunc(units, func(a api.Asset) bool { return a.AssetID == unit.AssetID }) {
				units = append(units, unit)
			}
		}
		for _, w := range said {
			if len(words) < maxWarnings && !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
		if err := im.storeFrames(ctx, "", site, r.Assets, some); err != nil {
			return err
		}
		return im.joinPiece(ctx, u, site, r, some, p.n)
	})
	if err != nil {
		return err
	}
	p.total.Warnings = append(p.total.Warnings, doubts...)
	words = append(words, "file: read in "+display.CountOf(p.n, "piece", "pieces"))
	if replaced > 0 {
		words = append(words, fmt.Sprintf("rows: the values of %s replaced stored values", display.CountOf(replaced, "row", "rows")))
	}
	return im.recordImport(ctx, u, site, units, p.total, words)
}

// checkPieces reads the whole file, and keeps what it replaces unless an attempt before
// has done so.
func (im *Importer) checkPieces(ctx context.Context, p *pieces, before api.Site, known []api.Asset) (replaced int, doubts []ingest.Decision, err error) {
	u := p.upload
	done := false
	err = im.Records.View(ctx, func(tx store.Tx) error {
		done, err = im.Domain.Uploads.HasReplaced(tx, u.SiteID, u.UploadID)
		return err
	})
	if err != nil {
		return 0, nil, err
	}
	newest, err := im.newestStamps(ctx, u.SiteID)
	if err != nil {
		return 0, nil, err
	}
	options := p.options
	err = p.each(ctx, func(done float64) { im.Progress.SetUpload(u.UploadID, sitedata.StageValidating, 0.5+0.5*done) }, func(r *ingest.Result) error {
		if p.n == 1 && u.Kind == api.UploadTrain {
			if doubts, err = im.doubts(ctx, u.Request.Of(u.CustomerID, u.SiteID), before, known, options, r); err != nil {
				return err
			}
		}
		if err := p.addUnits(r); err != nil || done {
			return err
		}
		for _, a := range r.Assets {
			unit := findAsset(known, a.Name)
			if unit == nil || a.Frame.Len() == 0 {
				continue
			}
			if last, ok := newest[unit.AssetID]; !ok || a.Frame.Times[0] > last {
				continue
			}
			c, err := im.changesOf(ctx, u.SiteID, unit.AssetID, a.Frame)
			if err != nil {
				return err
			}
			replaced += c.rows
			if err := im.keepChanges(ctx, u, unit.AssetID, c, p.n*partsOfPiece); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil || done {
		return u.RowsReplaced, doubts, err
	}
	err = im.Records.Update(ctx, func(tx store.Tx) error {
		if err := im.Domain.Uploads.AddReplaced(tx, upload.Replaced{SiteID: u.SiteID, UploadID: u.UploadID, Kind: upload.ReplacedDone}); err != nil {
			return err
		}
		_, err := im.Domain.Uploads.SetStatus(tx, u.UploadID, api.UploadProcessing, func(u *upload.Upload) { u.RowsReplaced = replaced })
		return err
	})
	return replaced, doubts, err
}

// partsOfPiece is the number of parts of replaced values that a piece may have of a unit.
const partsOfPiece = 64

// countingReader counts what was read.
type countingReader struct {
	r io.Reader
	n int64
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// openText opens the text of a large file, which may be compressed, up to most bytes.
// Other formats cannot be read in pieces and are refused.
func openText(r io.Reader, most int64) (io.Reader, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	start, err := in.Peek(1 << 10)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read the file: %w", err)
	}
	has := func(magic string) bool { return strings.HasPrefix(string(start), magic) }
	var text io.Reader = in
	switch {
	case has("\x1f\x8b"):
		text, err = gzip.NewReader(in)
	case has("BZh"):
		text = bzip2.NewReader(in)
	case has("\x28\xb5\x2f\xfd"):
		var d *zstd.Decoder
		if d, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(64<<20)); err == nil {
			text = d.IOReadCloser()
		}
	case format.Packed(start) || bytes.IndexByte(start, 0) >= 0:
		return nil, &ingest.Refusal{Kind: ingest.TooLarge, Message: fmt.Sprintf("a file of this format may have %s: extract it, or export it as CSV, which may have %s", display.Bytes(api.MaxUploadBytes), display.Bytes(most))}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, &ingest.Refusal{Kind: ingest.NotCSV, Message: "the compressed file is damaged: " + err.Error()}
	}
	return &boundedText{r: text, left: most, most: most}, nil
}

// boundedText refuses a text that is longer than a limit, as a compressed file may be,
// or which is damaged.
type boundedText struct {
	r          io.Reader
	left, most int64
}

func (b *boundedText) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.r.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, &ingest.Refusal{Kind: ingest.TooLarge, Message: fmt.Sprintf("the text of the file is larger than %s: split it", display.Bytes(b.most))}
	}
	if err != nil && isCorrupt(err) {
		return n, &ingest.Refusal{Kind: ingest.NotCSV, Message: "the compressed file is damaged: " + err.Error()}
	}
	return n, err
}

// isCorrupt reports whether an error is one of compressed data.
func isCorrupt(err error) bool {
	var structural bzip2.StructuralError
	return errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader) || errors.As(err, &structural) || errors.Is(err, zstd.ErrMagicMismatch) ||
		errors.Is(err, zstd.ErrCRCMismatch) || errors.Is(err, io.ErrUnexpectedEOF)
}
