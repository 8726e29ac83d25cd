package api

// Window is a span of data.
type Window struct {
	Start Time `json:"start"`
	End   Time `json:"end"`
}

// Hyperparameters of a registered model.
type Hyperparameters struct {
	Layers       []int   `json:"layers" limit:"100"`
	LearningRate float64 `json:"learning_rate"`
	Dropout      float64 `json:"dropout"`
	Optimizer    string  `json:"optimizer" limit:"name cut"`
}

// TrainingMetrics of a registered model.
type TrainingMetrics struct {
	Epochs         int     `json:"epochs"`
	TrainLoss      float64 `json:"train_loss"`
	ValidationLoss float64 `json:"validation_loss"`
	EarlyStopEpoch int     `json:"early_stop_epoch"`
	// Curve (extension) are the losses of each epoch, from the first; absent of
	// models that were trained before it was kept.
	Curve []EpochLoss `json:"curve,omitempty" limit:"10000 cut"`
}

// EpochLoss is one epoch of a training: the mean loss while it learned, and on
// the days that were held back.
type EpochLoss struct {
	TrainLoss      float64 `json:"train_loss"`
	ValidationLoss float64 `json:"validation_loss"`
}

// ArtifactLocations are object URIs of a model's three parts.
type ArtifactLocations struct {
	Model    string `json:"model" limit:"id"`
	Encoders string `json:"encoders" limit:"url"`
	Config   string `json:"config" limit:"url"`
}

// Model types.
const (
	ModelForecasting   = "forecasting"
	ModelInterpolation = "interpolation"
	ModelDiagnostics   = "diagnostics"
)

// Model statuses.
const (
	ModelProduction = "production"
	ModelChallenger = "challenger"
	ModelArchived   = "archived"
)

// Model is a record of the registry.
type Model struct {
	ModelName          string             `json:"model_name" limit:"id"`
	ModelVersion       string             `json:"model_version" limit:"id"`
	ModelType          string             `json:"model_type" limit:"word"` // forecasting, interpolation, diagnostics
	Status             string             `json:"status" limit:"word"`
	LastTrainedAt      Time               `json:"last_trained_at"`
	UpdatedAtMS        int64              `json:"updated_at_ms,omitempty"` // when it was changed last, in milliseconds since 1970; absent: not known
	TrainingDataWindow Window             `json:"training_data_window"`
	Hyperparameters    Hyperparameters    `json:"hyperparameters"`
	TrainingMetrics    TrainingMetrics    `json:"training_metrics"`
	ArtifactLocations  ArtifactLocations  `json:"artifact_locations"`
	CustomerID         string             `json:"customer_id,omitempty" limit:"id"`   // extension
	SiteID             string             `json:"site_id,omitempty" limit:"id"`       // extension
	Members            map[string]float64 `json:"members,omitempty" limit:"100 word"` // extension: member → weight in the blend; of interpolation, method → share of the kinds of gaps it fills
	ModelAccuracy      float64            `json:"model_accuracy,omitempty"`           // extension: 1 − nMAE of the backtest, or on hidden samples
	Coverage80         float64            `json:"coverage80,omitempty"`               // extension: share of actuals between P10 and P90
	SkillPercent       float64            `json:"skill_percent,omitempty"`            // extension: against smart persistence
	Evaluation         *ModelEvaluation   `json:"evaluation,omitempty"`               // extension: against the production model of its time
}

// Ways a challenger is evaluated.
const (
	EvaluatedFirst         = "first"          // there was no model to compare with
	EvaluatedHeldOut       = "held_out"       // both models forecast days that neither had seen
	EvaluatedRollingOrigin = "rolling_origin" // the common origins of both backtests
	EvaluatedOwnBacktest   = "own_backtest"   // too few origins in common: each its own backtest
	EvaluatedHiddenSamples = "hidden_samples" // of gap filling
)

// ModelEvaluation holds a challenger against a production model.
type ModelEvaluation struct {
	Eligible    bool        `json:"eligible"`                     // it may be promoted without force
	Verdict     string      `json:"verdict" limit:"line cut"`     // reason, as a sentence
	Method      string      `json:"method" limit:"word cut"`      // held_out, rolling_origin, own_backtest, hidden_samples, first
	Against     string      `json:"against,omitempty" limit:"id"` // version of the production model
	GainPercent float64     `json:"gain_percent"`                 // by which the challenger's loss is lower
	Samples     int         `json:"samples,omitempty"`            // hours of daylight that both forecast
	Window      *Window     `json:"window,omitempty"`             // of the data that neither model had seen
	Production  *ModelScore `json:"production,omitempty"`
	Challenger  *ModelScore `json:"challenger,omitempty"`
	EvaluatedAt Time        `json:"evaluated_at,omitzero"`
}

