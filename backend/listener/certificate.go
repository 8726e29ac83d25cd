package listener

import (
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Certificates gives handshakes the certificate of two files. It reads them
// again when they have changed; files that cannot be used leave the
// certificate that is in use.
type Certificates struct {
	certificateFile, keyFile string
	log                      *slog.Logger
	renew                    func() // before a look at the files; nil: they are another's

	mu      sync.Mutex
	current *tls.Certificate
	seen    string // the files that current was read from
	refused string // the files that were last found to be of no use
}

// Files are certificates in PEM that are maintained externally: the chain, leaf
// first, and its key. Changes are logged to log.
func Files(certificate, key string, log *slog.Logger) (*Certificates, error) {
	c := &Certificates{certificateFile: certificate, keyFile: key, log: log}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	if err := c.read(c.stamp()); err != nil {
		return nil, err
	}
	return c, nil
}

// Fingerprint is the SHA-256 of the certificate in use, in hexadecimal digits.
func (c *Certificates) Fingerprint() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fingerprint(c.current.Certificate[0])
}

func fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// get is for tls.Config.GetCertificate.
func (c *Certificates) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.renew != nil {
		c.renew()
	}
	now := c.stamp()
	if now == c.seen || now == c.refused {
		return c.current, nil
	}
	if err := c.read(now); err != nil {
		// Half of a change, perhaps: the other half is another stamp.
		c.refused = now
		c.log.Warn("reload certificate failed; keeping the previous certificate", "error", err.Error())
		return c.current, nil
	}
	c.log.Info("certificate reloaded", "tls_fingerprint", fingerprint(c.current.Certificate[0]), "expires", c.current.Leaf.NotAfter.UTC().Format(time.DateOnly))
	return c.current, nil
}

// stamp identifies a state of the files.
func (c *Certificates) stamp() string {
	s := ""
	for _, path := range []string{c.certificateFile, c.keyFile} {
		info, err := os.Stat(path)
		if err != nil {
			s += err.Error() + "\n"
			continue
		}
		s += fmt.Sprintf("%d %d\n", info.Size(), info.ModTime().UnixNano())
	}
	return s
}

func (c *Certificates) read(stamp string) error {
	pair, err := tls.LoadX509KeyPair(c.certificateFile, c.keyFile)
	if err != nil {
		return fmt.Errorf("read the certificate %s with its key %s: %w", c.certificateFile, c.keyFile, err)
	}
	c.current, c.seen = &pair, stamp
	return nil
}
