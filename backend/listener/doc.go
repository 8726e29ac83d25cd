// Package listener serves a handler on sockets: several listeners, each with
// all hosts' paths or some; TLS with a self-signed certificate or one from
// files that may change; limits on connections and on slow clients; and a
// shutdown that lets requests finish.
package listener
