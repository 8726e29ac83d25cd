package format

import (
	"errors"
	"fmt"
	"io"

	"app.sunloop/internal/display"
)

// Budget bounds the expanded size of one file. A Budget is used for one file.
type Budget struct {
	text     int64 // bytes that tables may still have
	expanded int64 // bytes that decompression may still yield
	files    int   // files of archives and sheets of workbooks that may still be opened

	maxText, maxExpanded int64
}

// Formats with tags around each cell are larger than their tables by this factor at most.
const markupFactor = 16

// maxFiles is the number of files that an archive, and of sheets that a workbook may have.
const maxFiles = 2000

// NewBudget returns the budget of a file whose tables may have up to maxText bytes of text.
func NewBudget(maxText int64) *Budget {
	return &Budget{text: maxText, expanded: maxText * markupFactor, files: maxFiles, maxText: maxText, maxExpanded: maxText * markupFactor}
}

// Reason is why a file is refused.
type Reason uint8

// The reasons of an [Error].
const (
	Unsupported Reason = iota // of a kind that is not read
	Damaged                   // of a kind that is read, but incomplete or inconsistent
	TooLarge                  // it expands to more than the budget
	Empty                     // no table has a row
)

// Error is a file that cannot be read. The message is one sentence that names the format.
type Error struct {
	Reason  Reason
	Message string
}

func (e *Error) Error() string { return e.Message }

func fail(reason Reason, format string, args ...any) *Error {
	return &Error{Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// spend takes n bytes of table text.
func (b *Budget) spend(n int) error {
	if b.text -= int64(n); b.text < 0 {
		return fail(TooLarge, "the tables of the file have more than %s of text; split the file", size(b.maxText))
	}
	return nil
}

// open takes one file of an archive or sheet of a workbook.
func (b *Budget) open() error {
	if b.files--; b.files < 0 {
		return fail(TooLarge, "the file contains more than %d files or sheets; split it", maxFiles)
	}
	return nil
}

// reader counts what is read from r as expanded bytes, and fails beyond the budget.
func (b *Budget) reader(r io.Reader) io.Reader { return &counted{r, b} }

type counted struct {
	r io.Reader
	b *Budget
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if c.b.expanded -= int64(n); c.b.expanded < 0 {
		return 0, fail(TooLarge, "the compressed file expands to more than %s; split the file, or export less of it", size(c.b.maxExpanded))
	}
	return n, err
}

// expand reads a compressed stream into memory. what names it in errors.
func (b *Budget) expand(r io.Reader, what string) ([]byte, error) {
	limit := b.text
	data, err := io.ReadAll(b.reader(io.LimitReader(r, limit+1)))
	switch {
	case err != nil:
		return nil, damaged(err, what)
	case int64(len(data)) > limit:
		return nil, fail(TooLarge, "%s expands to more than %s; split the file, or export less of it", what, size(b.maxText))
	}
	return data, nil
}

// damaged returns err if it is an [Error], else an error that the file or part called what is damaged or incomplete.
func damaged(err error, what string) error {
	if own, ok := errors.AsType[*Error](err); ok {
		return own
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fail(Damaged, "%s is incomplete; export or copy it again", what)
	}
	return fail(Damaged, "%s is damaged (%v); export or copy it again", what, err)
}

func size(n int64) string {
	if n >= 1<<20 {
		return display.Bytes(n)
	}
	return fmt.Sprintf("%d bytes", n)
}
