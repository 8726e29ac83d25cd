// Package resilience holds a service that runs to what it promises while it is
// killed, raced and pressed: the program that is delivered, as a process of its
// own, over real sockets and on a real data folder. There is no code in it but
// tests.
package resilience
