package deploy

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/types"

	"app.sunloop/backend/api"
)

// TestReplicasOfCompose holds the replicas to one another, and to the database,
// the bucket and the proxy that they share.
func TestReplicasOfCompose(t *testing.T) {
	p := project(t, "replicas.yaml")
	var replicas []types.ServiceConfig
	folders := map[string]bool{}
	for _, s := range p.Services {
		if s.Environment["SUNLOOP_STORE"] == nil {
			continue
		}
		replicas = append(replicas, s)
		ends(t, s, time.Minute)
		if len(s.Volumes) != 1 || folders[s.Volumes[0].Source] {
			t.Errorf("%s has no separate folder: %v", s.Name, s.Volumes)
		}
		folders[s.Volumes[0].Source] = true
		if len(s.Ports) > 0 {
			t.Errorf("%s is reachable without the proxy", s.Name)
		}
		for name, want := range map[string]string{"SUNLOOP_STORE": "@postgres:5432/", "SUNLOOP_OBJECTS": "endpoint=http://s3:7070&"} {
			if !strings.Contains(*s.Environment[name], want) {
				t.Errorf("%s: %s is %s", s.Name, name, *s.Environment[name])
			}
		}
		// What is secret is in files, each of which is given.
		for _, name := range []string{"SUNLOOP_KEY_FILE", "PGPASSFILE", "AWS_SHARED_CREDENTIALS_FILE", "SUNLOOP_CONFIG"} {
			file, ok := strings.CutPrefix(*s.Environment[name], "/run/secrets/")
			if !ok || !slices.ContainsFunc(s.Secrets, func(given types.ServiceSecretConfig) bool { return given.Source == file }) {
				t.Errorf("%s: %s is %s, which is not given", s.Name, name, *s.Environment[name])
			}
		}
	}
	if len(replicas) != 3 {
		t.Fatalf("%d replicas", len(replicas))
	}
	for _, network := range []string{"proxied", "data", "watch"} {
		if !p.Networks[network].Internal {
			t.Errorf("the network %s leads outside", network)
		}
	}
	if trusted := *replicas[0].Environment["SUNLOOP_TRUSTED_PROXY"]; p.Networks["proxied"].Ipam.Config[0].Subnet != trusted {
		t.Errorf("%s is believed, which is not where the proxy is", trusted)
	}
	page := read(t, "docs/replicas.md")
	for name := range p.Secrets {
		if !strings.Contains(page, name) {
			t.Errorf("docs/replicas.md does not say what the secret %s is", name)
		}
	}
	proxied(t, replicas)
}

var word = regexp.MustCompile(`[^\s{}]+`)

// proxied holds the proxy's file to the replicas: each is asked whether it is
// ready, and none is preferred for a caller.
func proxied(t *testing.T, replicas []types.ServiceConfig) {
	t.Helper()
	said := map[string][]string{}
	depth := 0
	for line := range strings.Lines(read(t, "deploy/compose/Caddyfile")) {
		line, _, _ = strings.Cut(strings.TrimSpace(line), "#")
		line = strings.ReplaceAll(line, "{$SUNLOOP_TLS_NAME}", "name")
		depth += strings.Count(line, "{") - strings.Count(line, "}")
		if words := word.FindAllString(line, -1); len(words) > 0 {
			said[words[0]] = words[1:]
		}
	}
	if depth != 0 {
		t.Errorf("braces of the proxy's file: %d more are opened than closed", depth)
	}
	var to []string
	for _, r := range replicas {
		_, port, _ := strings.Cut(*r.Environment["SUNLOOP_LISTEN"], ":")
		to = append(to, r.Name+":"+port)
	}
	slices.Sort(to)
	if !slices.Equal(said["reverse_proxy"], to) {
		t.Errorf("the proxy sends to %v, and there are %v", said["reverse_proxy"], to)
	}
	if !slices.Equal(said["health_uri"], []string{api.PathReady}) || !slices.Equal(said["lb_policy"], []string{"least_conn"}) {
		t.Errorf("the proxy asks %v and chooses by %v", said["health_uri"], said["lb_policy"])
	}
	known := strings.Fields("name request_body max_size reverse_proxy lb_policy lb_try_duration health_uri health_interval health_timeout transport response_header_timeout")
	for directive := range said {
		if !slices.Contains(known, directive) {
			t.Errorf("not a directive that is used here: %s", directive)
		}
	}
}

// TestReplicaOfSystemd compares the drop-in with its settings: each secret is a
// credential that the service receives.
func TestReplicaOfSystemd(t *testing.T) {
	conf, env := read(t, "deploy/systemd/replica.conf"), read(t, "deploy/systemd/replica.env")
	for _, name := range []string{"sunloop.key", "pgpass", "aws"} {
		if !strings.Contains(conf, "LoadCredential="+name+":/etc/sunloop/"+name+"\n") || !strings.Contains(conf, "_FILE=%d/"+name) && !strings.Contains(conf, "PGPASSFILE=%d/"+name) {
			t.Errorf("the credential %s is not given or not named", name)
		}
		if !strings.Contains(read(t, "docs/replicas.md"), "/etc/sunloop/"+name) {
			t.Errorf("docs/replicas.md does not say how %s is made", name)
		}
	}
	for _, name := range []string{`SUNLOOP_STORE="postgres://`, `SUNLOOP_OBJECTS="s3://`} {
		if !strings.Contains(env, "\n"+name) {
			t.Errorf("replica.env does not set %s", name)
		}
	}
	if regexp.MustCompile(`//[^/\s]+:[^/@\s]+@`).MatchString(env) {
		t.Error("replica.env holds a password")
	}
}
