// Package auth knows who may do what: users with passwords and
// authenticators, their sessions and tokens, API keys, and the table of
// permissions. It keeps all of it in a [store.Records], the secrets sealed
// under a key that lies outside of it, and reads no clock of its own.
//
// Refusals are *[api.Error] in the contract's words; other errors are the
// store's.
package auth
