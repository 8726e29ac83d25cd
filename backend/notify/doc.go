// Package notify plans notifications of alarms: who receives which message, when, and
// what holds or suppresses it. It reads no clock and no storage: a plan is a function
// of configuration, history and time. [Message] and [Sender] are what the planner and
// the channels share; backend/notify/channel sends, backend/domain/notification keeps
// configuration, incidents and deliveries.
//
// An incident is a group of alarms with one cause. Alarm, acknowledge, shelve,
// suppress, flood and chattering have the meaning of ISA-18.2.
package notify
