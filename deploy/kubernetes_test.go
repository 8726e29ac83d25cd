package deploy

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"app.sunloop/backend/api"
)

// manifests are the objects of a file of deploy/kubernetes, each decoded into
// the type of the cluster's own interface; a field that the type lacks fails.
func manifests(t *testing.T, name string) []any {
	t.Helper()
	var all []any
	for text := range strings.SplitSeq(read(t, filepath.Join("deploy/kubernetes", name)), "\n---\n") {
		var what metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(text), &what); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		into, ok := map[string]any{
			"apps/v1 StatefulSet": &appsv1.StatefulSet{}, "apps/v1 Deployment": &appsv1.Deployment{}, "v1 Service": &corev1.Service{}, "v1 Secret": &corev1.Secret{}, "v1 Pod": &corev1.Pod{}, "v1 Namespace": &corev1.Namespace{},
			"networking.k8s.io/v1 NetworkPolicy": &networkingv1.NetworkPolicy{}, "policy/v1 PodDisruptionBudget": &policyv1.PodDisruptionBudget{},
			"monitoring.coreos.com/v1 ServiceMonitor": &serviceMonitor{}, "kustomize.config.k8s.io/v1beta1 Kustomization": &kustomization{},
		}[what.APIVersion+" "+what.Kind]
		if !ok {
			t.Fatalf("%s: nothing is known of %s %s", name, what.APIVersion, what.Kind)
		}
		strict(t, name, text, into)
		all = append(all, into)
	}
	return all
}

// serviceMonitor has the fields of the Prometheus operator's that are used here.
type serviceMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		JobLabel  string               `json:"jobLabel"`
		Selector  metav1.LabelSelector `json:"selector"`
		Endpoints []struct {
			Port     string `json:"port"`
			Interval string `json:"interval"`
		} `json:"endpoints"`
	} `json:"spec"`
}

// kustomization has the fields of kustomize that are used here.
type kustomization struct {
	metav1.TypeMeta `json:",inline"`
	Namespace       string `json:"namespace"`
	Labels          []struct {
		Pairs map[string]string `json:"pairs"`
	} `json:"labels"`
	Resources []string `json:"resources"`
	Images    []struct {
		Name    string `json:"name"`
		NewName string `json:"newName"`
		NewTag  string `json:"newTag"`
	} `json:"images"`
}

func set(t *testing.T) *appsv1.StatefulSet {
	return manifests(t, "statefulset.yaml")[0].(*appsv1.StatefulSet)
}

func deployment(t *testing.T) *appsv1.Deployment {
	return manifests(t, "replicas/deployment.yaml")[0].(*appsv1.Deployment)
}

func TestManifestsFit(t *testing.T) {
	s := set(t)
	governing := fit(t, "", s.Spec.Template, s.Spec.Selector)
	if s.Spec.ServiceName != governing {
		t.Errorf("the set's service is %s, not %s", s.Spec.ServiceName, governing)
	}
	d := deployment(t)
	fit(t, "replicas", d.Spec.Template, d.Spec.Selector)
}

