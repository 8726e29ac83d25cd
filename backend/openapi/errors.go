package openapi

import (
	_ "embed"
	"encoding/json"
	"sync"
)

//go:embed errors.json
var errorsJSON []byte

// ErrorCode is a code of errors with the status and the messages that have it.
type ErrorCode struct {
	Code     string   `json:"code"`
	Status   int      `json:"status"`
	Messages []string `json:"messages"`
}

// Errors returns all codes of errors, by code. The generator makes them from the places
// that declare errors.
var Errors = sync.OnceValue(func() []ErrorCode {
	var list []ErrorCode
	if err := json.Unmarshal(errorsJSON, &list); err != nil {
		panic(err) // the file is a part of the program
	}
	return list
})
