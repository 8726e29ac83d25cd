package solar_test

import (
	"fmt"
	"time"

	"app.sunloop/engine/solar"
)

// The power of a plant of 100 kW in Durban under a clear sky.
func Example() {
	durban := solar.Location{LatitudeDeg: -29.86, LongitudeDeg: 31.02}
	noon := time.Date(2026, 12, 21, 10, 0, 0, 0, time.UTC)
	position := solar.At(noon, durban)
	clear := solar.ClearSky(noon, position, durban, solar.LinkeTurbidity(durban, noon.Month()))
	plant := solar.Plant{ACCapacityKW: 100, Plane: solar.Plane{TiltDeg: 25, AzimuthDeg: 0}}
	power := plant.PowerKW(position, clear, solar.Extraterrestrial(noon), 27, 3)
	fmt.Printf("the sun is %.0f° high; %.0f W/m² on the ground, %.0f kW\n", 90-position.ZenithDeg, clear.GHI, power)
	// Output: the sun is 83° high; 1063 W/m² on the ground, 92 kW
}

// Sunrise and sunset of a day, in UTC.
func ExampleDay() {
	vienna := solar.Location{LatitudeDeg: 48.21, LongitudeDeg: 16.37}
	rise, _, set, ok := solar.Day(time.Date(2026, 6, 21, 0, 0, 0, 0, time.UTC), vienna)
	fmt.Println(rise.Format("15:04"), set.Format("15:04"), ok)
	// Output: 02:53 18:58 true
}
