package auth

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base32"
	"net/url"
	"strings"
	"time"

	"github.com/pquerna/otp"
	"github.com/pquerna/otp/totp"
)

// Figures of the authenticator: the defaults of RFC 6238, so that a
// provisioning URI need not name them (some apps refuse those that do).
const (
	totpPeriod      = 30
	totpSkew        = 1 // steps accepted before and after
	totpSecretBytes = 20
	recoveryCodes   = 10
)

var base32Text = base32.StdEncoding.WithPadding(base32.NoPadding)

// newTOTPSecret is a fresh secret in base32.
func newTOTPSecret() (string, error) {
	b := make([]byte, totpSecretBytes)
	if _, err := rand.Read(b); err != nil {
		return "", err
	}
	return base32Text.EncodeToString(b), nil
}

// provisioningURI is what an authenticator reads from a QR code.
func provisioningURI(issuer, account, secret string) string {
	return "otpauth://totp/" + url.PathEscape(issuer) + ":" + url.PathEscape(account) +
		"?secret=" + secret + "&issuer=" + url.PathEscape(issuer)
}

// matchStep is the time step whose code it is, among those accepted now and
// later than last.
func matchStep(secret, code string, now time.Time, last int64) (step int64, ok bool) {
	opts := totp.ValidateOpts{Period: totpPeriod, Digits: otp.DigitsSix, Algorithm: otp.AlgorithmSHA1}
	current := now.Unix() / totpPeriod
	for s := current - totpSkew; s <= current+totpSkew; s++ {
		want, err := totp.GenerateCodeCustom(secret, time.Unix(s*totpPeriod, 0), opts)
		if err != nil {
			return 0, false
		}
		if subtle.ConstantTimeCompare([]byte(want), []byte(code)) == 1 && s > last {
			step, ok = s, true
		}
	}
	return step, ok
}

// newRecoveryCodes are codes of 50 random bits, as they are shown.
func newRecoveryCodes() ([]string, error) {
	codes := make([]string, recoveryCodes)
	for i := range codes {
		b := make([]byte, 7)
		if _, err := rand.Read(b); err != nil {
			return nil, err
		}
		text := strings.ToLower(base32Text.EncodeToString(b))
		codes[i] = text[:5] + "-" + text[5:10]
	}
	return codes, nil
}

// plainCode drops what people put between the characters of a code.
func plainCode(code string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "-", "").Replace(code))
}
