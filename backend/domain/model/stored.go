package model

import (
	"cmp"
	"time"

	"app.sunloop/backend/api"
	"app.sunloop/backend/domain/record"
)

// modelRecord is a stored model. Its fields have the meaning of those of [Model].
type modelRecord struct {
	ModelName          string                `json:"model_name" limit:"id"`
	ModelVersion       string                `json:"model_version" limit:"id"`
	ModelType          string                `json:"model_type" limit:"word"`
	Status             string                `json:"status" limit:"word"`
	LastTrainedAt      api.Time              `json:"last_trained_at"`
	UpdatedMS          int64                 `json:"updated_ms,omitempty"`
	TrainingDataWindow windowRecord          `json:"training_data_window"`
	Hyperparameters    hyperparametersRecord `json:"hyperparameters"`
	TrainingMetrics    trainingRecord        `json:"training_metrics"`
	ArtifactLocations  locationsRecord       `json:"artifact_locations"`
	CustomerID         string                `json:"customer_id,omitempty" limit:"id"`
	SiteID             string                `json:"site_id,omitempty" limit:"id"`
	Members            map[string]float64    `json:"members,omitempty" limit:"100 word"`
	ModelAccuracy      float64               `json:"model_accuracy,omitempty"`
	Coverage80         float64               `json:"coverage80,omitempty"`
	SkillPercent       float64               `json:"skill_percent,omitempty"`
	Evaluation         *evaluationRecord     `json:"evaluation,omitempty"`
	Sequence           int                   `json:"sequence"`
	Hash               string                `json:"hash" limit:"name"`
	Artefacts          ArtefactKeys          `json:"artefacts"`
	Origins            []Origin              `json:"origins,omitempty" limit:"10000 cut"`
	Metrics            metricsRecord         `json:"Metrics"`
	Points             int                   `json:"points"`
	DataAsOf           uint64                `json:"data_as_of"`
	Step               string                `json:"step" limit:"word"`
	Young              bool                  `json:"young,omitempty"`
	History            []StatusChange        `json:"history" limit:"1000 last"`
	Refused            string                `json:"refused" limit:"line cut"`
	Trained            time.Time             `json:"trained_at"`
	Decisions          []string              `json:"decisions" limit:"500 line cut"`
	Place              *Location             `json:"place,omitempty"`
	Score              *scoreRecord          `json:"score,omitempty"`
}

// The parts of a stored model, as those of [api.Model].
type (
	windowRecord struct {
		Start api.Time `json:"start"`
		End   api.Time `json:"end"`
	}
	hyperparametersRecord struct {
		Layers       []int   `json:"layers" limit:"100"`
		LearningRate float64 `json:"learning_rate"`
		Dropout      float64 `json:"dropout"`
		Optimizer    string  `json:"optimizer" limit:"name cut"`
	}
	trainingRecord struct {
		Epochs         int           `json:"epochs"`
		TrainLoss      float64       `json:"train_loss"`
		ValidationLoss float64       `json:"validation_loss"`
		EarlyStopEpoch int           `json:"early_stop_epoch"`
		Curve          []epochRecord `json:"curve,omitempty" limit:"10000 cut"`
	}
	epochRecord struct {
		TrainLoss      float64 `json:"train_loss"`
		ValidationLoss float64 `json:"validation_loss"`
	}
	locationsRecord struct {
		Model    string `json:"model" limit:"id"`
		Encoders string `json:"encoders" limit:"url"`
		Config   string `json:"config" limit:"url"`
	}
	evaluationRecord struct {
		Eligible    bool          `json:"eligible"`
		Verdict     string        `json:"verdict" limit:"line cut"`
		Method      string        `json:"method" limit:"word cut"`
		Against     string        `json:"against,omitempty" limit:"id"`
		GainPercent float64       `json:"gain_percent"`
		Samples     int           `json:"samples,omitempty"`
		Window      *windowRecord `json:"window,omitempty"`
		Production  *scoreRecord  `json:"production,omitempty"`
		Challenger  *scoreRecord  `json:"challenger,omitempty"`
		EvaluatedAt api.Time      `json:"evaluated_at,omitzero"`
	}
	scoreRecord struct {
		Samples         int     `json:"samples"`
		PinballPercent  float64 `json:"pinball_percent,omitempty"`
		NMAEPercent     float64 `json:"nmae_percent"`
		BiasPercent     float64 `json:"bias_percent"`
		Coverage80      float64 `json:"coverage80"`
		WidthPercent    float64 `json:"width_percent,omitempty"`
		MeasuredWeather bool    `json:"measured_weather,omitempty"`
	}
	metricsRecord struct {
		TrainingRMSE   float64 `json:"training_rmse"`
		ValidationRMSE float64 `json:"validation_rmse"`
		MAPEPercent    float64 `json:"mape_percent"`
		SMAPEPercent   float64 `json:"smape_percent"`
	}
)

