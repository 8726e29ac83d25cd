package kpi

// RatioStep is the grid of the tests' data.
const RatioStep = ratioStep