// fit holds the objects of a folder to one another: what selects, selects the
// pod; ports that are named exist; each file is applied or is an example. It
// answers the headless service's name.
func fit(t *testing.T, folder string, template corev1.PodTemplateSpec, own *metav1.LabelSelector) (headless string) {
	t.Helper()
	pod, main := labels.Set(template.Labels), template.Spec.Containers[0]
	manifests := func(t *testing.T, name string) []any { return manifests(t, filepath.Join(folder, name)) }
	ports := map[string]bool{}
	for _, p := range main.Ports {
		ports[p.Name] = true
	}
	selects := func(what string, l *metav1.LabelSelector, of labels.Set) {
		t.Helper()
		selector, err := metav1.LabelSelectorAsSelector(l)
		if err != nil || selector.Empty() || !selector.Matches(of) {
			t.Errorf("%s does not select %v (%v)", what, of, err)
		}
	}
	selects("what makes the pods", own, pod)
	policy := manifests(t, "network.yaml")[0].(*networkingv1.NetworkPolicy)
	selects("the policy", &policy.Spec.PodSelector, pod)
	for _, in := range policy.Spec.Ingress {
		if len(in.From) == 0 || len(in.Ports) != 1 || !ports[in.Ports[0].Port.StrVal] {
			t.Errorf("the policy lets in %+v", in)
		}
	}
	for _, out := range policy.Spec.Egress {
		if len(out.To) == 0 || len(out.Ports) == 0 {
			t.Errorf("the policy lets everything out: %+v", out)
		}
	}
	selects("the budget", manifests(t, "disruption.yaml")[0].(*policyv1.PodDisruptionBudget).Spec.Selector, pod)
	monitor, monitored := manifests(t, "servicemonitor.yaml")[0].(*serviceMonitor), false
	for _, m := range manifests(t, "services.yaml") {
		service := m.(*corev1.Service)
		selects(service.Name, &metav1.LabelSelector{MatchLabels: service.Spec.Selector}, pod)
		for _, p := range service.Spec.Ports {
			if !ports[p.TargetPort.StrVal] {
				t.Errorf("%s leads to a port %q", service.Name, p.TargetPort.StrVal)
			}
			if p.Name == monitor.Spec.Endpoints[0].Port {
				selects("the monitor", &monitor.Spec.Selector, service.Labels)
				monitored = service.Labels[monitor.Spec.JobLabel] == "sunloop" // the job of docs/alerts.yml
			}
		}
		if service.Spec.ClusterIP == corev1.ClusterIPNone {
			headless = service.Name
		}
		if service.Spec.SessionAffinity != "" && service.Spec.SessionAffinity != corev1.ServiceAffinityNone {
			t.Errorf("%s keeps callers at one pod", service.Name)
		}
	}
	if headless == "" || !monitored {
		t.Errorf("the headless service is %q; metrics are asked for: %v", headless, monitored)
	}

	k := manifests(t, "kustomization.yaml")[0].(*kustomization)
	if n := manifests(t, "namespace.yaml")[0].(*corev1.Namespace); n.Name != k.Namespace || n.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Errorf("the namespace is %s with %v", n.Name, n.Labels)
	}
	files, err := filepath.Glob(filepath.Join("kubernetes", folder, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		name := filepath.Base(f)
		manifests(t, name)
		by := name != "kustomization.yaml" && name != "servicemonitor.yaml" && !strings.HasSuffix(name, ".example.yaml")
		if slices.Contains(k.Resources, name) != by {
			t.Errorf("%s: kustomize applies it: %v", name, !by)
		}
	}
	if k.Images[0].Name != main.Image || k.Images[0].NewTag == "" || k.Images[0].NewTag == "latest" {
		t.Errorf("images %+v", k.Images)
	}
	for key, value := range manifests(t, "secret.example.yaml")[0].(*corev1.Secret).StringData {
		if value != "" {
			t.Errorf("the example holds a secret: %s", key)
		}
	}
	return headless
}

// TestDeployment holds the replicas' pods to what makes them equal and keeps
// some of them ready.
func TestDeployment(t *testing.T) {
	d := deployment(t)
	spec, main := d.Spec.Template.Spec, d.Spec.Template.Spec.Containers[0]
	probes(t, main)
	if *d.Spec.Replicas != 3 || d.Spec.Strategy.RollingUpdate.MaxUnavailable.IntValue() != 0 {
		t.Errorf("%d replicas, rolled by %+v", *d.Spec.Replicas, d.Spec.Strategy.RollingUpdate)
	}
	budget := manifests(t, "replicas/disruption.yaml")[0].(*policyv1.PodDisruptionBudget)
	if n := budget.Spec.MinAvailable.IntValue(); n < 1 || n >= int(*d.Spec.Replicas) {
		t.Errorf("%d of %d pods must be available: one of them must be free to go", n, *d.Spec.Replicas)
	}
	apart := spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm
	for what, l := range map[string]*metav1.LabelSelector{"anti-affinity": apart.LabelSelector, "spread": spec.TopologySpreadConstraints[0].LabelSelector} {
		if selector, err := metav1.LabelSelectorAsSelector(l); err != nil || !selector.Matches(labels.Set(d.Spec.Template.Labels)) {
			t.Errorf("%s is not of these pods", what)
		}
	}
	secret := manifests(t, "replicas/secret.example.yaml")[0].(*corev1.Secret)
	mount := ""
	for _, v := range spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			t.Errorf("the volume %s would be of one pod", v.Name)
		}
		if v.Secret != nil && v.Secret.SecretName == secret.Name {
			i := slices.IndexFunc(main.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == v.Name })
			mount = main.VolumeMounts[i].MountPath + "/"
		}
	}
	for _, e := range main.Env {
		key, isFile := strings.CutPrefix(e.Value, mount)
		if e.ValueFrom != nil {
			key, isFile = e.ValueFrom.SecretKeyRef.Key, e.ValueFrom.SecretKeyRef.Name == secret.Name
		}
		if _, ok := secret.StringData[key]; isFile != ok {
			t.Errorf("%s is %s, of which the secret knows nothing", e.Name, key)
		}
	}
}

