package openapi

import (
	"time"

	"app.sunloop/backend/api"
)

// noon is the time of the examples.
var noon = api.At(time.Date(2025, 10, 1, 10, 0, 0, 0, time.UTC))

var forecastExample = api.GeneratedForecast{
	ForecastID: "fc_01J9Z0", CustomerID: exampleCustomer, SiteID: exampleSite, GeneratedAt: noon, HorizonHours: 48, StepMinutes: 60,
	Forecasts: []api.ForecastValue{{Timestamp: noon, PredictedPowerKW: 61.2, ConfidenceInterval: api.Interval{Lower: 48.9, Upper: 70.4},
		WeatherConditions: api.WeatherConditions{TemperatureC: 24.1, IrradianceWM2: 742, WindSpeedMS: 3.2}, ClearSkyKW: 78.5}},
	Metadata: api.ForecastMetadata{ModelVersion: "1.0.0", TrainingDataPoints: 8760, ModelAccuracy: 0.91},
}

var recordsExample = api.RecordsResponse{Records: []api.Record{
	{AssetID: exampleAsset, SiteID: exampleSite, Timestamp: noon, Power: 41.5, KWh: 3.458, InverterState: 4, RunState: 1},
}}

var assetExample = api.AssetsResponse{Success: true, Count: 1, Asset: &api.Asset{
	AssetID: exampleAsset, Name: "Inverter 1", Type: "inverter", CapacityKW: 50, Location: "Roof", SiteID: exampleSite, CustomerID: exampleCustomer,
	Components: []api.Component{{OEM: "SMA", Model: "STP 50-40", Serial: "1901234567"}},
}}
