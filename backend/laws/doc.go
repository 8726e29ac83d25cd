// Package laws has only tests: laws that every figure of the service must obey,
// whatever the plant, the steps of its data and the way in which they arrived.
//
// A draw is a small plant with a known power, made from a seed. Its data are
// uploaded to a service over a temporary folder, and read back from each surface:
// records, summaries, KPIs, rollups, the live chart, the console's header and exports,
// and plain text. What the
// figures must be is computed here, minute by minute, from the power that was drawn
// and from what was uploaded, without any code of the engine or the store.
//
// A failure names its seed: SUNLOOP_TEST_LAWS_SEED=7 repeats that draw alone.
// SUNLOOP_TEST_LAWS=N multiplies the number of draws, and SUNLOOP_TEST_LAWS_FROM=N
// starts them at another seed.
package laws