func newModelRecord(v Model) modelRecord {
	return modelRecord{
		ModelName: v.ModelName, ModelVersion: v.ModelVersion, ModelType: v.ModelType, Status: v.Status, LastTrainedAt: v.LastTrainedAt, UpdatedMS: v.UpdatedAtMS,
		TrainingDataWindow: windowRecord(v.TrainingDataWindow), Hyperparameters: hyperparametersRecord(v.Hyperparameters),
		TrainingMetrics: newTrainingRecord(v.TrainingMetrics), ArtifactLocations: locationsRecord(v.ArtifactLocations), CustomerID: v.CustomerID,
		SiteID: v.SiteID, Members: v.Members, ModelAccuracy: v.ModelAccuracy, Coverage80: v.Coverage80, SkillPercent: v.SkillPercent,
		Evaluation: record.ConvertOptional(v.Evaluation, newEvaluationRecord), Sequence: v.Sequence, Hash: v.Hash, Artefacts: v.Artefacts, Origins: v.Origins,
		Metrics: metricsRecord(v.Metrics), Points: v.Points, DataAsOf: v.DataAsOf, Step: v.Step, Young: v.Young, History: v.History, Refused: v.Refused,
		Trained: v.Trained, Decisions: v.Decisions, Place: v.Place, Score: (*scoreRecord)(v.Score),
	}
}

func (r modelRecord) model() Model {
	return Model{
		Model: api.Model{
			ModelName: r.ModelName, ModelVersion: r.ModelVersion, ModelType: r.ModelType, Status: r.Status, LastTrainedAt: r.LastTrainedAt, UpdatedAtMS: r.UpdatedMS,
			TrainingDataWindow: api.Window(r.TrainingDataWindow), Hyperparameters: api.Hyperparameters(r.Hyperparameters),
			TrainingMetrics: r.TrainingMetrics.toAPI(), ArtifactLocations: api.ArtifactLocations(r.ArtifactLocations), CustomerID: r.CustomerID, SiteID: r.SiteID,
			Members: r.Members, ModelAccuracy: r.ModelAccuracy, Coverage80: r.Coverage80, SkillPercent: r.SkillPercent,
			Evaluation: record.ConvertOptional(r.Evaluation, evaluationRecord.toAPI),
		},
		Sequence: r.Sequence, Hash: r.Hash, Artefacts: r.Artefacts, Origins: r.Origins, Metrics: api.ForecastMetrics(r.Metrics), Points: r.Points,
		DataAsOf: r.DataAsOf, Step: r.Step, Young: r.Young, History: r.History, Refused: r.Refused, Trained: r.Trained, Decisions: r.Decisions,
		Place: r.Place, Score: (*api.ModelScore)(r.Score),
	}
}

func newTrainingRecord(v api.TrainingMetrics) trainingRecord {
	return trainingRecord{
		Epochs: v.Epochs, TrainLoss: v.TrainLoss, ValidationLoss: v.ValidationLoss, EarlyStopEpoch: v.EarlyStopEpoch,
		Curve: record.Convert(v.Curve, func(v api.EpochLoss) epochRecord { return epochRecord(v) }),
	}
}

