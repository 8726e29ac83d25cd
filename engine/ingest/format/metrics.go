package format

import (
	"bytes"
	"strconv"
	"strings"
)

// point is one value of a series with labels.
type point struct {
	metric string
	labels []label
	fields []label // names and values; one with an empty name for metrics
	at     string  // time as a cell, "" if there is none
}

// labelled makes a long table of lines of labelled points, which read yields. The lines are read twice: first to
// find which labels distinguish devices.
func labelled(text []byte, b *Budget, format string, read func(line []byte) (point, bool)) (*long, int, error) {
	n := newNamer()
	timeless := 0
	err := linesOf(text, func(line []byte) error {
		p, ok := read(line)
		if !ok {
			return nil
		}
		if p.at == "" {
			timeless++
		}
		return n.observe(p.metric, p.labels)
	})
	if err != nil {
		return nil, 0, err
	}
	l := newLong(b, "", format)
	broken := 0
	err = linesOf(text, func(line []byte) error {
		p, ok := read(line)
		if !ok {
			if line[0] != '#' {
				broken++
			}
			return nil
		}
		if p.at == "" {
			return nil
		}
		device, quantity := n.name(p.labels)
		for _, f := range p.fields {
			parameter := p.metric
			if f.name != "" {
				parameter = influxParameter(p.metric, f.name)
			}
			if quantity != "" {
				parameter += " " + quantity
			}
			if err := l.add(device, parameter, unitLabel(p.labels), p.at, f.value); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil && broken > 0 {
		l.table.Notes = append(l.table.Notes, strconv.Itoa(broken)+" lines are not in the format of the others and are left out; the file may be cut")
	}
	return l, timeless, err
}

// lineProtocol reads the line protocol of InfluxDB: measurement,tag=value field=value,… time.
func lineProtocol(text []byte, b *Budget) ([]Table, error) {
	l, timeless, err := labelled(text, b, formatLineProtocol, linePoint)
	if err != nil {
		return nil, err
	}
	if l.rows < 2 && timeless > 0 {
		return nil, fail(Unsupported, "the points of the line protocol have no times; export them with times, as influxd inspect export-lp does")
	}
	return one(l, "the line protocol has no field with numbers")
}

func isLineProtocol(line []byte) bool {
	p, ok := linePoint(line)
	return ok && len(p.fields)+len(p.metric) > 0 && p.at != ""
}

// linePoint reads one line of the line protocol. Fields that are no numbers are left out.
func linePoint(line []byte) (p point, ok bool) {
	if line[0] == '#' || line[0] == '"' {
		return p, false
	}
	s := string(line)
	key, rest := cutEscaped(s, ' ')
	if rest == "" {
		return p, false
	}
	fields, at := cutEscaped(rest, ' ')
	tags := splitEscaped(key, ',')
	p.metric = unescape(tags[0])
	for _, t := range tags[1:] {
		name, value := cutEscaped(t, '=')
		if value == "" {
			return p, false
		}
		p.labels = append(p.labels, label{unescape(name), unescape(value)})
	}
	for _, f := range splitEscaped(fields, ',') {
		name, value := cutEscaped(f, '=')
		if value == "" {
			return p, false
		}
		if v := strings.TrimRight(value, "iu"); finite(v) != "" {
			p.fields = append(p.fields, label{unescape(name), finite(v)})
		}
	}
	if at = strings.TrimSpace(at); at != "" {
		if p.at = instantOfDigits(at); p.at == "" {
			return p, false
		}
	}
	return p, p.metric != ""
}

// cutEscaped splits at the first mark that is neither escaped nor in quotes.
func cutEscaped(s string, mark byte) (before, after string) {
	quoted := false
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == mark && !quoted:
			return s[:i], s[i+1:]
		}
	}
	return s, ""
}

func splitEscaped(s string, mark byte) []string {
	var parts []string
	for {
		part, rest := cutEscaped(s, mark)
		parts = append(parts, part)
		if rest == "" {
			return parts
		}
		s = rest
	}
}

func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// openMetrics reads the text format of Prometheus and OpenMetrics: name{label="value",…} value time.
func openMetrics(text []byte, b *Budget) ([]Table, error) {
	l, timeless, err := labelled(text, b, formatOpenMetrics, metricPoint)
	if err != nil {
		return nil, err
	}
	if l.rows < 2 && timeless > 0 {
		return nil, fail(Unsupported, "the metrics have no times, like the page of an exporter; export a period from Prometheus with its API query_range, or promtool tsdb dump-openmetrics")
	}
	return one(l, "the metrics have no values")
}

// isOpenMetricsLine recognises a sample with labels in braces, or a plain one of a name, a number and perhaps a time.
func isOpenMetricsLine(line []byte) bool {
	p, ok := metricPoint(line)
	return ok && (len(p.labels) > 0 || p.at != "" || !bytes.ContainsAny(line, ",;\t|"))
}

// metricPoint reads one sample. Times are seconds with a fraction in OpenMetrics, milliseconds in the older format.
func metricPoint(line []byte) (p point, ok bool) {
	s := string(line)
	end := 0
	for end < len(s) && (s[end] == '_' || s[end] == ':' || s[end]|0x20 >= 'a' && s[end]|0x20 <= 'z' || end > 0 && s[end] >= '0' && s[end] <= '9') {
		end++
	}
	if end == 0 || end == len(s) {
		return p, false
	}
	p.metric, s = s[:end], s[end:]
	if s[0] == '{' {
		s = s[1:]
		for {
			s = strings.TrimLeft(s, ", ")
			if rest, closed := strings.CutPrefix(s, "}"); closed {
				s = rest
				break
			}
			name, rest, found := strings.Cut(s, `="`)
			if !found {
				return p, false
			}
			close := 0
			for close < len(rest) && rest[close] != '"' {
				if rest[close] == '\\' {
					close++
				}
				close++
			}
			if close >= len(rest) {
				return p, false
			}
			p.labels = append(p.labels, label{strings.TrimSpace(name), unescape(rest[:close])})
			s = rest[close+1:]
		}
	}
	s, _, _ = strings.Cut(s, " # ") // an exemplar
	fields := strings.Fields(s)
	if len(fields) < 1 || len(fields) > 2 {
		return p, false
	}
	if _, err := strconv.ParseFloat(fields[0], 64); err != nil {
		return p, false
	}
	p.fields = []label{{"", finite(fields[0])}}
	if len(fields) == 2 {
		seconds, err := strconv.ParseFloat(fields[1], 64)
		if err != nil {
			return p, false
		}
		if seconds > 1e11 {
			seconds /= 1000
		}
		if p.at = unixInstant(seconds); p.at == "" {
			return p, false
		}
	}
	return p, true
}
