package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// decoders are the calls that turn bytes from outside into values.
var decoders = []string{
	"json.Unmarshal", "json.NewDecoder", "toml.Unmarshal", "toml.NewDecoder", "csv.NewReader", "xml.Unmarshal",
	"url.Parse", "url.ParseQuery", "url.ParseRequestURI", "time.Parse", "time.ParseInLocation", "time.ParseDuration",
	"netip.ParseAddr", "netip.ParsePrefix", "netip.ParseAddrPort", "net.ParseIP", "mail.ParseAddress", "mime.ParseMediaType",
	"ssh.ParseAuthorizedKey", "ssh.ParsePublicKey", "ssh.ParsePrivateKey", "jwt.ParseWithClaims", "x509.ParseCertificate", "pem.Decode",
	"zstd.NewReader", "gzip.NewReader", "binary.Uvarint", "binary.Varint", "binary.Read", "ansi.DecodeSequence",
}

// fuzzedBy says for packages that decode and have no target of their own which
// target of another package reaches their decoding, or why none is needed.
var fuzzedBy = map[string]string{
	"backend/domain/record":       "by backend/httpapi FuzzBody",
	"backend/domain/site":         "by backend/httpapi FuzzBody",
	"backend/domain/subscription": "reads bodies that it wrote itself; requests by backend/httpapi FuzzBody",
	"backend/domain/notification": "converts values of the program; requests by backend/httpapi FuzzBody",
	"backend/domain/kpi":          "reads figures that it stored itself",
	"backend/domain/availability": "reads the installation date of a stored asset, and ignores what is no date",
	"backend/admission":           "reads the addresses that the kernel gives connections",
	"backend/health":              "reads the URL that the operator configured",
	"backend/limit":               "reads records that it wrote itself, to cut what is beyond a limit",
	"backend/servetest":           "for tests alone",
	"backend/openapi":             "reads comments that are embedded",
	"backend/admin/socket":        "reads one line of the process that holds the folder, whose user is checked",
	"backend/tracing":             "reads the URL that the operator configured",
	"backend/stream":              "reads entries of the log that it wrote itself",
	"backend/partner":             "reads documents that it wrote itself",
	"backend/pipeline/importer":   "opens compressed files, whose text engine/ingest FuzzParse and FuzzUnpack read",
	"backend/gateway":             "reads durations of the operator's sources file",
	"backend/gateway/forward":     "reads the list of refused files that it wrote itself",
	"backend/gateway/modbus":      "reads the addresses that the operator configured; responses by engine/sunspec FuzzWalk",
	"backend/gateway/mqtt":        "reads the address that the operator configured; messages by engine/dialect FuzzHandle",
	"backend/pipeline/sitedata":   "reads payloads and records that the service wrote",
	"backend/pipeline/gapfill":    "reads tables of filled values that the service wrote",
	"backend/store/postgres":      "reads jobs that a migration wrote",
	"backend/store/riverjobs":     "reads what it wrote itself",
	"backend/store/s3test":        "for tests alone",
	"backend/store/storetest":     "for tests alone",
	"engine/diagnose":             "reads its calibration, which is embedded",
	"deploy/release":              "reads a date of its command line",
	"engine/realdata":             "for tests alone",
	"tui/internal/plant":          "for tests alone",
	"tui/view/admin":              "reads dates that the person at the console types",
	"tui/view/analysis":           "reads ids of rows that it wrote itself",
	"tui/view/app":                "reads the address of an enrolment, which the service made",
	"tui/view/notification":       "reads the start date of a rotation, as the service checked it",
	"tui/view/plant":              "reads the path that the person at the console drops",
	"tui/view/workflow":           "reads days of the service, and shows no mark for what is no day",
	"tui/state":                   "reads names of queries that it wrote itself",
}

// TestDecodersAreFuzzed asserts that each package which decodes bytes from
// outside has a fuzz target, or that it is said which other reaches it.
func TestDecodersAreFuzzed(t *testing.T) {
	root := filepath.Join("..", "..")
	decodes := map[string]string{} // package → the first call
	targets := map[string]bool{}   // "package Target"
	has := map[string]bool{}
	set := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "bin" || strings.HasPrefix(d.Name(), ".") && d.Name() != "..") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		file, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		folder, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		folder = filepath.ToSlash(folder)
		if strings.HasSuffix(path, "_test.go") {
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && strings.HasPrefix(f.Name.Name, "Fuzz") {
					targets[folder+" "+f.Name.Name], has[folder] = true, true
				}
			}
			return nil
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call := decoderOf(n); call != "" && decodes[folder] == "" {
				decodes[folder] = call
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(targets) < 40 || decodes["backend/httpapi"] == "" {
		t.Fatalf("%d targets, decoders of %v: the tree was not read", len(targets), decodes)
	}
	for folder, call := range decodes {
		by, excused := fuzzedBy[folder]
		switch {
		case has[folder] && excused:
			t.Errorf("%s has a fuzz target; remove it from the table", folder)
		case !has[folder] && !excused:
			t.Errorf("%s calls %s and has no fuzz target: write one, or say in fuzzedBy which reaches it", folder, call)
		case excused && strings.HasPrefix(by, "by ") && !targets[strings.TrimPrefix(by, "by ")]:
			t.Errorf("%s: there is no target %q", folder, by)
		}
	}
	for folder := range fuzzedBy {
		if decodes[folder] == "" {
			t.Errorf("%s decodes nothing; take it out of the table", folder)
		}
	}
}

// decoderOf is the call of [decoders] that a node is, empty for others.
func decoderOf(n ast.Node) string {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return ""
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	from, ok := selector.X.(*ast.Ident)
	if !ok {
		return ""
	}
	for _, d := range decoders {
		if d == from.Name+"."+selector.Sel.Name {
			return d
		}
	}
	return ""
}
