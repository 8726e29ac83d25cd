package interpolate

import (
	"time"

	"app.sunloop/engine/learn/neural"
)

// Report is what training measured.
type Report struct {
	From, To   time.Time
	Step       time.Duration
	Days       int // with daylight measured
	PeakKW     float64
	CapacityKW float64
	Weather    bool     // irradiance was known for enough of the history
	Siblings   bool     // other units were
	Learned    bool     // long enough a history for the learners
	Notes      []string // sentences on findings and corrections
	Seed       uint64

	FadeMinutes float64  // in which an edge's last index fades into its mean
	Choices     []Choice // by class and weather
	// Lengths are scores on the blocks of days that nothing was learned from
	// or chosen by.
	Lengths []LengthScore
	Overall Score // of what fills, over all lengths

	Neural Neural
	Trees  TreesReport
}

// Choice is the method of one class of gaps, by the information about the sky,
// with the errors on the blocks by which it was chosen.
type Choice struct {
	Class     Class
	Sky       SkyInfo
	Method    Method
	LSTMShare float64       // of the network in the mean with the trees; 0 where it does not fill
	Gaps      int           // hidden
	Scores    []MethodScore // empty where there was nothing to measure
}

// MethodScore is how a method did.
type MethodScore struct {
	Method Method
	Score
}

// Score holds errors on samples that were measured, hidden and filled: those in
// daylight (clear-sky power above 2 % of the peak).
type Score struct {
	Samples      int
	MAEKW        float64
	RMSEKW       float64
	R2           float64 // below zero where the samples' mean would have done better
	NRMSEPercent float64 // RMSE by capacity
	Coverage80   float64 // share within P10..P90; of what fills only
}

// LengthScore is the errors on gaps of one length.
type LengthScore struct {
	Length  time.Duration
	Sky     SkyInfo
	Gaps    int
	Filled  Score         // of what fills gaps of this length
	Methods []MethodScore // of each method, had it filled them all
}

// Neural describes the network, as a registry of models has it. Losses are
// Huber's, in shares of the peak, weighted by gap length.
type Neural struct {
	Layers                    []int
	LearningRate, Dropout     float64
	Optimizer                 string
	Epochs, BestEpoch         int
	TrainLoss, ValidationLoss float64
	Curve                     []neural.Losses // of each epoch, from the first
	Parameters                int
}

// TreesReport describes the boosted trees. The loss is half the mean absolute
// error of the bridge's correction, in shares of the peak.
type TreesReport struct {
	Rounds, Leaves, Samples int
	LearningRate, TrainLoss float64
}
