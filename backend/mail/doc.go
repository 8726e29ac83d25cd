// Package mail sends the service's letters: over SMTP, or, where no server is
// configured, into an outbox folder of .eml files that any mail program opens.
// A letter is plain text to one person.
package mail
