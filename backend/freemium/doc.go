// Package freemium is the forecast without an account: a code by e-mail, then
// one file of production for the next 24 hours. Of the file nothing is kept;
// of the person, the address and what was agreed to.
package freemium
