// Package auth manages users with passwords and authenticators, their sessions
// and tokens, API keys, and the table of permissions. It stores all of it in a
// [store.Records], with secrets sealed under a key that is stored elsewhere,
// and uses the given clocks only. Errors for callers are *[api.Error] in the
// contract's words; other errors come from the store.
package auth
