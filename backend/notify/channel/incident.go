package channel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"app.sunloop/backend/notify"
	"app.sunloop/backend/webhook"
)

// Limits of incident managers, in characters.
const (
	pagerDutySummary                     = 1024
	opsgenieMessage, opsgenieDescription = 130, 15000
)

// firingFor is how long an alert in an Alertmanager lasts that is neither repeated nor
// ended, and noticeFor the same of a summary, a report or a test.
const (
	firingFor = 30 * 24 * time.Hour
	noticeFor = time.Hour
)

// thread is the incident of a message; a message without one is its own.
func thread(m notify.Message) string {
	if m.Thread != "" {
		return m.Thread
	}
	return m.ID
}

// isNotice reports whether a message has no all-clear.
func isNotice(m notify.Message) bool {
	return m.Kind == notify.KindSummary || m.Kind == notify.KindReport || m.Kind == notify.KindTest
}

// figures are the known figures of a message, by name.
func figures(m notify.Message) map[string]string {
	out := map[string]string{}
	if m.LostKW != nil {
		out["lost_kw"] = strconv.FormatFloat(*m.LostKW, 'g', 4, 64)
	}
	if m.LostKWh != nil {
		out["lost_kwh"] = strconv.FormatFloat(*m.LostKWh, 'g', 4, 64)
	}
	if m.MoneyAtRisk != nil {
		out["money_at_risk_per_day"] = strconv.FormatFloat(m.MoneyAtRisk.Amount, 'f', 2, 64) + " " + m.MoneyAtRisk.Currency
	}
	for name, value := range map[string]string{"customer_id": m.CustomerID, "site_id": m.SiteID, "asset_id": m.AssetID, "family": m.Family, "priority": m.Priority} {
		if value != "" {
			out[name] = value
		}
	}
	return out
}

// sendPagerDuty triggers and resolves the incident of the thread by the Events API v2.
// Summaries and reports are change events, which alert no person.
func sendPagerDuty(ctx context.Context, k *call, m notify.Message) (notify.Receipt, error) {
	source := m.SiteName
	if source == "" {
		source = "Sunloop"
	}
	details := object{"text": body(m)}
	for name, value := range figures(m) {
		details[name] = value
	}
	payload := object{"summary": cutRunes(oneLine(m.Title), pagerDutySummary), "source": source, "timestamp": m.At.UTC().Format(time.RFC3339), "custom_details": details}
	var list []object
	for _, l := range links(m) {
		list = append(list, object{"href": l.URL, "text": l.Label})
	}
	event := object{"routing_key": k.secret, "payload": payload}
	if len(list) > 0 {
		event["links"] = list
	}
	if m.Kind == notify.KindSummary || m.Kind == notify.KindReport {
		return notify.Receipt{Detail: "accepted as a change event"}, k.do(ctx, request{url: k.at("v2", "change", "enqueue"), body: event}, nil)
	}
	payload["severity"] = words[level(m)].pagerDuty
	payload["component"], payload["class"], payload["group"] = m.AssetID, m.Family, m.SiteID
	event["event_action"], event["dedup_key"], event["client"] = "trigger", thread(m), "Sunloop"
	if m.Kind == notify.KindAllClear {
		event["event_action"] = "resolve"
	}
	var answer struct {
		Key string `json:"dedup_key"`
	}
	if err := k.do(ctx, request{url: k.at("v2", "enqueue"), body: event}, &answer); err != nil {
		return notify.Receipt{}, err
	}
	if m.Kind == notify.KindTest { // no incident remains
		event["event_action"] = "resolve"
		if err := k.do(ctx, request{url: k.at("v2", "enqueue"), body: event}, nil); err != nil {
			return notify.Receipt{}, err
		}
	}
	return notify.Receipt{Reference: cut(answer.Key, 255), Detail: "accepted"}, nil
}

// sendOpsgenie creates or closes the alert whose alias is the thread.
func sendOpsgenie(ctx context.Context, k *call, m notify.Message) (notify.Receipt, error) {
	header := map[string]string{"Authorization": "GenieKey " + k.secret}
	var answer struct {
		RequestID string `json:"requestId"`
	}
	if m.Kind == notify.KindAllClear {
		err := k.do(ctx, request{url: k.at("v2", "alerts", thread(m), "close") + "?identifierType=alias", header: header,
			body: object{"source": "Sunloop", "note": cutRunes(m.Title+"\n"+body(m), opsgenieDescription)}}, &answer)
		return notify.Receipt{Reference: thread(m), Detail: "closed"}, err
	}
	alert := object{"message": cutRunes(oneLine(m.Title), opsgenieMessage), "alias": thread(m), "description": cutRunes(withLinks(m), opsgenieDescription),
		"source": "Sunloop", "priority": words[level(m)].opsgenie, "details": figures(m)}
	if m.Kind != notify.KindRaised { // for an alert that exists, only its count and notes change
		alert["note"] = cutRunes(m.Title+"\n"+body(m), opsgenieDescription)
	}
	if m.SiteName != "" {
		alert["entity"] = m.SiteName
	}
	if team, ok := strings.CutPrefix(k.to.Address, "team:"); ok {
		alert["responders"] = []object{{"type": "team", "name": team}}
	} else if k.to.Address != "" {
		alert["responders"] = []object{{"type": "user", "username": k.to.Address}}
	}
	err := k.do(ctx, request{url: k.at("v2", "alerts"), header: header, body: alert}, &answer)
	return notify.Receipt{Reference: thread(m), Detail: "accepted"}, err
}

