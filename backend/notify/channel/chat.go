package channel

import (
	"context"
	"fmt"
	"html"
	"net/http"
	"strings"

	"app.sunloop/backend/notify"
)

// Limits of chats, in characters.
const (
	slackHeader, slackText = 150, 2900
	teamsText              = 8000
	telegramText           = 3900
	matrixText             = 16000
	maxButtons             = 4
)

// object is a JSON object.
type object = map[string]any

// slackEscape escapes the three characters that have a meaning in Slack's texts.
var slackEscape = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// slackTemporary are the errors of Slack that pass with time.
var slackTemporary = map[string]bool{"ratelimited": true, "rate_limited": true, "internal_error": true, "fatal_error": true, "service_unavailable": true, "request_timeout": true}

// sendSlack posts by an incoming webhook, or, with a token of a bot, to the channel of
// the address, where later messages answer to the first.
func sendSlack(ctx context.Context, k *call, m notify.Message) (notify.Receipt, error) {
	title := oneLine(m.Title)
	blocks := []object{{"type": "header", "text": object{"type": "plain_text", "text": cutRunes(title, slackHeader)}}}
	if text := body(m); text != "" {
		blocks = append(blocks, object{"type": "section", "text": object{"type": "mrkdwn", "verbatim": true, "text": cutRunes(slackEscape.Replace(cutRunes(text, slackText)), 3000)}})
	}
	var buttons []object
	for i, l := range links(m) {
		if i == maxButtons {
			break
		}
		b := object{"type": "button", "action_id": fmt.Sprintf("link-%d", i), "text": object{"type": "plain_text", "text": cutRunes(l.Label, 75)}, "url": l.URL}
		if i == 0 && len(m.Actions) > 0 {
			b["style"] = "primary"
		}
		buttons = append(buttons, b)
	}
	if len(buttons) > 0 {
		blocks = append(blocks, object{"type": "actions", "elements": buttons})
	}
	message := object{"text": slackEscape.Replace(title), "blocks": blocks}
	if k.secret == "" {
		return notify.Receipt{Detail: "accepted by the incoming webhook"}, k.do(ctx, request{url: k.withQuery(), body: message}, nil)
	}
	if k.to.Address == "" {
		return notify.Receipt{}, notify.Permanent(fmt.Errorf("a token of a bot needs an address: the channel"))
	}
	message["channel"] = k.to.Address
	if m.Reference != "" {
		message["thread_ts"] = m.Reference
	}
	var answer struct {
		OK          bool
		Error       string
		Channel, TS string
	}
	err := k.do(ctx, request{url: k.at("api", "chat.postMessage"), body: message, header: bearer(k.secret)}, &answer)
	switch {
	case err != nil:
		return notify.Receipt{}, err
	case !answer.OK:
		err := fmt.Errorf("the receiver refused the message: %s", orUnknown(k.safe(answer.Error)))
		if slackTemporary[answer.Error] {
			return notify.Receipt{}, err
		}
		return notify.Receipt{}, notify.Permanent(err)
	}
	return notify.Receipt{Reference: answer.TS, Detail: "posted to the channel"}, nil
}

func orUnknown(text string) string {
	if text == "" {
		return "no reason is given"
	}
	return text
}

func bearer(token string) map[string]string {
	return map[string]string{"Authorization": "Bearer " + token}
}

