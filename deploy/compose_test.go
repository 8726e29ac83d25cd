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

// project is a file as the compose specification's own loader reads it, its
// services held to what all are promised.
func project(t *testing.T, file string) *types.Project {
	t.Helper()
	p, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  "compose",
		ConfigFiles: []types.ConfigFile{{Filename: file, Content: []byte(read(t, "deploy/compose/"+file))}},
	}, func(o *loader.Options) { o.SetProjectName("sunloop", true); o.Profiles = []string{"watch"} })
	if err != nil {
		t.Fatal(err)
	}
	for name, s := range p.Services {
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
		for _, p := range s.Ports {
			if p.Target == 9464 {
				t.Errorf("%s: metrics are published", name)
			}
		}
		if s.Build != nil {
			read(t, s.Build.Dockerfile)
		}
	}
	if !p.Networks["watch"].Internal {
		t.Error("the network of metrics leads outside")
	}
	return p
}

// TestCompose holds the one service and what watches it to their promises.
func TestCompose(t *testing.T) {
	p := project(t, "compose.yaml")
	if len(p.Services) != 2 {
		t.Fatalf("services %v", p.ServiceNames())
	}
	ends(t, p.Services["sunloop"], 45*time.Second)
	for _, secret := range p.Secrets {
		read(t, relative(secret.File))
	}
}

// ends holds a service of Sunloop to the time it has to end and to the question
// after its health.
func ends(t *testing.T, s types.ServiceConfig, in time.Duration) {
	t.Helper()
	if time.Duration(*s.StopGracePeriod) != in {
		t.Errorf("%s has %v to end", s.Name, s.StopGracePeriod)
	}
	if !slices.Contains(s.HealthCheck.Test, "health") {
		t.Errorf("the health of %s is asked by %v", s.Name, s.HealthCheck.Test)
	}
	if s.Build == nil || s.Build.Dockerfile == "" {
		t.Errorf("%s is not built", s.Name)
	}
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
	for file, of := range map[string]string{"prometheus.yml": "compose.yaml", "prometheus-replicas.yml": "replicas.yaml"} {
		strict(t, file, read(t, "deploy/compose/"+file), &config)
		job := config.ScrapeConfigs[0]
		if !strings.Contains(read(t, "docs/alerts.yml"), `job="`+job.JobName+`"`) {
			t.Errorf("%s: no alert asks for the job %s", file, job.JobName)
		}
		if !strings.Contains(read(t, "deploy/compose/"+of), "docs/alerts.yml:"+config.RuleFiles[0]+":ro") {
			t.Errorf("%s: the alerts are not where it looks for them", file)
		}
		var sunloop []string
		for name, s := range project(t, of).Services {
			if s.Environment["SUNLOOP_METRICS"] != nil {
				_, port, _ := strings.Cut(*s.Environment["SUNLOOP_METRICS"], ":")
				sunloop = append(sunloop, name+":"+port)
			}
		}
		slices.Sort(sunloop)
		if !slices.Equal(job.StaticConfigs[0].Targets, sunloop) {
			t.Errorf("%s asks %v, and there are %v", file, job.StaticConfigs[0].Targets, sunloop)
		}
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
			t.Errorf("%s requires a list in JSON, not %q", what, words)
		}
	}
}