// TestSet holds the service's pod to what the program needs.
func TestSet(t *testing.T) {
	s := set(t)
	spec, main := s.Spec.Template.Spec, s.Spec.Template.Spec.Containers[0]
	if *s.Spec.Replicas != 1 || !slices.Equal(s.Spec.VolumeClaimTemplates[0].Spec.AccessModes, []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOncePod}) {
		t.Error("more than one process may have the data folder")
	}
	probes(t, main)
	if *spec.TerminationGracePeriodSeconds < 5+15+3 {
		t.Errorf("it has %d s to end", *spec.TerminationGracePeriodSeconds)
	}
	mounts := map[string]string{}
	for _, m := range main.VolumeMounts {
		mounts[m.Name] = m.MountPath
	}
	for _, e := range main.Env {
		if e.Name == "SUNLOOP_DATA" && !strings.HasPrefix(e.Value, mounts["data"]+"/") {
			t.Errorf("the data folder %s is not below the volume's %s", e.Value, mounts["data"])
		}
	}
	if main.Resources.Limits.Memory().Value() < 768<<20 || main.Resources.Requests.Memory().IsZero() || main.Resources.Requests.Cpu().IsZero() {
		t.Errorf("resources %+v", main.Resources)
	}
}

// probes holds the probes to their paths: the process alone says whether it
// lives, and with all that it needs whether it is ready.
func probes(t *testing.T, main corev1.Container) {
	t.Helper()
	for probe, path := range map[*corev1.Probe]string{main.StartupProbe: api.PathHealth, main.LivenessProbe: api.PathHealth, main.ReadinessProbe: api.PathReady} {
		if probe == nil || probe.HTTPGet == nil || probe.HTTPGet.Path != path {
			t.Errorf("a probe is %+v, not of %s", probe, path)
		}
	}
}

// TestPodsAreRestricted holds each pod to the profile "restricted" of the pod
// security standards, a read-only root and no credential of the cluster.
func TestPodsAreRestricted(t *testing.T) {
	for name, spec := range map[string]corev1.PodSpec{"statefulset.yaml": set(t).Spec.Template.Spec, "deployment.yaml": deployment(t).Spec.Template.Spec, "admin.example.yaml": manifests(t, "admin.example.yaml")[0].(*corev1.Pod).Spec} {
		if spec.HostNetwork || spec.HostPID || spec.HostIPC || *spec.AutomountServiceAccountToken || *spec.EnableServiceLinks {
			t.Errorf("%s: it shares what is the node's or the cluster's", name)
		}
		if p := spec.SecurityContext; !*p.RunAsNonRoot || *p.RunAsUser == 0 || p.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault || len(p.Sysctls) > 0 {
			t.Errorf("%s: %+v", name, p)
		}
		for _, v := range spec.Volumes {
			if v.HostPath != nil {
				t.Errorf("%s: %s is of the node", name, v.Name)
			}
		}
		for _, c := range append(slices.Clone(spec.InitContainers), spec.Containers...) {
			s := c.SecurityContext
			if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || s.Privileged != nil || len(s.Capabilities.Add) > 0 || !slices.Equal(s.Capabilities.Drop, []corev1.Capability{"ALL"}) {
				t.Errorf("%s: %s: %+v", name, c.Name, s)
			}
			if c.Resources.Limits.Memory().IsZero() {
				t.Errorf("%s: %s has no bound of memory", name, c.Name)
			}
		}
	}
}
