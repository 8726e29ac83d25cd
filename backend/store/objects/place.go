package objects

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"app.sunloop/backend/store"
)

// parameters of a bucket's URI that gocloud.dev/blob/s3blob takes.
var parameters = []string{"accelerate", "anonymous", "disable_https", "dualstack", "endpoint", "fips", "hostname_immutable", "kmskeyid", "profile",
	"rate_limiter_capacity", "region", "request_checksum_calculation", "response_checksum_validation", "role", "s3ForcePathStyle", "ssetype", "use_path_style"}

var (
	errUser      = errors.New("it must have no user and no fragment; credentials come from the environment or the files of AWS")
	errNoPlace   = errors.New("it names no bucket or folder")
	errEndpoint  = errors.New("its endpoint is a URL without a user and a path, as in endpoint=https://s3.example.com")
	errFolderURI = errors.New("a folder is named as in file:///srv/gateway")
)

// parseURI reads s3://bucket/folder?parameters or file:///folder. Its errors do
// not repeat credentials in a URI.
func parseURI(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("it is not a URL")
	case u.User != nil || u.Fragment != "":
		return nil, errUser
	case u.Scheme == "s3":
		err = checkParameters(u.RawQuery)
		if err == nil && u.Host == "" {
			err = errNoPlace
		}
	case u.Scheme == "file":
		switch {
		case u.Host != "" && u.Host != "localhost" || !strings.HasPrefix(u.Path, "/"):
			err = errFolderURI
		case u.RawQuery != "":
			err = errors.New("a folder takes no parameters")
		case path.Clean(u.Path) == "/":
			err = errNoPlace
		}
	default:
		err = errors.New("unknown scheme; must be s3:// or file://")
	}
	if err != nil {
		return nil, err
	}
	return u, nil
}

func checkParameters(query string) error {
	all, err := url.ParseQuery(query)
	if err != nil {
		return errors.New("invalid parameters; example: ?region=eu-central-1&endpoint=https://s3.example.com")
	}
	for name, values := range all {
		if !slices.Contains(parameters, name) {
			return fmt.Errorf("unknown parameter %q; credentials come from the environment or the files of AWS", name)
		}
		if len(values) > 1 {
			return fmt.Errorf("the parameter %s is given twice", name)
		}
	}
	if text := all.Get("endpoint"); text != "" {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
			return errEndpoint
		}
	}
	return nil
}

// redactURI is a URI for an error: without what may be a secret.
func redactURI(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return "a place"
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// Open opens the objects of a place: s3://bucket/folder?parameters (see
// [OpenBucket]), file:///folder, or the path of a folder. disk is for a folder
// only (see [OpenFolder]). The bucket's own error messages go to log, which may
// be nil; returned errors are safe to show to clients.
func Open(ctx context.Context, place string, disk *store.Disk, log *slog.Logger) (*Store, error) {
	folder, isFolder, err := readPlace(place)
	switch {
	case err != nil:
		return nil, err
	case isFolder:
		return OpenFolder(folder, disk)
	}
	return OpenBucket(ctx, place, log)
}

// OpenBeside is Open for a command that runs next to the process that owns the
// objects: partial files of that process are left alone.
func OpenBeside(ctx context.Context, place string) (*Store, error) {
	folder, isFolder, err := readPlace(place)
	switch {
	case err != nil:
		return nil, err
	case isFolder:
		return openFolder(folder, nil, func(string) error { return nil })
	}
	return OpenBucket(ctx, place, nil)
}

// readPlace reads a place, and returns the folder that it is, if it is one.
func readPlace(place string) (folder string, isFolder bool, err error) {
	if !strings.Contains(place, "://") {
		return place, true, nil
	}
	u, err := parseURI(place)
	switch {
	case err != nil:
		return "", false, fmt.Errorf("open objects in %s: %w", redactURI(place), err)
	case u.Scheme != "file":
		return "", false, nil
	}
	folder = filepath.FromSlash(u.Path)
	if rest := filepath.FromSlash(strings.TrimPrefix(u.Path, "/")); filepath.VolumeName(rest) != "" {
		folder = rest // file:///C:/objects
	}
	return folder, true, nil
}
