// Package listener serves a handler on sockets: several listeners, each with all
// hosts' paths or some; TLS with a certificate of its own making or from files
// that may change; bounds on connections and on clients that send slowly; and
// an end that lets requests finish.
package listener
