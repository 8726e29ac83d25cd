package points

import (
	"errors"
	"math"
	"strconv"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// RemoteWrite reads a message prometheus.WriteRequest, unpacked: of Prometheus remote
// write 1.0. The name of a series is the quantity, and a label has the id of the unit.
// Series without that label or of another name are no points: they are counted. NaN,
// with which a sender marks the end of a series, is no point.
func RemoteWrite(b []byte, o Options) (Batch, error) {
	o.SkipUnknown = true
	c := newCollector(o)
	n := 0
	err := messages(b, 1, func(b []byte) error {
		n++
		if why := c.series(b); why != "" {
			return &Error{"series " + strconv.Itoa(n), why}
		}
		return nil
	})
	if errors.Is(err, errProtobuf) {
		return Batch{}, &Error{"body", "it is not a message prometheus.WriteRequest"}
	}
	if err != nil {
		return Batch{}, err
	}
	return c.batch(), nil
}

var errProtobuf = errors.New("malformed protobuf")

// fields calls visit with each field of a message. Values of other kinds than bytes are
// passed as numbers.
func fields(b []byte, visit func(number protowire.Number, text []byte, n uint64) error) error {
	for len(b) > 0 {
		number, kind, size := protowire.ConsumeTag(b)
		if size < 0 {
			return errProtobuf
		}
		b = b[size:]
		var text []byte
		var n uint64
		switch kind {
		case protowire.BytesType:
			text, size = protowire.ConsumeBytes(b)
		case protowire.VarintType:
			n, size = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			n, size = protowire.ConsumeFixed64(b)
		default:
			number, size = 0, protowire.ConsumeFieldValue(number, kind, b)
		}
		if size < 0 {
			return errProtobuf
		}
		b = b[size:]
		if number == 0 {
			continue
		}
		if err := visit(number, text, n); err != nil {
			return err
		}
	}
	return nil
}

// messages calls visit with each message in a field.
func messages(b []byte, field protowire.Number, visit func([]byte) error) error {
	return fields(b, func(number protowire.Number, text []byte, _ uint64) error {
		if number != field {
			return nil
		}
		return visit(text)
	})
}

// series reads a TimeSeries and returns why it is refused.
func (c *collector) series(b []byte) string {
	var name, id []byte
	samples := 0
	err := fields(b, func(number protowire.Number, text []byte, _ uint64) error {
		if number == 2 {
			samples++
		}
		if number != 1 {
			return nil
		}
		var label, is []byte
		err := fields(text, func(number protowire.Number, text []byte, _ uint64) error {
			switch number {
			case 1:
				label = text
			case 2:
				is = text
			}
			return nil
		})
		switch string(label) {
		case "__name__":
			name = is
		case c.options.AssetTag:
			id = is
		}
		return err
	})
	if err != nil {
		return "it is malformed"
	}
	q, known := quantities[string(name)]
	if !known || len(id) == 0 {
		c.ignored += samples
		return ""
	}
	u, why := c.unit(id)
	if why != "" {
		return why
	}
	err = messages(b, 2, func(b []byte) error {
		var v float64
		var at int64
		if err := fields(b, func(number protowire.Number, _ []byte, n uint64) error {
			switch number {
			case 1:
				v = math.Float64frombits(n)
			case 2:
				at = int64(n) //nolint:gosec // the message has it as an int64
			}
			return nil
		}); err != nil {
			return err
		}
		if math.IsNaN(v) {
			return nil
		}
		t := time.UnixMilli(at).Unix()
		if why = c.wrongTime(t); why == "" {
			why = c.add(u, q, t, v)
		}
		if why != "" {
			return &Error{"", why}
		}
		return nil
	})
	if errors.Is(err, errProtobuf) {
		return "it is malformed"
	}
	return why
}
