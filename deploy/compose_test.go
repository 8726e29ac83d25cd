package deploy

import (
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// TestCompose has the compose specification's own loader read the file, and
// holds its services to what they are promised.
func TestCompose(t *testing.T) {
	text := read(t, "deploy/compose/compose.yaml")
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  "compose",
		ConfigFiles: []types.ConfigFile{{Filename: "compose.yaml", Content: []byte(text)}},
	}, func(o *loader.Options) { o.SetProjectName("sunloop", true); o.Profiles = []string{"watch"} })
	if err != nil {
		t.Fatal(err)
	}
	if len(project.Services) != 2 {
		t.Fatalf("services %v", project.ServiceNames())
	}
	for name, s := range project.Services {
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") || s.Privileged || s.MemLimit == 0 || s.PidsLimit == 0 {
			t.Errorf("%s may more than it needs", name)
		}
		if strings.HasSuffix(s.Image, ":latest") || !strings.Contains(path.Base(s.Image), ":") {
			t.Errorf("%s: the image %s has no version", name, s.Image)
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeBind {
				read(t, relative(v.Source))
			}
		}
	}
	s := project.Services["sunloop"]
	if time.Duration(*s.StopGracePeriod) != 45*time.Second {
		t.Errorf("it has %v to end", s.StopGracePeriod)
	}
	if !slices.Contains(s.HealthCheck.Test, "health") {
		t.Errorf("its health is asked by %v", s.HealthCheck.Test)
	}
	for _, p := range s.Ports {
		if p.Target == 9464 {
			t.Error("metrics are published")
		}
	}
	if !project.Networks["watch"].Internal {
		t.Error("the network of metrics leads outside")
	}
	for _, secret := range project.Secrets {
		read(t, relative(secret.File))
	}
	if s.Build.Dockerfile == "" {
		t.Fatal("nothing is built")
	}
	read(t, s.Build.Dockerfile)
}

// relative is a path of the loaded project from the root of the tree.
func relative(p string) string {
	_, after, ok := strings.Cut(p, "/docs/")
	if ok {
		return "docs/" + after
	}
	return "deploy/compose/" + path.Base(p)
}

// TestPrometheusOfCompose scrapes the service where it listens, under the name
// that the alerts ask for.
func TestPrometheusOfCompose(t *testing.T) {
	var config struct {
		Global struct {
			ScrapeInterval     string `json:"scrape_interval"`
			EvaluationInterval string `json:"evaluation_interval"`
		} `json:"global"`
		RuleFiles     []string `json:"rule_files"`
		ScrapeConfigs []struct {
			JobName       string `json:"job_name"`
			StaticConfigs []struct {
				Targets []string `json:"targets"`
			} `json:"static_configs"`
		} `json:"scrape_configs"`
	}
	strict(t, "prometheus.yml", read(t, "deploy/compose/prometheus.yml"), &config)
	job := config.ScrapeConfigs[0]
	if !strings.Contains(read(t, "docs/alerts.yml"), `job="`+job.JobName+`"`) {
		t.Errorf("no alert asks for the job %s", job.JobName)
	}
	compose := read(t, "deploy/compose/compose.yaml")
	_, port, _ := strings.Cut(job.StaticConfigs[0].Targets[0], ":")
	if !strings.Contains(compose, "SUNLOOP_METRICS: 0.0.0.0:"+port) || !strings.Contains(compose, "docs/alerts.yml:"+config.RuleFiles[0]+":ro") {
		t.Errorf("the service is not where %+v looks for it", config)
	}
}

var instruction = regexp.MustCompile(`^([A-Z]+) (.+)$`)

// TestContainerfile holds the image to what is promised of it.
func TestContainerfile(t *testing.T) {
	text := strings.ReplaceAll(read(t, "deploy/compose/Containerfile"), "\\\n", " ")
	allowed := strings.Fields("FROM WORKDIR COPY ARG RUN USER ENV VOLUME EXPOSE HEALTHCHECK ENTRYPOINT CMD")
	var stages []string
	last := map[string]string{} // instructions of the last stage
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		m := instruction.FindStringSubmatch(line)
		if m == nil || !slices.Contains(allowed, m[1]) {
			t.Fatalf("not an instruction that is used here: %s", line)
		}
		if m[1] == "FROM" {
			stages, last = append(stages, m[2]), map[string]string{}
		}
		last[m[1]] = m[2]
	}
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))[1]
	if !slices.Equal(stages, []string{"docker.io/library/golang:" + goVersion + " AS build", "scratch"}) {
		t.Errorf("stages %q", stages)
	}
	if last["USER"] != "65532:65532" || last["RUN"] != "" || last["ARG"] != "" {
		t.Errorf("the image is %q", last)
	}
	_, probe, _ := strings.Cut(last["HEALTHCHECK"], "CMD ")
	for what, words := range map[string]string{"ENTRYPOINT": last["ENTRYPOINT"], "CMD": last["CMD"], "HEALTHCHECK": probe, "VOLUME": last["VOLUME"]} {
		var list []string // without a shell, of which the image has none
		if err := json.Unmarshal([]byte(words), &list); err != nil || len(list) == 0 {
			t.Errorf("%s wants a list in JSON, not %q", what, words)
		}
	}
}
