// Package resilience tests the guarantees of a running service while it is
// killed, raced and loaded: the program as delivered, as a separate process,
// over real sockets and on a real data folder. There is no code in it but
// tests.
package resilience