func (r trainingRecord) toAPI() api.TrainingMetrics {
	return api.TrainingMetrics{
		Epochs: r.Epochs, TrainLoss: r.TrainLoss, ValidationLoss: r.ValidationLoss, EarlyStopEpoch: r.EarlyStopEpoch,
		Curve: record.Convert(r.Curve, func(v epochRecord) api.EpochLoss { return api.EpochLoss(v) }),
	}
}

func newEvaluationRecord(v api.ModelEvaluation) evaluationRecord {
	return evaluationRecord{
		Eligible: v.Eligible, Verdict: v.Verdict, Method: v.Method, Against: v.Against, GainPercent: v.GainPercent, Samples: v.Samples,
		Window: (*windowRecord)(v.Window), Production: (*scoreRecord)(v.Production), Challenger: (*scoreRecord)(v.Challenger), EvaluatedAt: v.EvaluatedAt,
	}
}

func (r evaluationRecord) toAPI() api.ModelEvaluation {
	return api.ModelEvaluation{
		Eligible: r.Eligible, Verdict: r.Verdict, Method: r.Method, Against: r.Against, GainPercent: r.GainPercent, Samples: r.Samples,
		Window: (*api.Window)(r.Window), Production: (*api.ModelScore)(r.Production), Challenger: (*api.ModelScore)(r.Challenger), EvaluatedAt: r.EvaluatedAt,
	}
}

// interpolationRecord is a stored result of gap filling. Its fields have the meaning of
// those of [Interpolation].
type interpolationRecord struct {
	ResultID           string            `json:"result_id" limit:"id"`
	SiteID             string            `json:"site_id" limit:"id"`
	ProcessedAt        api.Time          `json:"processed_at"`
	Method             string            `json:"method" limit:"word"`
	AssetIDs           []string          `json:"asset_ids" limit:"10000 id cut"`
	DataWindow         windowRecord      `json:"data_window"`
	GapStatistics      gapsRecord        `json:"gap_statistics"`
	PerformanceMetrics performanceRecord `json:"performance_metrics"`
	WeatherFeatures    weatherRecord     `json:"weather_features"`
	Methods            map[string]int    `json:"methods" limit:"50 word cut"`
	ByGapLength        []gapLengthRecord `json:"by_gap_length" limit:"200 cut"`
	FilledValues       string            `json:"filled_values,omitempty" limit:"name"`
	Notes              []string          `json:"notes,omitempty" limit:"200 line cut"`
	CustomerID         string            `json:"customer_id" limit:"id"`
}

// The parts of a stored result of gap filling, as those of [api.InterpolationResult].
type (
	gapsRecord struct {
		TotalGaps                  int     `json:"total_gaps"`
		AverageGapMinutes          float64 `json:"average_gap_minutes"`
		LargestGapMinutes          float64 `json:"largest_gap_minutes"`
		CoverageImprovementPercent float64 `json:"coverage_improvement_percent"`
	}
	performanceRecord struct {
		RMSEKW       float64 `json:"rmse_kw"`
		MAEKW        float64 `json:"mae_kw"`
		R2Score      float64 `json:"r2_score"`
		NRMSEPercent float64 `json:"nrmse_percent"`
	}
	weatherRecord struct {
		MeanTemperatureC  *float64 `json:"mean_temperature_c,omitempty"`
		MeanIrradianceWM2 *float64 `json:"mean_irradiance_wm2,omitempty"`
	}
	gapLengthRecord struct {
		GapMinutes float64 `json:"gap_minutes"`
		KnownFrom  string  `json:"known_from" limit:"word cut"`
		Method     string  `json:"method" limit:"word cut"`
		HiddenGaps int     `json:"hidden_gaps"`
		performanceRecord
	}
)

