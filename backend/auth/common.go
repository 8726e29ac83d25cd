package auth

import (
	"slices"
	"strings"
	"unicode"

	"app.sunloop/backend/api"
	"golang.org/x/text/unicode/norm"
)

// guessed are the bases of commonly guessed passwords, without the digits and
// symbols around them: see [stem].
var guessed = []string{
	"password", "passwort", "passphrase", "passcode", "motdepasse", "contrasena", "wachtwoord", "haslo", "senha", "kennwort", "geheim", "secret", "changeme", "letmein", "welcome", "willkommen", "bienvenue", "hello", "hallo", "default", "temporary", "temp", "test", "testing", "tester", "guest", "demo", "login", "user", "username",
	"admin", "administrator", "root", "superuser", "operator", "technician", "analyst", "service", "support", "master", "manager",
	"sunloop", "solar", "sunshine", "inverter", "photovoltaic", "solarplant", "powerplant", "energy",
	"iloveyou", "princess", "dragon", "monkey", "football", "baseball", "superman", "batman", "starwars", "pokemon", "shadow", "trustno", "whatever", "freedom", "computer", "internet", "samsung", "google", "facebook", "michael", "jennifer", "jordan", "liverpool", "chelsea", "mustang", "corvette", "porsche", "ferrari",
	"spring", "summer", "autumn", "winter", "fruhling", "sommer", "herbst", "january", "february", "march", "april", "june", "july", "august", "september", "october", "november", "december", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
}

// rows are sequences of adjacent keys and of letters; any part of one is guessed.
var rows = []string{
	"abcdefghijklmnopqrstuvwxyz", "012345678901234567890", "qwertyuiopasdfghjklzxcvbnm", "qwertzuiopasdfghjklyxcvbnm", "azertyuiopqsdfghjklmwxcvbn",
	"1q2w3e4r5t6z7u8i9o0p", "1q2w3e4r5t6y7u8i9o0p", "q1w2e3r4t5y6u7i8o9p0", "1qaz2wsx3edc4rfv5tgb6yhn7ujm", "qazwsxedcrfvtgbyhnujm", "abc123abc123abc123", "123abc123abc123abc", "a1b2c3d4e5f6g7h8",
}

// spelled maps symbols to the letters that they replace.
var spelled = strings.NewReplacer("0", "o", "1", "i", "3", "e", "4", "a", "5", "s", "7", "t", "@", "a", "$", "s", "!", "i")

// stem returns a text without diacritics, case, and the digits and symbols
// before and after its letters, with symbols inside replaced by letters.
func stem(text string) string {
	var b strings.Builder
	for _, r := range norm.NFKD.String(text) {
		if !unicode.IsMark(r) {
			b.WriteRune(unicode.ToLower(r)) // after NFKD, which has capital letters for those of mathematics
		}
	}
	letters := strings.TrimFunc(b.String(), func(r rune) bool { return !unicode.IsLetter(r) && r != '@' && r != '$' })
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r
		}
		return -1
	}, spelled.Replace(letters))
}

// guessable refuses a password that is among the first that an attacker
// would try, for any user and for this one.
func guessable(password, username string) error {
	plain := strings.ToLower(norm.NFKC.String(password))
	word := stem(password)
	for n := 1; n <= len(word)/2; n++ { // one word, some times
		if len(word)%n == 0 && strings.Repeat(word[:n], len(word)/n) == word {
			word = word[:n]
			break
		}
	}
	backwards := []rune(plain)
	first := string(backwards[:1])
	slices.Reverse(backwards)
	walk := func(row string) bool { return strings.Contains(row, plain) || strings.Contains(row, string(backwards)) }
	switch {
	case strings.Trim(plain, first) == "", slices.Contains(guessed, word), slices.ContainsFunc(rows, walk):
		return api.InvalidField("password", "one of the first that an attacker would try")
	}
	local, _, _ := strings.Cut(username, "@")
	for _, name := range []string{username, local} {
		if n := stem(name); strings.EqualFold(password, name) || n != "" && (n == word || n == stem(string(backwards))) {
			return api.InvalidField("password", "hardly more than the username")
		}
	}
	return nil
}
