// Package deploy holds what Sunloop is run with: units of systemd, an image with
// a compose file, and manifests for Kubernetes. There is no code in it but tests,
// which hold these files to their formats, to each other and to the program.
package deploy
