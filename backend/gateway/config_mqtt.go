package gateway

import (
	"fmt"
	"strings"
	"time"

	"app.sunloop/backend/gateway/mqtt"
	"app.sunloop/engine/dialect"
	"app.sunloop/engine/reading"
)

// MQTT is a broker to which devices publish.
type MQTT struct {
	Address         string `toml:"address"` // see [mqtt.Config]
	Dialect         string `toml:"dialect"`
	Prefix          string `toml:"prefix,omitempty"` // of the topics; that of the dialect
	Timezone        string `toml:"timezone,omitempty"`
	Plaintext       bool   `toml:"plaintext,omitempty"`
	Protocol        string `toml:"protocol,omitempty"` // version of MQTT: auto (without one), 5 or 3.1.1
	ClientID        string `toml:"client_id,omitempty"`
	User            string `toml:"user,omitempty"`
	PasswordFile    string `toml:"password_file,omitempty"`
	CAFile          string `toml:"ca_file,omitempty"`
	CertificateFile string `toml:"certificate_file,omitempty"`
	KeyFile         string `toml:"key_file,omitempty"`
	HomeAssistant   string `toml:"home_assistant,omitempty"` // prefix of its discovery; empty: nothing is announced

	HostID string `toml:"host_id,omitempty"` // id of Sunloop as the primary host application of Sparkplug; empty: it is none

	Values  []MQTTValue `toml:"value"`
	Devices []Device    `toml:"device"`
}

// MQTTValue says where messages have a value; see [dialect.Rule].
type MQTTValue struct {
	Topic  string   `toml:"topic"`
	Path   string   `toml:"path,omitempty"` // "-": the message is the value
	Value  string   `toml:"value"`
	Unit   string   `toml:"unit,omitempty"`
	Factor float64  `toml:"factor,omitempty"`
	States []string `toml:"states,omitempty"`
}

// source returns the reader of the messages.
func (m *MQTT) source(site Site) (dialect.Source, error) {
	zone := m.Timezone
	if zone == "" {
		zone = site.Timezone
	}
	o := dialect.Options{Prefix: m.Prefix}
	var err error
	if o.Location, err = time.LoadLocation(zone); err != nil {
		return nil, fmt.Errorf("timezone: %w", err)
	}
	for _, v := range m.Values {
		r := dialect.Rule{Topic: v.Topic, Path: v.Path, Value: v.Value, Unit: v.Unit, Factor: v.Factor}
		if r.Path == "" {
			r.Path = "-"
		}
		if r.States, err = reading.ParseStates(v.States); err != nil {
			return nil, fmt.Errorf("value %s: %w", v.Value, err)
		}
		o.Rules = append(o.Rules, r)
	}
	for i := range m.Devices {
		o.Devices = append(o.Devices, m.Devices[i].ID)
	}
	return dialect.New(m.Dialect, o)
}

// connection is the configuration of the connection, without its callbacks.
func (m *MQTT) connection() mqtt.Config {
	return mqtt.Config{Address: m.Address, Plaintext: m.Plaintext, Protocol: m.Protocol, ClientID: m.ClientID, User: m.User, PasswordFile: m.PasswordFile, CAFile: m.CAFile,
		CertificateFile: m.CertificateFile, KeyFile: m.KeyFile, Host: m.HostID}
}

func (c *Config) checkMQTT(assets map[string]bool) error {
	for i := range c.MQTT {
		m := &c.MQTT[i]
		connection := m.connection()
		if err := connection.Check(); err != nil {
			return fmt.Errorf("mqtt: %w", err)
		}
		if _, err := m.source(c.Site); err != nil {
			return fmt.Errorf("mqtt %s: %w", m.Address, err)
		}
		if strings.ContainsAny(m.HomeAssistant, "#+") || strings.HasSuffix(m.HomeAssistant, "/") {
			return fmt.Errorf("home_assistant of %s: invalid prefix %q", m.Address, m.HomeAssistant)
		}
		switch {
		case m.HostID == "":
		case m.Dialect != "sparkplug":
			return fmt.Errorf("host_id of %s: only with the dialect sparkplug", m.Address)
		case strings.ContainsAny(m.HostID, "/#+\x00"):
			return fmt.Errorf("host_id of %s: invalid id %q", m.Address, m.HostID)
		case m.HomeAssistant != "":
			return fmt.Errorf("host_id of %s: a connection has one will; give home_assistant in another section", m.Address)
		}
		ids := map[string]bool{}
		for k := range m.Devices {
			d := &m.Devices[k]
			switch {
			case d.ID == "":
				return fmt.Errorf("id of %s: required: the name of the device in the messages", d.Asset)
			case ids[d.ID]:
				return fmt.Errorf("id %q of %s: two devices have it", d.ID, m.Address)
			case d.Unit != 0 || d.Base != 0 || d.Index != 0 || d.Registers != 0 || d.Map != "":
				return fmt.Errorf("device %s: unit, base, index, registers and map are of devices that are read over Modbus", d.Asset)
			}
			ids[d.ID] = true
			if err := d.check("device "+d.ID+" of "+m.Address, assets); err != nil {
				return err
			}
		}
	}
	return nil
}
