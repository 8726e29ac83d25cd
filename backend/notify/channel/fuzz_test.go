package channel_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"app.sunloop/backend/notify"
	"app.sunloop/backend/notify/channel"
	"app.sunloop/backend/webhook"
)

// response is a transport that answers each request with the same response.
type response struct {
	status int
	body   string
}

func (r response) RoundTrip(q *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: r.status, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(r.body)), Request: q}, nil
}

// FuzzResponse sends by each kind of channel to receivers that answer anything: nothing
// panics, and no error contains a credential.
func FuzzResponse(f *testing.F) {
	f.Add(200, `{"ok":true,"ts":"1.2"}`, "secret")
	f.Add(400, `{"error":"no such secret","description":"chat not found"}`, "secret")
	f.Add(429, `{"parameters":{"retry_after":35},"retry_after_ms":-1}`, "token")
	f.Add(500, `{"errors":["a","b"],"message":5}`, "x/../y?z#w")
	f.Fuzz(func(t *testing.T, status int, body, secret string) {
		if status < 100 || status > 999 || len(secret) < 6 || strings.ContainsAny(secret, "/?#@%: ") {
			t.Skip()
		}
		guard, err := webhook.NewGuard("receiver.example.org")
		if err != nil {
			t.Fatal(err)
		}
		c := channel.New(channel.Config{Guard: guard, Now: func() time.Time { return now }, Wrap: func(http.RoundTripper) http.RoundTripper { return response{status, body} }})
		for _, kind := range notify.ChannelKinds() {
			if kind == notify.ChannelEmail {
				continue
			}
			to := notify.Target{Kind: kind, URL: "https://:" + secret + "@receiver.example.org/" + secret + "?to={to}&text={text}", Secret: signing, Address: "1"}
			if _, err := c.Send(t.Context(), to, raised()); err != nil && strings.Contains(err.Error(), secret) && !strings.Contains(fixedWords, secret) {
				t.Errorf("%s: the error contains %q: %v", kind, secret, err)
			}
		}
	})
}

// fixedWords are those of errors that no receiver chooses.
const fixedWords = "send by webhook alertmanager ntfy slack teams telegram matrix pagerduty opsgenie gotify pushover sms: it answered, check the credentials of the channel and the address: redirects are not followed " +
	"the response is not the JSON of this service: check the URL of the channel the receiver refused the message: no reason is given the URL of the channel is not a URL with a host, such as https user password lacks the token"
