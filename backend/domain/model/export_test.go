package model

// What the tests of the package look at beyond its interface.
const KeptInterpolations = keptInterpolations

func (m *Model) Transition(to string, by StatusChange) error { return m.move(to, by) }
