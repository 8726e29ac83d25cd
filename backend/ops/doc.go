// Package ops is the domain of Sunloop's service: sites, assets, uploads,
// forecasts as they were issued, the model registry, detections, findings,
// activities and a site's vital signs, as records with their rules and state
// machines.
//
// Records live in [store.Table]s. Every query takes the caller's [api.Scope]
// and answers the contract's refusals (*[api.Error]); what the pipeline writes
// on the service's own behalf takes none. The package knows neither HTTP nor
// the engine, and reads no clock but the one it is given.
package ops