// sendTeams posts an adaptive card to a workflow of Teams.
func sendTeams(ctx context.Context, k *call, m notify.Message) (notify.Receipt, error) {
	style := map[string]string{"critical": "attention", "major": "attention", "moderate": "warning", "minor": "warning"}[level(m)]
	if style == "" {
		style = "good"
	}
	content := []object{{"type": "TextBlock", "text": teamsEscape(oneLine(m.Title)), "weight": "bolder", "size": "medium", "color": style, "wrap": true}}
	size := 0
	for _, line := range m.Lines {
		if size += len(line); size > teamsText {
			content = append(content, object{"type": "TextBlock", "text": "…", "wrap": true})
			break
		}
		content = append(content, object{"type": "TextBlock", "text": teamsEscape(line), "wrap": true, "spacing": "small"})
	}
	card := object{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": content}
	var actions []object
	for i, l := range links(m) {
		if i == maxButtons {
			break
		}
		actions = append(actions, object{"type": "Action.OpenUrl", "title": cutRunes(l.Label, 75), "url": l.URL})
	}
	if len(actions) > 0 {
		card["actions"] = actions
	}
	err := k.do(ctx, request{url: k.withQuery(), body: object{"type": "message", "attachments": []object{
		{"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil, "content": card}}}}, nil)
	return notify.Receipt{Detail: "accepted by the workflow"}, err
}

// teamsEscape prevents that a text is read as Markdown.
func teamsEscape(s string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "`", "\\`", "#", `\#`).Replace(s)
}

// sendTelegram sends to the chat of the address by a bot. Later messages answer to the
// first; links are buttons.
func sendTelegram(ctx context.Context, k *call, m notify.Message) (notify.Receipt, error) {
	short := m
	short.Title, short.Lines = cutRunes(oneLine(m.Title), 200), []string{cutRunes(body(m), telegramText-200)}
	message := object{"chat_id": k.to.Address, "text": strings.TrimSpace(markup(short, "\n")), "parse_mode": "HTML", "link_preview_options": object{"is_disabled": true}}
	if level(m) == "normal" {
		message["disable_notification"] = true
	}
	if id, ok := positive(m.Reference); ok {
		message["reply_parameters"] = object{"message_id": id, "allow_sending_without_reply": true}
	}
	var rows [][]object
	for i, l := range links(m) {
		if i == maxButtons {
			break
		}
		rows = append(rows, []object{{"text": cutRunes(l.Label, 60), "url": l.URL}})
	}
	if len(rows) > 0 {
		message["reply_markup"] = object{"inline_keyboard": rows}
	}
	var answer struct {
		OK     bool
		Result struct {
			MessageID int64 `json:"message_id"`
		}
	}
	if err := k.do(ctx, request{url: k.at("bot"+k.secret, "sendMessage"), body: message}, &answer); err != nil {
		return notify.Receipt{}, err
	}
	if !answer.OK {
		return notify.Receipt{}, notify.Permanent(fmt.Errorf("the receiver refused the message"))
	}
	return notify.Receipt{Reference: fmt.Sprint(answer.Result.MessageID), Detail: fmt.Sprintf("message %d", answer.Result.MessageID)}, nil
}

// positive reads a number that a service gave to a message.
func positive(text string) (int64, bool) {
	var n int64
	if len(text) == 0 || len(text) > 18 {
		return 0, false
	}
	for _, r := range text {
		if r < '0' || r > '9' {
			return 0, false
		}
		n = 10*n + int64(r-'0')
	}
	return n, true
}

// sendMatrix sends to the room of the address. The id of the message is the transaction,
// so that a repetition is no second message; later messages are a thread of the first.
func sendMatrix(ctx context.Context, k *call, m notify.Message) (notify.Receipt, error) {
	short := m
	short.Lines = []string{cutRunes(body(m), matrixText)}
	formatted := strings.ReplaceAll(markup(short, "\n"), "\n", "<br>")
	for _, l := range links(m) {
		formatted += fmt.Sprintf(`<br><a href="%s">%s</a>`, html.EscapeString(l.URL), html.EscapeString(l.Label))
	}
	message := object{"msgtype": "m.text", "body": strings.TrimSpace(m.Title + "\n" + cutRunes(withLinks(m), matrixText)), "format": "org.matrix.custom.html", "formatted_body": formatted}
	if m.Reference != "" {
		message["m.relates_to"] = object{"rel_type": "m.thread", "event_id": m.Reference, "is_falling_back": true, "m.in_reply_to": object{"event_id": m.Reference}}
	}
	var answer struct {
		EventID string `json:"event_id"`
	}
	err := k.do(ctx, request{method: http.MethodPut, url: k.at("_matrix", "client", "v3", "rooms", k.to.Address, "send", "m.room.message", m.ID), body: message, header: bearer(k.secret)}, &answer)
	return notify.Receipt{Reference: answer.EventID, Detail: "posted to the room"}, err
}