func newInterpolationRecord(v Interpolation) interpolationRecord {
	return interpolationRecord{
		ResultID: v.ResultID, SiteID: v.SiteID, ProcessedAt: v.ProcessedAt, Method: v.Method, AssetIDs: v.AssetIDs, DataWindow: windowRecord(v.DataWindow),
		GapStatistics: gapsRecord(v.GapStatistics), PerformanceMetrics: newPerformanceRecord(v.PerformanceMetrics),
		WeatherFeatures: weatherRecord{MeanTemperatureC: v.WeatherFeatures.MeanTemperatureC, MeanIrradianceWM2: v.WeatherFeatures.MeanIrradianceWM2}, Methods: v.Methods,
		ByGapLength: record.Convert(v.ByGapLength, newGapLengthRecord), FilledValues: v.FilledValues,
		Notes: v.Notes, CustomerID: v.CustomerID,
	}
}

func (r interpolationRecord) interpolation() Interpolation {
	if r.AssetIDs == nil {
		r.AssetIDs = []string{}
	}
	if r.Methods == nil {
		r.Methods = map[string]int{}
	}
	if r.ByGapLength == nil {
		r.ByGapLength = []gapLengthRecord{}
	}
	return Interpolation{
		InterpolationResult: api.InterpolationResult{
			ResultID: r.ResultID, SiteID: r.SiteID, ProcessedAt: r.ProcessedAt, Method: cmp.Or(r.Method, api.MethodNone), AssetIDs: r.AssetIDs, DataWindow: api.Window(r.DataWindow),
			GapStatistics: api.GapStatistics(r.GapStatistics), PerformanceMetrics: r.PerformanceMetrics.toAPI(),
			WeatherFeatures: r.WeatherFeatures.toAPI(), Methods: r.Methods,
			ByGapLength:  record.Convert(r.ByGapLength, gapLengthRecord.toAPI),
			FilledValues: r.FilledValues, Notes: r.Notes,
		},
		CustomerID: r.CustomerID,
	}
}

func newGapLengthRecord(v api.GapLengthMetrics) gapLengthRecord {
	return gapLengthRecord{v.GapMinutes, v.KnownFrom, v.Method, v.HiddenGaps, newPerformanceRecord(v.PerformanceMetrics)}
}

// newPerformanceRecord stores unknown errors as zeros, which measured ones never are.
func newPerformanceRecord(v api.PerformanceMetrics) performanceRecord {
	if v.RMSEKW == nil || v.MAEKW == nil || v.R2Score == nil || v.NRMSEPercent == nil {
		return performanceRecord{}
	}
	return performanceRecord{*v.RMSEKW, *v.MAEKW, *v.R2Score, *v.NRMSEPercent}
}

func (r performanceRecord) toAPI() api.PerformanceMetrics {
	if r == (performanceRecord{}) {
		return api.PerformanceMetrics{Reason: "no samples were measured that could be hidden and filled again"}
	}
	return api.PerformanceMetrics{RMSEKW: &r.RMSEKW, MAEKW: &r.MAEKW, R2Score: &r.R2Score, NRMSEPercent: &r.NRMSEPercent}
}

func (r weatherRecord) toAPI() api.WeatherFeatures {
	w := api.WeatherFeatures{MeanTemperatureC: r.MeanTemperatureC, MeanIrradianceWM2: r.MeanIrradianceWM2}
	switch {
	case w.MeanTemperatureC == nil && w.MeanIrradianceWM2 == nil:
		w.Reason = "neither temperature nor irradiance is known for the window"
	case w.MeanTemperatureC == nil:
		w.Reason = "no temperature is known for the window"
	case w.MeanIrradianceWM2 == nil:
		w.Reason = "no irradiance is known for the window"
	}
	return w
}

func (r gapLengthRecord) toAPI() api.GapLengthMetrics {
	return api.GapLengthMetrics{GapMinutes: r.GapMinutes, KnownFrom: r.KnownFrom, Method: r.Method, HiddenGaps: r.HiddenGaps,
		PerformanceMetrics: r.performanceRecord.toAPI()}
}