// ModelScore is how a model did on the samples of an evaluation, in daylight.
// Percentages are of capacity.
type ModelScore struct {
	Samples        int     `json:"samples"`
	PinballPercent float64 `json:"pinball_percent,omitempty"` // mean over P10, P50 and P90
	NMAEPercent    float64 `json:"nmae_percent"`
	BiasPercent    float64 `json:"bias_percent"`            // positive: forecast too high
	Coverage80     float64 `json:"coverage80"`              // share of actuals between P10 and P90
	WidthPercent   float64 `json:"width_percent,omitempty"` // mean of P90 − P10
	// MeasuredWeather: the backtest forecast with weather that was measured. It is a
	// bound, no promise for forecasts, which know the weather only from a forecast.
	MeasuredWeather bool `json:"measured_weather,omitempty"`
}

// MinReasonLength of a move of the registry, in characters.
const MinReasonLength = 10

// ModelsRequest is the body of /terminal/ml-models. The moves name a model by
// site, type and version; without a version evaluate and promote mean the
// newest challenger, and rollback the model that was in production last.
type ModelsRequest struct {
	Action       string `json:"action,omitempty" limit:"word"`
	CustomerID   string `json:"customer_id,omitempty" limit:"id"`
	SiteID       string `json:"site_id,omitempty" limit:"id"`
	ModelType    string `json:"model_type,omitempty" limit:"word"` // default forecasting
	ModelVersion string `json:"model_version,omitempty" limit:"id"`
	Reason       string `json:"reason,omitempty" limit:"text"` // of promote and rollback
	Force        bool   `json:"force,omitempty"`               // promote whatever the evaluation
	Status       string `json:"status,omitempty" limit:"word"` // list
	Page
}

// ModelMove is a change of a model's status.
type ModelMove struct {
	ModelName    string `json:"model_name"`
	ModelVersion string `json:"model_version"`
	From         string `json:"from,omitempty"` // empty: it was registered
	To           string `json:"to"`
	At           Time   `json:"at"`
	Actor        string `json:"actor"`
	Reason       string `json:"reason"`
	Forced       bool   `json:"forced,omitempty"` // against the evaluation
}

// ModelMoveResponse answers evaluate, promote and rollback.
type ModelMoveResponse struct {
	Success       bool   `json:"success"`
	Message       string `json:"message"`
	Model         Model  `json:"model"`
	FormerVersion string `json:"former_version,omitempty"` // archived in its place
}

// ModelHistoryResponse answers history, newest first.
type ModelHistoryResponse struct {
	Success    bool        `json:"success"`
	History    []ModelMove `json:"history"`
	Count      int         `json:"count"`
	NextCursor string      `json:"next_cursor,omitempty"`
}

// ModelsResponse answers /terminal/ml-models.
type ModelsResponse struct {
	Success      bool    `json:"success"`
	ModelMetrics []Model `json:"model_metrics"`
	Count        int     `json:"count"`
	NextCursor   string  `json:"next_cursor,omitempty"`
}

var models = Route{
	Name: "ml-models", Path: PathModels, Failure: ErrModelRegistry,
	Summary: "List models, evaluate, promote and roll them back", Description: "A challenger is promoted if its evaluation is eligible, or by force; a reason of at least 10 characters is stored.",
	Errors: []*Error{ErrInvalidAction, ErrModelNotFound, Conflict("Site %s has no former model to go back to", exampleSite), ErrModelRegistry},
}

// Models of the registry and the changes of their status.
var (
	ListModels       = define[ModelsRequest, ModelsResponse](&models, Operation{Action: ActionList, DefaultAction: true, Permission: PermissionRead, Cacheable: true, Fields: Fields{optional("status").oneOf(ModelProduction, ModelChallenger, ModelArchived), since(), pageLimit()}})
	ListModelHistory = define[ModelsRequest, ModelHistoryResponse](&models, Operation{Action: ActionHistory, Permission: PermissionRead, Cacheable: true, Fields: append(modelFields(), since())})
	EvaluateModel    = define[ModelsRequest, ModelMoveResponse](&models, Operation{Action: ActionEvaluate, Permission: PermissionModels, Fields: modelFields()})
	PromoteModel     = define[ModelsRequest, ModelMoveResponse](&models, Operation{Action: ActionPromote, Permission: PermissionModels, Idempotent: true, Fields: append(modelFields(), required("reason").text())})
	RollbackModel    = define[ModelsRequest, ModelMoveResponse](&models, Operation{Action: ActionRollback, Permission: PermissionModels, Idempotent: true, Fields: append(modelFields(), required("reason").text())})
)

func modelFields() Fields {
	return Fields{pageLimit(), required("site_id"), optional("model_type").oneOf(ModelForecasting, ModelInterpolation).withReason("it is " + ModelForecasting + " or " + ModelInterpolation)}
}
