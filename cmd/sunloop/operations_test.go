package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

var (
	shBlock    = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")
	systemPath = regexp.MustCompile(`(^|[\s=:'">])/(etc|usr|var)/`)
)

// operated are the documents with commands for operators, in the order in which
// one machine could run them.
var operated = []string{"deployment.md", "operations.md", "replicas.md", "runbook.md"}

// The database and the bucket of the examples.
const (
	exampleDatabase = "postgres://sunloop@db.example.org/sunloop"
	exampleBucket   = "s3://sunloop-example/production?region=eu-central-1"
)

// operations FILE writes the commands of the documents into FILE, in their
// order, and the units that they install into deploy: with $WORK/root as the
// machine's root, free ports, and the database and the bucket of DB and BUCKET.
// Without these it omits the blocks that name them. Once it is enabled, the
// service runs before each block.
func operations(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: operations FILE")
	}
	words := []string{}
	for _, port := range []string{"8080", "9464"} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		ts.Check(err)
		_, free, _ := net.SplitHostPort(l.Addr().String())
		ts.Check(l.Close())
		words = append(words, "127.0.0.1:"+port, "127.0.0.1:"+free)
	}
	if ts.Getenv("DB") != "" {
		words = append(words, exampleDatabase, ts.Getenv("DB"), exampleBucket, ts.Getenv("BUCKET"))
	}
	ports := strings.NewReplacer(words...)
	here := func(text string) string {
		return systemPath.ReplaceAllString(ports.Replace(text), "${1}"+ts.MkAbs("root")+"/$2/")
	}
	files, err := filepath.Glob(filepath.Join(ts.Getenv("DEPLOY"), "systemd", "*"))
	ts.Check(err)
	ts.Check(os.MkdirAll(ts.MkAbs("deploy/systemd"), 0o755))
	for _, f := range files {
		b, err := os.ReadFile(f)
		ts.Check(err)
		ts.Check(os.WriteFile(ts.MkAbs(filepath.Join("deploy/systemd", filepath.Base(f))), []byte(here(string(b))), 0o644))
	}
	script := "set -eu\n"
	for _, name := range operated {
		doc, err := os.ReadFile(filepath.Join(ts.Getenv("DEPLOY"), "../docs", name))
		ts.Check(err)
		for _, at := range shBlock.FindAllSubmatchIndex(doc, -1) {
			if block := doc[at[2]:at[3]]; bytes.Contains(block, []byte(exampleDatabase)) && ts.Getenv("DB") == "" {
				continue
			}
			line := 1 + strings.Count(string(doc[:at[0]]), "\n")
			script += fmt.Sprintf("echo '== docs/%s:%d'\n[ ! -e $WORK/enabled ] || systemctl start sunloop\n%s", name, line, here(string(doc[at[2]:at[3]])))
		}
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(script+"systemctl stop sunloop\n"), 0o600))
}