// alertmanagerAlert is an alert of the API v2 of Alertmanager.
type alertmanagerAlert struct {
	Labels       map[string]string `json:"labels"`
	Annotations  map[string]string `json:"annotations"`
	StartsAt     string            `json:"startsAt"`
	EndsAt       string            `json:"endsAt"`
	GeneratorURL string            `json:"generatorURL,omitempty"`
}

// sendAlertmanager posts the incident as an alert whose labels are those of its first
// message, except for the severity: an alert with another severity of the incident ends
// with each later message.
func sendAlertmanager(ctx context.Context, k *call, m notify.Message) (notify.Receipt, error) {
	family, asset := m.Family, m.AssetID
	if first, second, ok := strings.Cut(m.Reference, " "); ok {
		family, asset = first, second
	}
	labels := map[string]string{"alertname": "SunloopAlarm", "service": "sunloop", "incident": thread(m), "customer": m.CustomerID, "site": m.SiteID, "family": family, "asset": asset}
	if isNotice(m) {
		labels["alertname"] = map[notify.Kind]string{notify.KindSummary: "SunloopSummary", notify.KindReport: "SunloopReport", notify.KindTest: "SunloopTest"}[m.Kind]
	}
	annotations := map[string]string{"summary": oneLine(m.Title), "description": body(m), "site_name": m.SiteName}
	for name, value := range figures(m) {
		annotations[name] = value
	}
	if len(m.Actions) > 0 {
		annotations["acknowledge_url"] = m.Actions[0].URL
	}
	alert := alertmanagerAlert{Annotations: withoutEmpty(annotations), StartsAt: m.At.UTC().Format(time.RFC3339), EndsAt: m.At.Add(firingFor).UTC().Format(time.RFC3339)}
	if len(m.Links) > 0 {
		alert.GeneratorURL = m.Links[0].URL
	}
	now := m.At.UTC().Format(time.RFC3339)
	severity := m.Priority
	if severity == "" {
		severity = "normal"
	}
	if isNotice(m) {
		alert.EndsAt = m.At.Add(noticeFor).UTC().Format(time.RFC3339)
	}
	alerts := []alertmanagerAlert{}
	for _, s := range []string{"critical", "major", "moderate", "minor", "normal"} {
		one := alert
		one.Labels = withoutEmpty(labels)
		one.Labels["severity"] = s
		switch {
		case m.Kind == notify.KindAllClear, s != severity && m.Reference != "":
			one.EndsAt = now
		case s != severity:
			continue
		}
		alerts = append(alerts, one)
	}
	if m.Kind == notify.KindAllClear { // an end must be after its start
		for i := range alerts {
			alerts[i].StartsAt = m.At.Add(-time.Second).UTC().Format(time.RFC3339)
		}
	}
	err := k.do(ctx, request{url: k.at("api", "v2", "alerts"), header: k.basicOrBearer(), body: alerts}, nil)
	return notify.Receipt{Reference: family + " " + asset, Detail: "accepted"}, err
}

func withoutEmpty(in map[string]string) map[string]string {
	out := make(map[string]string, len(in))
	for name, value := range in {
		if value != "" {
			out[name] = value
		}
	}
	return out
}

// sendWebhook posts the message as JSON, signed after the Standard Webhooks
// specification. Its id is that of the message: the same in each attempt.
func sendWebhook(ctx context.Context, k *call, m notify.Message) (notify.Receipt, error) {
	if k.to.Secret == "" {
		return notify.Receipt{}, notify.Permanent(errors.New("the channel has no secret that signs"))
	}
	m.ChartPNG, m.ChartSVG, m.HTML = nil, nil, ""
	b, err := json.Marshal(object{"type": "notification." + string(m.Kind), "timestamp": m.At.UTC().Format(time.RFC3339), "data": m})
	if err != nil {
		return notify.Receipt{}, notify.Permanent(fmt.Errorf("write the message as JSON: %w", err))
	}
	now := k.now()
	signature, err := webhook.Sign([]string{k.to.Secret}, m.ID, now, b)
	if err != nil {
		return notify.Receipt{}, notify.Permanent(errors.New("the secret of the channel cannot be read"))
	}
	return notify.Receipt{Detail: "received"}, k.do(ctx, request{url: k.withQuery(), raw: b, header: map[string]string{"Content-Type": "application/json",
		webhook.HeaderID: m.ID, webhook.HeaderTimestamp: strconv.FormatInt(now.Unix(), 10), webhook.HeaderSignature: signature}}, nil)
}
