package forecast

import (
	"app.sunloop/engine/series"
	"app.sunloop/engine/weather"
)

// column is the first of the columns that holds a quantity, what was forecast
// before what was measured; without a series where there is none.
func column(columns []weather.Column, q weather.Quantity) series.Series {
	for _, measured := range []bool{false, true} {
		for _, c := range columns {
			if c.Quantity == q && c.Measured == measured && c.Series.Len() > 0 {
				return c.Series
			}
		}
	}
	return series.Series{}
}
