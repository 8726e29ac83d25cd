package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// imageUser is the user of the image, as in deploy/compose/Containerfile.
const imageUser = 65532

// Documents of the OCI image format 1.1.
type (
	descriptor struct {
		MediaType   string            `json:"mediaType"`
		Digest      string            `json:"digest"`
		Size        int               `json:"size"`
		Platform    *ociPlatform      `json:"platform,omitempty"`
		Annotations map[string]string `json:"annotations,omitempty"`
	}
	ociPlatform struct {
		Architecture string `json:"architecture"`
		OS           string `json:"os"`
	}
	index struct {
		SchemaVersion int               `json:"schemaVersion"`
		MediaType     string            `json:"mediaType"`
		Manifests     []descriptor      `json:"manifests"`
		Annotations   map[string]string `json:"annotations,omitempty"`
	}
	manifest struct {
		SchemaVersion int               `json:"schemaVersion"`
		MediaType     string            `json:"mediaType"`
		Config        descriptor        `json:"config"`
		Layers        []descriptor      `json:"layers"`
		Annotations   map[string]string `json:"annotations"`
	}
	imageConfig struct {
		Created      time.Time      `json:"created"`
		Architecture string         `json:"architecture"`
		OS           string         `json:"os"`
		Config       runtimeConfig  `json:"config"`
		RootFS       rootFS         `json:"rootfs"`
		History      []historyEntry `json:"history"`
	}
	runtimeConfig struct {
		User         string              `json:"User"`
		ExposedPorts map[string]struct{} `json:"ExposedPorts"`
		Env          []string            `json:"Env"`
		Entrypoint   []string            `json:"Entrypoint"`
		Cmd          []string            `json:"Cmd"`
		Volumes      map[string]struct{} `json:"Volumes"`
		Labels       map[string]string   `json:"Labels"`
	}
	rootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	}
	historyEntry struct {
		Created   time.Time `json:"created"`
		CreatedBy string    `json:"created_by"`
	}
)

const (
	mediaIndex    = "application/vnd.oci.image.index.v1+json"
	mediaManifest = "application/vnd.oci.image.manifest.v1+json"
	mediaConfig   = "application/vnd.oci.image.config.v1+json"
	mediaLayer    = "application/vnd.oci.image.layer.v1.tar+gzip"
)

// layout collects the blobs of an image.
type layout struct{ entries []entry }

// add adds a blob and returns its descriptor.
func (l *layout) add(mediaType string, data []byte) descriptor {
	sum := fmt.Sprintf("%x", sha256.Sum256(data))
	l.entries = append(l.entries, entry{name: "blobs/sha256/" + sum, mode: 0o644, data: data})
	return descriptor{MediaType: mediaType, Digest: "sha256:" + sum, Size: len(data)}
}

func (l *layout) addJSON(mediaType string, v any) (descriptor, error) {
	data, err := json.Marshal(v)
	return l.add(mediaType, data), err
}

// image writes the container image for the Linux platforms as an OCI layout in a
// tar, which docker load, podman load and skopeo read. It needs no daemon.
func (r release) image(platforms []platform) (err error) {
	var l layout
	all := index{SchemaVersion: 2, MediaType: mediaIndex}
	for _, p := range platforms {
		if p.os != "linux" {
			continue
		}
		d, err := r.platformImage(&l, p)
		if err != nil {
			return err
		}
		all.Manifests = append(all.Manifests, d)
	}
	if len(all.Manifests) == 0 {
		return errors.New("no binary for Linux")
	}
	every, err := l.addJSON(mediaIndex, all)
	if err != nil {
		return err
	}
	every.Annotations = map[string]string{"org.opencontainers.image.ref.name": r.version, "io.containerd.image.name": "localhost/sunloop:" + r.version}
	top, err := json.Marshal(index{SchemaVersion: 2, MediaType: mediaIndex, Manifests: []descriptor{every}})
	if err != nil {
		return err
	}
	l.entries = append(l.entries, entry{name: "index.json", mode: 0o644, data: top}, entry{name: "oci-layout", mode: 0o644, data: []byte(`{"imageLayoutVersion":"1.0.0"}`)},
		entry{name: "blobs", mode: fs.ModeDir | 0o755}, entry{name: "blobs/sha256", mode: fs.ModeDir | 0o755})
	f, err := os.Create(filepath.Join(r.out, "sunloop-"+r.version+"-image.tar"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return writeTar(f, l.entries, r.time)
}

// platformImage adds the image of one platform.
func (r release) platformImage(l *layout, p platform) (descriptor, error) {
	program, err := os.ReadFile(filepath.Join(r.stage, p.String(), "sunloop"))
	if err != nil {
		return descriptor{}, err
	}
	files := []entry{
		{name: "usr/bin/sunloop", mode: 0o755, data: program},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: authorities()},
		{name: "var/lib/sunloop", mode: fs.ModeDir | 0o700, id: imageUser},
	}
	seen := map[string]bool{"var/lib/sunloop": true}
	for _, f := range files {
		for dir := path.Dir(f.name); dir != "."; dir = path.Dir(dir) {
			if !seen[dir] {
				seen[dir] = true
				files = append(files, entry{name: dir, mode: fs.ModeDir | 0o755})
			}
		}
	}
	var plain, packed bytes.Buffer
	if err := errors.Join(writeTar(&plain, files, r.time), writeTarGz(&packed, files, r.time)); err != nil {
		return descriptor{}, err
	}
	labels := map[string]string{
		"org.opencontainers.image.title": "sunloop", "org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0",
		"org.opencontainers.image.created": r.time.Format(time.RFC3339), "org.opencontainers.image.description": "Operations console for solar power plants",
	}
	config, err := l.addJSON(mediaConfig, imageConfig{
		Created: r.time, Architecture: p.arch, OS: p.os,
		Config: runtimeConfig{
			User: fmt.Sprintf("%d:%[1]d", imageUser), ExposedPorts: map[string]struct{}{"8080/tcp": {}},
			Env:        []string{"PATH=/usr/bin", "SUNLOOP_DATA=/var/lib/sunloop/data", "SUNLOOP_LISTEN=0.0.0.0:8080", "SUNLOOP_METRICS=127.0.0.1:9464", "GOMEMLIMIT=768MiB"},
			Entrypoint: []string{"/usr/bin/sunloop"}, Cmd: []string{"serve"}, Volumes: map[string]struct{}{"/var/lib/sunloop": {}}, Labels: labels,
		},
		RootFS:  rootFS{Type: "layers", DiffIDs: []string{fmt.Sprintf("sha256:%x", sha256.Sum256(plain.Bytes()))}},
		History: []historyEntry{{Created: r.time, CreatedBy: "make release"}},
	})
	if err != nil {
		return descriptor{}, err
	}
	m, err := l.addJSON(mediaManifest, manifest{SchemaVersion: 2, MediaType: mediaManifest, Config: config, Layers: []descriptor{l.add(mediaLayer, packed.Bytes())}, Annotations: labels})
	m.Platform = &ociPlatform{Architecture: p.arch, OS: p.os}
	return m, err
}

// authorities returns the certificates that TLS clients trust: those of the
// pinned module, so that they do not depend on the machine. Roots with further
// constraints are left out, as a PEM file cannot express these.
func authorities() []byte {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes all
		}
	}
	return out.Bytes()
}
