package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"app.sunloop/backend/auth"
)

// providerTable is the name of the tables of identity providers in the
// configuration file.
const providerTable = "provider"

// providerSettings are such a table.
type providerSettings struct {
	Name          string `toml:"name"`
	Issuer        string `toml:"issuer"`
	ClientID      string `toml:"client-id"`
	UsernameClaim string `toml:"username-claim,omitempty"`
	Link          *bool  `toml:"link,omitempty"` // users who are here already; true when left out
	Provision     *struct {
		Role           string   `toml:"role,omitempty"`
		RoleClaim      string   `toml:"role-claim,omitempty"`
		Customers      []string `toml:"customers,omitempty"`
		CustomersClaim string   `toml:"customers-claim,omitempty"`
	} `toml:"provision,omitempty"`
}

// readProviders reads the tables of the file. A setting that is none is
// refused: a mistyped one would let in whom it should not.
func readProviders(tables any) ([]auth.Provider, error) {
	b, err := toml.Marshal(map[string]any{providerTable: tables})
	if err != nil {
		return nil, err
	}
	var file struct {
		Providers []providerSettings `toml:"provider"`
	}
	if err := toml.NewDecoder(bytes.NewReader(b)).DisallowUnknownFields().Decode(&file); err != nil {
		var unknown *toml.StrictMissingError
		if errors.As(err, &unknown) {
			return nil, fmt.Errorf("[[%s]] has no setting %q", providerTable, strings.Join(unknown.Errors[0].Key()[1:], "."))
		}
		return nil, fmt.Errorf("[[%s]]: %s", providerTable, strings.TrimPrefix(err.Error(), "toml: "))
	}
	var list []auth.Provider
	for _, s := range file.Providers {
		p := auth.Provider{Name: s.Name, Issuer: s.Issuer, ClientID: s.ClientID, UsernameClaim: s.UsernameClaim, KeepApart: s.Link != nil && !*s.Link}
		if v := s.Provision; v != nil {
			p.Provision = &auth.Provision{Role: v.Role, RoleClaim: v.RoleClaim, Customers: v.Customers, CustomersClaim: v.CustomersClaim}
		}
		list = append(list, p)
	}
	return list, nil
}

// showProviders lists them as the file has them. They hold no secret.
func showProviders(out io.Writer, tables any) error {
	if tables == nil {
		return nil
	}
	b, err := toml.Marshal(map[string]any{providerTable: tables})
	if err == nil {
		_, err = fmt.Fprintf(out, "\n%s", b)
	}
	return err
}
