package forecast

// What the tests of the package look at beyond its interface.
var KeepWeather = keepWeather

func (w Weather) Joined(later Weather) Weather { return w.joined(later) }
