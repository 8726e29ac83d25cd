package metric

// Scores measure the quality of forecasts. All fields except N, Skill,
// the coverages, Width80Day and DailyEnergyError are shares of the AC capacity.
type Scores struct {
	N int `json:"n"` // intervals scored

	// Pinball is the mean pinball loss over the probabilities 0.01 … 0.99,
	// PinballDeciles that over 0.1 … 0.9.
	Pinball        float64 `json:"pinball"`
	PinballDeciles float64 `json:"pinball_deciles"`
	// CRPS is the continuous ranked probability score: the integral of twice
	// the pinball loss over all probabilities, by the grid of Pinball. Of a
	// forecast without a spread it is the absolute error.
	CRPS float64 `json:"crps"`

	NMAE  float64 `json:"nmae"`  // mean absolute error of the median
	NRMSE float64 `json:"nrmse"` // root mean squared error of the mean
	NMBE  float64 `json:"nmbe"`  // mean error of the mean; positive is too high

	// Skill is 1 - NRMSE / NRMSE of smart persistence on the same intervals;
	// absent where that is without error.
	Skill *float64 `json:"skill,omitempty"`

	// Coverage80 is the share of actuals within P10 … P90 and Width80 the mean
	// of P90 - P10, with the sun up: at night any band holds.
	Coverage80 float64 `json:"coverage80"`
	Width80    float64 `json:"width80"`

	// Coverage80Day is the share of days whose energy lies within P10 … P90 of the
	// day (forecast.EnergyOf), and Width80Day the mean width of that band over the
	// mean energy of a day, both with the sun up. The band of each day is fitted to
	// the site by the days before it (forecast.DayBand); Uncalibrated80Day is the
	// share without that. Absent where there is no band.
	Coverage80Day     float64 `json:"coverage80_day,omitempty"`
	Width80Day        float64 `json:"width80_day,omitempty"`
	Uncalibrated80Day float64 `json:"uncalibrated80_day,omitempty"`

	// DailyEnergyError is the mean absolute error of a day's energy over the
	// mean energy of a day, of what was scored of each day.
	DailyEnergyError float64 `json:"daily_energy_error"`
}

// Month is the figures of one month, 2006-01.
type Month struct {
	Month string `json:"month"`
	Scores
}

// Against is s with the skill over a reference.
func (s Scores) Against(reference Scores) Scores {
	s.Skill = nil
	if reference.NRMSE > 0 {
		skill := 1 - s.NRMSE/reference.NRMSE
		s.Skill = &skill
	}
	return s
}

// Mean is the plain mean of figures, each set counting the same however many
// intervals it has; N is their sum. Skill is the mean of those that have one.
func Mean(all []Scores) Scores {
	var out Scores
	k, skills, skill := float64(len(all)), 0.0, 0.0
	for _, s := range all {
		out.N += s.N
		out.Pinball += s.Pinball / k
		out.PinballDeciles += s.PinballDeciles / k
		out.CRPS += s.CRPS / k
		out.NMAE += s.NMAE / k
		out.NRMSE += s.NRMSE / k
		out.NMBE += s.NMBE / k
		out.Coverage80 += s.Coverage80 / k
		out.Width80 += s.Width80 / k
		out.DailyEnergyError += s.DailyEnergyError / k
		out.Coverage80Day += s.Coverage80Day / k
		out.Width80Day += s.Width80Day / k
		out.Uncalibrated80Day += s.Uncalibrated80Day / k
		if s.Skill != nil {
			skills++
			skill += *s.Skill
		}
	}
	if skills > 0 {
		skill /= skills
		out.Skill = &skill
	}
	return out
}
