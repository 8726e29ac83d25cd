package listener

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"app.sunloop/backend/regularfile"
)

// The lifetime of a self-signed certificate is long, because each change
// requires an update of all clients that pin its fingerprint.
const (
	selfLifetime  = 2 * 365 * 24 * time.Hour
	selfRenewal   = 30 * 24 * time.Hour // before its end
	selfBackdated = time.Hour           // for clients whose clocks are slow
)

// SelfSigned are self-signed certificates, stored in folder and renewed a month
// before they expire. A new one is made at start if the stored one lacks a
// name: localhost, the loopback addresses, hostname, the hosts of addresses,
// and extra.
func SelfSigned(folder, hostname string, addresses []Address, extra []string, now func() time.Time, log *slog.Logger) (*Certificates, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	certificateFile, keyFile := selfFiles(folder)
	wanted := selfNames(hostname, addresses, extra)
	if why := unfit(certificateFile, keyFile, wanted, now()); why != "" {
		if err := makeSelf(folder, wanted, now()); err != nil {
			return nil, err
		}
		log.Info("certificate created", "reason", why, "folder", folder)
	}
	c, err := Files(certificateFile, keyFile, log)
	if err != nil {
		return nil, err
	}
	c.renew = func() {
		at := now()
		if at.Before(c.current.Leaf.NotAfter.Add(-selfRenewal)) {
			return
		}
		if err := makeSelf(folder, wanted, at); err != nil {
			log.Error("certificate renewal failed", "error", err.Error())
		}
	}
	return c, nil
}

func selfFiles(folder string) (certificate, key string) {
	return filepath.Join(folder, "certificate.pem"), filepath.Join(folder, "key.pem")
}

// selfNames are in order and each is there once.
func selfNames(hostname string, addresses []Address, extra []string) []string {
	all := append([]string{"localhost", "127.0.0.1", "::1"}, names(addresses)...)
	all = append(all, extra...)
	if hostname != "" {
		all = append(all, hostname)
	}
	for i, name := range all {
		all[i] = strings.ToLower(name)
		if ip := net.ParseIP(name); ip != nil {
			all[i] = ip.String()
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// unfit states why the stored certificate is not usable, empty if it is.
func unfit(certificateFile, keyFile string, wanted []string, now time.Time) string {
	pair, err := tls.LoadX509KeyPair(certificateFile, keyFile)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no certificate"
	case err != nil:
		return "the stored certificate is invalid: " + err.Error()
	case !now.Before(pair.Leaf.NotAfter.Add(-selfRenewal)):
		return "the stored certificate expires on " + pair.Leaf.NotAfter.UTC().Format(time.DateOnly)
	}
	has := certificateNames(pair.Leaf)
	for _, name := range wanted {
		if !slices.Contains(has, name) {
			return "the stored certificate lacks the name " + name
		}
	}
	return ""
}

func certificateNames(c *x509.Certificate) []string {
	all := slices.Clone(c.DNSNames)
	for _, ip := range c.IPAddresses {
		all = append(all, ip.String())
	}
	slices.Sort(all)
	return all
}

// makeSelf writes a certificate and its key, the key first: after a crash
// between the two they do not match, and are made again.
func makeSelf(folder string, names []string, now time.Time) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("create key of the certificate: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return fmt.Errorf("create serial number of the certificate: %w", err)
	}
	template := x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "Sunloop"},
		NotBefore: now.Add(-selfBackdated), NotAfter: now.Add(selfLifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
	}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, err := x509.CreateCertificate(rand.Reader, &template, &template, key.Public(), key)
	if err != nil {
		return fmt.Errorf("create certificate for %s: %w", strings.Join(names, ", "), err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return fmt.Errorf("write the certificate's key: %w", err)
	}
	certificateFile, keyFile := selfFiles(folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return fmt.Errorf("create folder of the certificate: %w", err)
	}
	if err := writePEM(keyFile, "PRIVATE KEY", keyDER); err != nil {
		return err
	}
	return writePEM(certificateFile, "CERTIFICATE", der)
}

// writePEM replaces a file atomically, with read permission for its owner only.
func writePEM(path, kind string, der []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".sunloop-*") // 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer os.Remove(tmp.Name())
	err = pem.Encode(tmp, &pem.Block{Type: kind, Bytes: der})
	if err = errors.Join(err, tmp.Sync(), tmp.Close()); err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// StoredCertificate describes a stored self-signed certificate.
type StoredCertificate struct {
	File        string
	Fingerprint string // SHA-256, in hexadecimal digits
	Names       []string
	From, Until time.Time
}

// ReadStored reads the certificate that [SelfSigned] stores in folder. The error is
// fs.ErrNotExist if the file is missing.
func ReadStored(folder string) (StoredCertificate, error) {
	file, _ := selfFiles(folder)
	b, err := regularfile.Read(file)
	if err != nil {
		return StoredCertificate{}, err
	}
	block, _ := pem.Decode(b)
	if block == nil {
		return StoredCertificate{}, fmt.Errorf("%s holds no certificate", file)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return StoredCertificate{}, fmt.Errorf("read %s: %w", file, err)
	}
	return StoredCertificate{File: file, Fingerprint: fingerprint(c.Raw), Names: certificateNames(c), From: c.NotBefore.UTC(), Until: c.NotAfter.UTC()}, nil
}
