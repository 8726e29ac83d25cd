package channel

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"html/template"
	"strings"
	"time"

	"app.sunloop/backend/mail"
	"app.sunloop/backend/notify"
)

// chartName is the file name of the chart of a message.
const chartName = "chart.png"

// sendMail sends by the mail server of the service.
func (c *Channels) sendMail(ctx context.Context, to notify.Target, m notify.Message) (notify.Receipt, error) {
	if c.mailer == nil {
		return notify.Receipt{}, notify.Permanent(errors.New("send by email: the service has no mail server"))
	}
	if err := checkAddress(notify.ChannelEmail, to.Address); err != nil {
		return notify.Receipt{}, notify.Permanent(fmt.Errorf("address of the recipient: %w", err))
	}
	if c.chart != nil && len(m.ChartPNG) == 0 && m.SiteID != "" && m.Thread != "" {
		// Without the picture the message is still of use.
		if chart, err := c.drawChart(ctx, m); err == nil {
			m.ChartPNG = chart
		}
	}
	message, err := Mail(to, m)
	if err != nil {
		return notify.Receipt{}, notify.Permanent(err)
	}
	err = c.mailer.Send(ctx, message)
	switch code := mail.Code(err); {
	case err == nil:
	case errors.Is(err, mail.ErrCredentials):
		return notify.Receipt{}, fmt.Errorf("send by email: %w", mail.ErrCredentials)
	case errors.Is(err, mail.ErrRefused):
		return notify.Receipt{}, notify.Permanent(fmt.Errorf("send by email: %w, code %d", mail.ErrRefused, code))
	case code != 0:
		return notify.Receipt{}, fmt.Errorf("send by email: the mail server does not accept the message now, code %d", code)
	default:
		return notify.Receipt{}, errors.New("send by email: the mail server was not reachable, or the connection is not as configured")
	}
	reference := message.ID
	if len(message.Thread) > 0 {
		reference = message.Thread[0]
	}
	return notify.Receipt{At: c.now(), Reference: reference, Detail: "accepted by the mail server"}, nil
}

// chartFor is how long a picture may take of the time of a message.
const chartFor = 5 * time.Second

func (c *Channels) drawChart(ctx context.Context, m notify.Message) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, chartFor)
	defer cancel()
	return c.chart(ctx, m.SiteID, m.At)
}

// mailID is the local part of a Message-ID for an id: itself, if it has the characters
// for it.
func mailID(id string) string {
	if id == "" || len(id) > 64 || strings.ContainsFunc(id, func(r rune) bool {
		return !(r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}) {
		sum := sha256.Sum256([]byte(id))
		return hex.EncodeToString(sum[:16])
	}
	return id
}

// Mail is a message as e-mail: plain text, HTML and the chart.
func Mail(to notify.Target, m notify.Message) (mail.Message, error) {
	out := mail.Message{To: to.Address, Subject: oneLine(m.Title), At: m.At, ID: mailID(m.ID)}
	if m.Reference != "" {
		out.Thread = []string{mailID(m.Reference)}
		out.Subject = "Re: " + out.Subject
	}
	var text strings.Builder
	if to.Name != "" {
		text.WriteString("Hello " + oneLine(to.Name) + ",\n\n")
	}
	if len(m.Lines) > 0 {
		text.WriteString(body(m) + "\n\n")
	} else {
		text.WriteString(m.Title + "\n\n")
	}
	for _, l := range links(m) {
		text.WriteString(l.Label + ":\n" + l.URL + "\n\n")
	}
	text.WriteString(footer(m) + "\n")
	out.Text = text.String()

	data := mailData{Title: oneLine(m.Title), Lines: m.Lines, Colour: template.CSS(words[level(m)].colour), Body: template.HTML(m.HTML), Footer: footer(m)} //nolint:gosec // Body is made by the service and escaped there
	if to.Name != "" {
		data.Name = oneLine(to.Name)
	}
	all := links(m)
	data.Actions, data.Links = all[:countActions(m)], all[countActions(m):]
	if len(m.ChartPNG) > 0 {
		chart := mail.Picture{Name: chartName, PNG: m.ChartPNG}
		data.Chart = template.URL(chart.URL()) //nolint:gosec // a constant
		out.Pictures = []mail.Picture{chart}
	}
	var page strings.Builder
	if err := mailTemplate.Execute(&page, data); err != nil {
		return out, fmt.Errorf("write the HTML of the message: %w", err)
	}
	out.HTML = page.String()
	return out, nil
}

// countActions is how many of the links of a message are actions.
func countActions(m notify.Message) int {
	m.Links = nil
	return len(links(m))
}

// footer says why the recipient has the message.
func footer(m notify.Message) string {
	switch m.Kind {
	case notify.KindTest:
		return "Sunloop sent this message because an administrator tested a channel."
	case notify.KindReport:
		return "Sunloop sent this report because you subscribed to it. Change your notifications in the console, or ask your administrator."
	}
	return "Sunloop sent this message because a notification route names you. Acknowledge links are personal: do not forward this message."
}

type mailData struct {
	Name, Title, Footer string
	Lines               []string
	Colour              template.CSS
	Body                template.HTML
	Chart               template.URL
	Actions, Links      []notify.Link
}

// mailTemplate is the HTML of a message. Programs for mail ignore style sheets, so that
// styles are attributes; it has no script and loads nothing from elsewhere.
var mailTemplate = template.Must(template.New("mail").Parse(`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light">
<title>{{.Title}}</title>
</head>
<body style="margin:0;padding:16px;background:#ffffff;color:#212529;font-family:sans-serif;font-size:16px;line-height:1.45">
<div style="max-width:600px;margin:0 auto">
<h1 style="font-size:19px;line-height:1.3;margin:0 0 16px;padding-left:12px;border-left:5px solid {{.Colour}}">{{.Title}}</h1>
{{- if .Name}}
<p style="margin:0 0 12px">Hello {{.Name}},</p>
{{- end}}
{{- if .Body}}
{{.Body}}
{{- else}}
{{- range .Lines}}
<p style="margin:0 0 8px">{{.}}</p>
{{- end}}
{{- end}}
{{- if .Chart}}
<p style="margin:16px 0"><img src="{{.Chart}}" width="560" height="240" alt="Power of the day: actual, expected and lost" style="max-width:100%;height:auto"></p>
{{- end}}
{{- range .Actions}}
<p style="margin:16px 0"><a href="{{.URL}}" style="display:inline-block;padding:12px 20px;background:#0b5394;color:#ffffff;text-decoration:none;border-radius:4px">{{.Label}}</a></p>
{{- end}}
{{- range .Links}}
<p style="margin:8px 0"><a href="{{.URL}}" style="color:#0b5394">{{.Label}}</a></p>
{{- end}}
<p style="margin:24px 0 0;padding-top:12px;border-top:1px solid #dee2e6;color:#495057;font-size:13px">{{.Footer}}</p>
</div>
</body>
</html>
`))
