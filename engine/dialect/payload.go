package dialect

import (
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// payload is a payload of Sparkplug B, as far as it is read.
type payload struct {
	timestamp uint64 // ms; 0: none
	seq       int    // -1: none
	metrics   []metric
}

// metric is a metric of a payload.
type metric struct {
	name       string
	alias      uint64
	hasAlias   bool
	timestamp  uint64
	datatype   uint64
	historical bool
	null       bool
	unit       string // engUnit
	value      metricValue
}

// metricValue is the value as it is encoded; its meaning depends on the type of the metric.
type metricValue struct {
	kind  valueKind
	bits  uint64
	float float64
	text  string
}

type valueKind int

const (
	noValue valueKind = iota
	intValue
	longValue
	floatValue
	boolValue
	textValue
)

// Types of Sparkplug.
const (
	typeInt8   = 1
	typeInt16  = 2
	typeInt32  = 3
	typeInt64  = 4
	typeUInt64 = 8
)

// maxMetrics bounds the metrics of a payload.
const maxMetrics = 10_000

var errPayload = errors.New("the payload is none of Sparkplug B")

// fieldsOf calls do for each field of a message: v for numbers, b for texts and messages.
func fieldsOf(b []byte, do func(number protowire.Number, kind protowire.Type, v uint64, b []byte) error) error {
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			return errPayload
		}
		b = b[n:]
		var v uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			v, n = protowire.ConsumeVarint(b)
		case protowire.Fixed32Type:
			var w uint32
			w, n = protowire.ConsumeFixed32(b)
			v = uint64(w)
		case protowire.Fixed64Type:
			v, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			text, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(number, kind, b)
		}
		if n < 0 {
			return errPayload
		}
		b = b[n:]
		if err := do(number, kind, v, text); err != nil {
			return err
		}
	}
	return nil
}

func decodePayload(b []byte) (payload, error) {
	p := payload{seq: -1}
	err := fieldsOf(b, func(number protowire.Number, kind protowire.Type, v uint64, b []byte) error {
		switch {
		case number == 1 && kind == protowire.VarintType:
			p.timestamp = v
		case number == 2 && kind == protowire.BytesType:
			if len(p.metrics) == maxMetrics {
				return errPayload
			}
			m, err := decodeMetric(b)
			if err != nil {
				return err
			}
			p.metrics = append(p.metrics, m)
		case number == 3 && kind == protowire.VarintType:
			if v > 255 {
				return errPayload
			}
			p.seq = int(v)
		}
		return nil
	})
	return p, err
}

func decodeMetric(b []byte) (m metric, err error) {
	err = fieldsOf(b, func(number protowire.Number, kind protowire.Type, v uint64, b []byte) error {
		isNumber := kind == protowire.VarintType
		switch {
		case number == 1 && kind == protowire.BytesType:
			m.name = string(b)
		case number == 2 && isNumber:
			m.alias, m.hasAlias = v, true
		case number == 3 && isNumber:
			m.timestamp = v
		case number == 4 && isNumber:
			m.datatype = v
		case number == 5 && isNumber:
			m.historical = v != 0
		case number == 7 && isNumber:
			m.null = v != 0
		case number == 9 && kind == protowire.BytesType:
			var err error
			m.unit, err = unitOf(b)
			return err
		case number == 10 && isNumber:
			m.value = metricValue{kind: intValue, bits: v}
		case number == 11 && isNumber:
			m.value = metricValue{kind: longValue, bits: v}
		case number == 12 && kind == protowire.Fixed32Type:
			m.value = metricValue{kind: floatValue, float: float64(math.Float32frombits(uint32(v)))} //nolint:gosec // of 32 bits
		case number == 13 && kind == protowire.Fixed64Type:
			m.value = metricValue{kind: floatValue, float: math.Float64frombits(v)}
		case number == 14 && isNumber:
			m.value = metricValue{kind: boolValue, bits: v}
		case number == 15 && kind == protowire.BytesType:
			m.value = metricValue{kind: textValue, text: string(b)}
		}
		return nil
	})
	return m, err
}

// unitOf is the text of the property engUnit.
func unitOf(b []byte) (unit string, err error) {
	var keys, values []string
	err = fieldsOf(b, func(number protowire.Number, kind protowire.Type, _ uint64, b []byte) error {
		switch {
		case number == 1 && kind == protowire.BytesType:
			keys = append(keys, string(b))
		case number == 2 && kind == protowire.BytesType:
			value := ""
			err := fieldsOf(b, func(number protowire.Number, kind protowire.Type, _ uint64, b []byte) error {
				if number == 8 && kind == protowire.BytesType {
					value = string(b)
				}
				return nil
			})
			values = append(values, value)
			return err
		}
		return nil
	})
	for i, k := range keys {
		if k == "engUnit" && i < len(values) {
			return values[i], err
		}
	}
	return "", err
}

// number is the value of a metric of a type; NaN: it has none. Unsigned 32-bit numbers
// come as int or as long value.
func (v *metricValue) number(datatype uint64) float64 {
	switch v.kind {
	case floatValue:
		if math.IsInf(v.float, 0) {
			return math.NaN()
		}
		return v.float
	case boolValue:
		return float64(v.bits & 1)
	case intValue, longValue:
		switch datatype {
		case typeInt8:
			return float64(int8(v.bits)) //nolint:gosec // the bits of a signed number
		case typeInt16:
			return float64(int16(v.bits)) //nolint:gosec // the bits of a signed number
		case typeInt32:
			return float64(int32(v.bits)) //nolint:gosec // the bits of a signed number
		case typeInt64:
			return float64(int64(v.bits)) //nolint:gosec // the bits of a signed number
		case typeUInt64:
			return float64(v.bits)
		}
		if v.kind == intValue {
			return float64(uint32(v.bits)) //nolint:gosec // of 32 bits
		}
		return float64(v.bits)
	case textValue:
		return number(v.text)
	}
	return math.NaN()
}

// rebirthPayload is the command that makes an edge send its births again.
func rebirthPayload(ms uint64) []byte {
	m := protowire.AppendTag(nil, 1, protowire.BytesType)
	m = protowire.AppendString(m, rebirthMetric)
	m = protowire.AppendTag(m, 3, protowire.VarintType)
	m = protowire.AppendVarint(m, ms)
	m = protowire.AppendTag(m, 4, protowire.VarintType)
	m = protowire.AppendVarint(m, 11) // Boolean
	m = protowire.AppendTag(m, 14, protowire.VarintType)
	m = protowire.AppendVarint(m, 1)
	b := protowire.AppendTag(nil, 1, protowire.VarintType)
	b = protowire.AppendVarint(b, ms)
	b = protowire.AppendTag(b, 2, protowire.BytesType)
	return protowire.AppendBytes(b, m)
}

// rebirthMetric is the only metric that is ever published to an edge.
const rebirthMetric = "Node Control/Rebirth"
