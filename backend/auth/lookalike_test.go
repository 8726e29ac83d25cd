package auth

import (
	"errors"
	"testing"

	"app.sunloop/backend/api"
)

func TestLookalikeNames(t *testing.T) {
	for name, good := range map[string]bool{
		"root": true, "ana.lima@example.org": true, "Åsa-Öström": true, "жанна": true, "Ольга.Петрова": true, "γιώργος": true, "田中さくら": true, "김민준": true,
		"محمد": true, "अनिता": true, "tanaka田中": true, "1234": true, "ılker": true, "нина2": true,
		"r\u043e\u043et":                   false, // Cyrillic о
		"\u0440\u043e\u043et":              false, // Cyrillic ро
		"\u0440\u0430\u0443\u0440\u0430":   false, // Cyrillic alone, reads paypa
		"\u03bfv\u03bf":                    false, // Greek ο
		"\uff52\uff4f\uff4f\uff54":         false, // full width
		"\u0251na":                         false, // phonetic
		"ana\u0661":                        false, // Arabic digit
		"\u0430\u0434\u043c\u0456\u043din": false,
		"\ufb01nn":                         false, // ligature
	} {
		err := checkLookalike("username", name)
		if (err == nil) != good {
			t.Errorf("%q (%+q): %v", name, name, err)
		}
	}
	w := newWorld(t, nil)
	_, err := w.CreateUser(t.Context(), NewUser{Username: "\u0440\u043e\u043et", Password: goodPassword, Role: api.RoleAdmin})
	if refusal := (*api.Error)(nil); !errors.As(err, &refusal) || refusal.Status != 400 || refusal.Details["field"] != "username" {
		t.Errorf("a user: %v", err)
	}
}
