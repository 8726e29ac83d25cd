package channel

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"app.sunloop/backend/notify"
)

// Limits of push services.
const (
	ntfyText, ntfyActions         = 4000, 3 // bytes
	pushoverTitle, pushoverText   = 250, 1024
	pushoverURL, pushoverURLTitle = 512, 100
	smsText                       = 300
)

// basicOrBearer is the header of the credentials of a URL: a token if there is no user.
func (k *call) basicOrBearer() map[string]string {
	switch {
	case k.user == "" && k.secret == "":
		return nil
	case k.user == "":
		return bearer(k.secret)
	}
	return map[string]string{"Authorization": "Basic " + base64.StdEncoding.EncodeToString([]byte(k.user+":"+k.secret))}
}

// sendNtfy publishes to the topic of the address, or of the URL.
func sendNtfy(ctx context.Context, k *call, m notify.Message) (notify.Receipt, error) {
	topic := k.to.Address
	if topic == "" {
		topic = path.Base(k.base.Path)
		k.base.Path, k.base.RawPath = strings.TrimSuffix(path.Dir(k.base.Path), "/"), ""
		if topic == "." || topic == "/" {
			return notify.Receipt{}, notify.Permanent(errors.New("neither the URL of the channel nor the address names a topic"))
		}
	}
	tag := "warning"
	if m.Kind == notify.KindAllClear {
		tag = "white_check_mark"
	}
	message := object{"topic": topic, "title": oneLine(m.Title), "message": cut(body(m), ntfyText), "priority": words[level(m)].ntfy, "tags": []string{tag}}
	if len(m.Links) > 0 {
		message["click"] = m.Links[0].URL
	}
	var actions []object
	for i, l := range links(m) {
		if i == ntfyActions {
			break
		}
		actions = append(actions, object{"action": "view", "label": cutRunes(l.Label, 60), "url": l.URL})
	}
	if len(actions) > 0 {
		message["actions"] = actions
	}
	var answer struct{ ID string }
	err := k.do(ctx, request{url: k.base.String() + "/", body: message, header: k.basicOrBearer()}, &answer)
	return notify.Receipt{Reference: cut(answer.ID, 100), Detail: "published to the topic"}, err
}

// sendGotify posts to the application of the token.
func sendGotify(ctx context.Context, k *call, m notify.Message) (notify.Receipt, error) {
	extras := object{"client::display": object{"contentType": "text/plain"}}
	if all := links(m); len(all) > 0 {
		extras["client::notification"] = object{"click": object{"url": all[0].URL}}
	}
	var answer struct{ ID int64 }
	err := k.do(ctx, request{url: k.at("message"), header: map[string]string{"X-Gotify-Key": k.secret},
		body: object{"title": oneLine(m.Title), "message": withLinks(m), "priority": words[level(m)].gotify, "extras": extras}}, &answer)
	return notify.Receipt{Reference: strconv.FormatInt(answer.ID, 10), Detail: fmt.Sprintf("message %d", answer.ID)}, err
}

// sendPushover sends to the user of the address.
func sendPushover(ctx context.Context, k *call, m notify.Message) (notify.Receipt, error) {
	text := body(m)
	if text == "" {
		text = m.Title
	}
	form := url.Values{"token": {k.secret}, "user": {k.to.Address}, "title": {cutRunes(oneLine(m.Title), pushoverTitle)}, "message": {cutRunes(text, pushoverText)},
		"priority": {strconv.Itoa(words[level(m)].pushover)}, "timestamp": {strconv.FormatInt(m.At.Unix(), 10)}}
	if all := links(m); len(all) > 0 && len(all[0].URL) <= pushoverURL {
		form.Set("url", all[0].URL)
		form.Set("url_title", cutRunes(all[0].Label, pushoverURLTitle))
	}
	var answer struct {
		Status  int
		Request string
	}
	if err := k.do(ctx, request{url: k.at("1", "messages.json"), form: form}, &answer); err != nil {
		return notify.Receipt{}, err
	}
	if answer.Status != 1 {
		return notify.Receipt{}, notify.Permanent(errors.New("the receiver refused the message"))
	}
	return notify.Receipt{Detail: "accepted"}, nil
}

// Formats of the request of a gateway: the fragment of its URL.
const (
	smsForm = "form"
	smsJSON = "json"
	smsGet  = "get"
)

// checkSMS validates the template of a gateway.
func (k *call) checkSMS() error {
	q, err := url.ParseQuery(k.query)
	switch {
	case err != nil:
		return errors.New("the query of the URL of the channel cannot be read")
	case k.fragment != "" && k.fragment != smsForm && k.fragment != smsJSON && k.fragment != smsGet:
		return errors.New("the fragment of the URL of the channel is none of #form, #json, #get")
	}
	to, text := false, false
	for _, values := range q {
		for _, v := range values {
			to = to || strings.Contains(v, "{to}")
			text = text || strings.Contains(v, "{text}") || strings.Contains(v, "{title}")
		}
	}
	if !text || !to && k.to.Address != "" {
		return errors.New("the query of the URL of the channel has no parameter with {to} and {text}, as in " + services[notify.ChannelSMS].example)
	}
	return nil
}

// sendSMS calls a gateway: the parameters of the URL's query with {to}, {text}, {title},
// {site}, {priority}, {kind} and {id} replaced, as a form, a JSON object, or a query.
func sendSMS(ctx context.Context, k *call, m notify.Message) (notify.Receipt, error) {
	text := oneLine(m.Title)
	if len(m.Lines) > 0 {
		text += ". " + m.Lines[0]
	}
	text = cutRunes(oneLine(text), smsText)
	if len(m.Actions) > 0 {
		text += " " + m.Actions[0].URL
	}
	fill := strings.NewReplacer("{to}", k.to.Address, "{text}", text, "{title}", oneLine(m.Title), "{site}", m.SiteName, "{priority}", m.Priority, "{kind}", string(m.Kind), "{id}", m.ID)
	q, _ := url.ParseQuery(k.query) // checked by open
	for _, values := range q {
		for i := range values {
			values[i] = fill.Replace(values[i])
		}
	}
	r := request{url: k.base.String(), form: q, header: k.basicOrBearer()}
	switch k.fragment {
	case smsJSON:
		parameters := object{}
		for name := range q {
			parameters[name] = q.Get(name)
		}
		r.form, r.body = nil, parameters
	case smsGet:
		u := *k.base
		u.RawQuery = q.Encode()
		r.method, r.url, r.form = http.MethodGet, u.String(), nil
	}
	return notify.Receipt{Detail: "accepted by the gateway"}, k.do(ctx, r, nil)
}
