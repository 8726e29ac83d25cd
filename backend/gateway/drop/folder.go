package drop

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"syscall"
)

// Folder is a folder of the machine.
type Folder struct {
	Config
	Path       string
	Subfolders bool
}

// NewFolder returns the source of a folder, which need not exist yet.
func NewFolder(f Folder, o Options) *Source {
	return newSource(KindFolder, f.Config, &folder{Folder: f, options: o, settler: settler{after: f.Settle}}, o)
}

// folder is a place. It opens files through an [os.Root], so that no link leads out.
type folder struct {
	Folder
	options Options
	settler settler
	root    *os.Root // of the current scan
}

func (p *folder) where() string { return p.Path }

func (p *folder) end() {
	if p.root != nil {
		_ = p.root.Close() // nothing was written through it
		p.root = nil
	}
}

func (p *folder) list(ctx context.Context) (files []file, more bool, err error) {
	if p.root, err = os.OpenRoot(p.Path); err != nil {
		return nil, false, fmt.Errorf("open folder: %w", err)
	}
	found := listing{config: &p.Config}
	var walk func(folder string, depth int) error
	walk = func(in string, depth int) error {
		if depth > maxDepth {
			return fmt.Errorf("%s: folders are more than %d deep", in, maxDepth)
		}
		dir, err := p.root.Open(filepath.FromSlash(in))
		if err != nil {
			return fmt.Errorf("open folder: %w", err)
		}
		defer dir.Close()
		var folders []string
		for {
			entries, err := dir.ReadDir(1000)
			for _, e := range entries {
				name := path.Join(in, e.Name())
				switch {
				case e.IsDir():
					if p.Subfolders && found.enters(in, e.Name()) {
						folders = append(folders, name)
					}
					continue
				case !e.Type().IsRegular(): // links too: they are not followed
					continue
				}
				info, err := e.Info()
				if errors.Is(err, fs.ErrNotExist) {
					continue
				}
				if err != nil {
					return fmt.Errorf("read folder: %w", err)
				}
				if err := found.add(name, info); err != nil {
					return err
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return fmt.Errorf("read folder: %w", err)
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
		for _, f := range folders {
			if err := walk(f, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	if err := walk(".", 0); err != nil {
		return nil, false, err
	}
	return found.settled(&p.settler, p.options.Now()), false, found.unusable.err()
}

// check returns an error if a file is not as it was listed.
func (f *file) check(info fs.FileInfo, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return errGone
	case err != nil:
		return err
	case !info.Mode().IsRegular() || markOf(info.Size(), info.ModTime()) != f.mark:
		return errChanged
	}
	return nil
}

func (p *folder) open(_ context.Context, f file) (io.ReadCloser, error) {
	name := filepath.FromSlash(f.name)
	if err := f.check(p.root.Lstat(name)); err != nil {
		return nil, err
	}
	r, err := p.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // without waiting, if it is a pipe by now
	if err != nil {
		return nil, fmt.Errorf("open file: %w", err)
	}
	if err := f.check(r.Stat()); err != nil {
		_ = r.Close()
		return nil, err
	}
	return &atEnd{r, func() error { return f.check(r.Stat()) }}, nil
}

func (p *folder) move(_ context.Context, f file, hash string, failed bool) error {
	from := filepath.FromSlash(f.name)
	if err := f.check(p.root.Lstat(from)); err != nil {
		return err
	}
	to := filepath.FromSlash(movedTo(f.name, hash, failed, func(name string) bool {
		_, err := p.root.Lstat(filepath.FromSlash(name))
		return err == nil
	}))
	if err := p.root.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return fmt.Errorf("move file: %w", err)
	}
	if err := p.root.Rename(from, to); err != nil {
		return fmt.Errorf("move file: %w", err)
	}
	// On stable storage before the delivery is finished: a file that is back then was put there.
	return errors.Join(p.sync(filepath.Dir(to)), p.sync(filepath.Dir(from)))
}

// sync puts the entries of a folder on stable storage, where the system can.
func (p *folder) sync(in string) error {
	d, err := p.root.Open(in)
	if err != nil {
		return fmt.Errorf("move file: %w", err)
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) { // folders of some systems
		err = nil
	}
	return errors.Join(err, d.Close())
}

func (p *folder) delivered(context.Context) error { return nil }
