// Package maintenance is the domain of work management: what is planned (schedules),
// what it takes (bills of materials, parts and their stock), what is being done
// (work orders), and who is told of it (subscriptions and their deliveries).
//
// Records stand on the tables of backend/store as those of backend/domain do. The
// moves of a status are one table for each kind of record; a move that the
// table does not have is a 409 that names those that it has. A request for the
// status that a record has already changes nothing and succeeds. Each change
// is kept with who made it, when, from what, to what and why.
package maintenance
