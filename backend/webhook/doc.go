// Package webhook posts events to places that subscribers name, signed after
// the Standard Webhooks specification 1.0, until they are received.
//
// A place is checked when it is named and again at every connection: nothing
// that is private, local or reserved is reached, however the address is written
// and whatever its name resolves to at that moment. No proxy is used and no
// redirect followed.
package webhook
