// Package mail sends the service's messages: over SMTP, or, where no server is
// configured, into an outbox folder of .eml files that any mail program opens.
// A message is text for one recipient: plain, or plain and HTML with pictures.
package mail
