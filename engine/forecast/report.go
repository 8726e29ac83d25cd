package forecast

import (
	"time"

	"app.sunloop/engine/learn/backtest"
	"app.sunloop/engine/learn/neural"
)

// Report holds what training measured: everything that a registry states about
// a model.
type Report struct {
	From, To       time.Time     // the window of the data
	Days           int           // with power, in that window
	TrainingPoints int           // samples the final fit saw
	Step           time.Duration // learned and forecast in
	PeakKW         float64       // of the history, robustly
	Notes          []string      // unusual properties of the data, as sentences

	Features []string
	Members  []string
	Weights  []float64 // of the members in the blend, sum 1
	Seed     uint64

	Siblings   []string `json:",omitempty"` // sites whose histories taught it too
	FleetShare float64  `json:",omitempty"` // of learners of their histories in the forecast; 1 is no others

	Backtest backtest.Table // losses in shares of the capacity, members only
	Score    Score          // of the calibrated blend in the backtest
	// MeasuredWeather: the backtest forecast with weather that was measured, as no
	// forecast of weather was given; a forecast will do worse.
	MeasuredWeather bool        `json:",omitempty"`
	References      []Reference // on the same intervals

	Neural Neural // the network among the members
	Trees  Trees  // the boosted trees among them

	// TrainRMSEKW is the RMSE of the blend on the samples it was fitted to.
	TrainRMSEKW float64
}

// Accuracy is 1 - nMAE of the backtest in daylight, within 0..1: what the API
// calls model_accuracy.
func (r Report) Accuracy() float64 { return min(max(1-r.Score.NMAE, 0), 1) }

// Score compares forecasts with measured power. Only daylight counts: measured
// intervals whose clear-sky power is above 2 % of the peak. Shares are of the
// AC capacity unless stated otherwise.
type Score struct {
	N          int
	NMAE       float64 // mean absolute error of P50
	NRMSE      float64 // root mean squared error of the mean
	NMBE       float64 // mean error of the mean; positive is too high
	Pinball    float64 // mean over the model's quantiles
	Coverage80 float64 // share of actuals within P10..P90
	Width80    float64 // mean of P90 - P10
	Skill      float64 // 1 - RMSE / RMSE of smart persistence
	RMSEKW     float64
	// Percent, on intervals above 10 % of the capacity only: below, relative
	// errors mean nothing.
	MAPEPercent, SMAPEPercent float64
}

// Reference is a simple forecast's score on the intervals of [Report.Score].
type Reference struct {
	Name                 string
	NMAE, NRMSE, Pinball float64 // shares of the capacity; Pinball 0 for a point forecast
}

// Neural is the network's training: losses are the mean pinball in shares of
// the peak, of the epoch that was kept.
type Neural struct {
	Layers                    []int
	LearningRate, Dropout     float64
	Optimizer                 string
	Epochs, BestEpoch         int
	TrainLoss, ValidationLoss float64
	Curve                     []neural.Losses // of each epoch, from the first
}

// Trees is the boosted trees' training.
type Trees struct {
	Rounds, Leaves int
	LearningRate   float64
	TrainLoss      float64 // mean pinball in shares of the peak, on power
}
