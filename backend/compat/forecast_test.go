package compat

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"app.sunloop/backend/api"
)

var conditions = object(fields{"temperature_c": number, "irradiance_w_m2": number, "wind_speed_m_s": number})

// generated is GET /forecast over so many values.
func generated(values int) shape {
	return object(fields{
		"forecast_id": text, "customer_id": text, "generated_at": instant, "horizon_hours": integer,
		"forecasts": both(count(values, object(fields{
			"timestamp": instant, "predicted_power_kw": number, "confidence_interval": object(fields{"lower": number, "upper": number}), "weather_conditions": conditions,
		})), ascending("timestamp")),
		"metadata": object(fields{"model_version": text, "training_data_points": integer, "model_accuracy": share}),
	})
}

func TestForecastOfASite(t *testing.T) {
	a := read(t, api.HostMain, "/forecast", query("customer_id", customer, "site_id", site)).
		is(both(generated(48), object(fields{"customer_id": exactly(customer), "site_id": exactly(site), "horizon_hours": exactly(48.0)})))
	for i, v := range a.elements("forecasts") {
		f := v.(map[string]any)
		band, p50 := f["confidence_interval"].(map[string]any), f["predicted_power_kw"].(float64)
		if low, high := band["lower"].(float64), band["upper"].(float64); !(0 <= low && low <= p50 && p50 <= high) {
			t.Errorf("%s: %v between %v and %v", f["timestamp"], p50, low, high)
		}
		if want := api.At(now.Add(time.Duration(i) * time.Hour)).String(); f["timestamp"] != want {
			t.Errorf("value %d is of %s, not %s", i, f["timestamp"], want)
		}
	}
	for _, hours := range []int{1, 24, 720} {
		read(t, api.HostMain, "/forecast", query("customer_id", customer, "site_id", site, "horizon_hours", fmt.Sprint(hours))).is(both(generated(hours), object(fields{"horizon_hours": exactly(float64(hours))})))
	}
}

func TestForecastOfACustomer(t *testing.T) {
	a := read(t, api.HostMain, "/forecast", query("customer_id", customer)).is(both(generated(48), object(fields{"sites": some(generated(48))})))
	a.is(object(fields{"model_info": object(fields{"model_type": text, "aggregation_method": exactly("sum_of_sites")})}))
	if a.value.(map[string]any)["site_id"] != nil || a.text("sites.0.site_id") != site {
		t.Errorf("%.300s", a.body)
	}
	for i := range a.elements("forecasts") {
		sum := 0.0
		for k := range a.elements("sites") {
			sum += a.at(fmt.Sprintf("sites.%d.forecasts.%d.predicted_power_kw", k, i)).(float64)
		}
		if got := a.at(fmt.Sprintf("forecasts.%d.predicted_power_kw", i)).(float64); got-sum > 0.01 || sum-got > 0.01 {
			t.Errorf("value %d is %v, its sites' are %v", i, got, sum)
		}
	}
}

func TestForecastRefusals(t *testing.T) {
	read(t, api.HostMain, "/forecast", query("site_id", site)).refused(http.StatusBadRequest, "Missing required parameter: customer_id")
	read(t, api.HostMain, "/forecast", query("customer_id", secondCustomer)).refused(http.StatusNotFound, "No model found for customer")
	read(t, api.HostMain, "/forecast", query("customer_id", "unknown")).refused(http.StatusNotFound, "No model found for customer")
	read(t, api.HostMain, "/forecast", query("customer_id", customer, "site_id", "Nowhere")).refused(http.StatusNotFound, "Site not found")
	for _, hours := range []string{"0", "721", "two", "-1"} {
		read(t, api.HostMain, "/forecast", query("customer_id", customer, "horizon_hours", hours)).refused(http.StatusBadRequest, "Invalid parameter: horizon_hours")
	}
	get(t, bare, shared.hosts[api.HostMain], "/forecast", query("customer_id", customer)).refused(http.StatusUnauthorized, "Unauthorized")
}

// energy is POST /forecast over so many hours.
func energy(hours int) shape {
	return object(fields{
		"forecasts":    both(count(hours, object(fields{"timestamp": instant, "hour_ahead": integer, "kWh_forecast": number, "weather?": conditions})), ascending("timestamp")),
		"model_info":   object(fields{"model_type": text, "aggregation_method": exactly("sum_of_sites", "site_model", "share_of_rated_power")}),
		"generated_at": instant,
	})
}

func TestEnergyForecast(t *testing.T) {
	units := len(shared.fleet.Sites[0].Units)
	ask := func(namesAndValues ...any) answer { return terminal(t, "/forecast", namesAndValues...) }
	ask("customer_id", customer, "forecast_hours", 24).is(energy(24))
	ask("customer_id", customer).is(energy(24))
	whole := ask("site_id", site, "customer_id", customer, "forecast_hours", 48, "include_device_breakdown", true).is(both(energy(48), object(fields{
		"device_count": exactly(float64(units)), "devices_included": count(units, text),
		"device_forecasts": count(units, object(fields{"device_id": text, "forecasts": count(48, object(fields{"timestamp": instant, "hour_ahead": integer, "kWh_forecast": number}))})),
	})))
	if first, last := whole.at("forecasts.0.hour_ahead"), whole.at("forecasts.47.hour_ahead"); first != 1.0 || last != 48.0 {
		t.Errorf("hours from %v to %v", first, last)
	}
	for i := range 48 {
		sum := 0.0
		for k := range units {
			sum += whole.at(fmt.Sprintf("device_forecasts.%d.forecasts.%d.kWh_forecast", k, i)).(float64)
		}
		if got := whole.at(fmt.Sprintf("forecasts.%d.kWh_forecast", i)).(float64); got-sum > 0.1 || sum-got > 0.1 {
			t.Errorf("hour %d is %v, its devices' are %v", i, got, sum)
		}
	}
	if a := ask("site_id", site, "forecast_hours", 1).is(energy(1)); a.value.(map[string]any)["device_forecasts"] != nil {
		t.Errorf("devices that were not requested: %s", a.body)
	}
	ask("site_id", site, "device_id", asset, "customer_id", customer, "forecast_hours", 720).is(energy(720))
	ask("forecast_hours", 24).refused(http.StatusBadRequest, "Missing required field: customer_id")
	ask("device_id", asset).refused(http.StatusBadRequest, "Missing required field: site_id")
	ask("customer_id", customer, "forecast_hours", 721).refused(http.StatusBadRequest, "Invalid field: forecast_hours")
	ask("site_id", site, "device_id", "INV-0").refused(http.StatusNotFound, "Asset not found")
	ask("site_id", "Nowhere").refused(http.StatusNotFound, "Site not found")
	ask("customer_id", secondCustomer).refused(http.StatusNotFound, "No model found for customer")
}

func TestStoredForecasts(t *testing.T) {
	stored := object(fields{
		"forecast_id": text, "site_id": text, "generated_at": instant, "model_name": text, "model_version": text, "horizon_hours": integer,
		"forecast_points": some(object(fields{"timestamp": instant, "hour_ahead": integer, "predicted_power_kw": number, "lower_conf_kw": number, "upper_conf_kw": number})),
		"metrics":         object(fields{"training_rmse": number, "validation_rmse": number, "mape_percent": number, "smape_percent": number}),
		"weather_context": object(fields{"avg_temperature_c": number, "avg_irradiance_wm2": number, "avg_wind_speed_ms": number}),
	})
	for _, more := range [][]any{nil, {"action", "list"}, {"site_id", site}, {"limit", 1000}} {
		terminal(t, "/terminal/forecast", append([]any{"customer_id", customer}, more...)...).
			is(object(fields{"success": exactly(true), "customer_id": exactly(customer), "forecast_results": both(some(stored), descending("generated_at")), "count": integer}))
	}
	terminal(t, "/terminal/forecast").refused(http.StatusBadRequest, "Missing required field: customer_id")
	terminal(t, "/terminal/forecast", "customer_id", "unknown").refused(http.StatusNotFound, "No forecast results found")
}

func TestInterpolations(t *testing.T) {
	t.Parallel()
	result := object(fields{
		"result_id": text, "site_id": text, "processed_at": instant, "method": text, "asset_ids": some(text), "data_window": object(fields{"start": instant, "end": instant}),
		"gap_statistics":      object(fields{"total_gaps": integer, "average_gap_minutes": number, "largest_gap_minutes": number, "coverage_improvement_percent": percent}),
		"performance_metrics": object(fields{"rmse_kw": number, "mae_kw": number, "r2_score": number, "nrmse_percent": number}),
		"weather_features":    object(fields{}),
	})
	// Unknown weather and errors are null, with a reason.
	ask := func(more ...any) answer {
		return post(t, bearer, shared.hosts[api.HostMain], "/terminal/interpolation", bodyOf(append([]any{"customer_id", customer}, more...)...),
			".interpolation_results[0].weather_features.mean_temperature_c", ".interpolation_results[0].weather_features.mean_irradiance_wm2")
	}
	// Gaps are filled after a training, when nothing else is to be done.
	for ask().status == http.StatusNotFound {
		time.Sleep(20 * time.Millisecond)
	}
	for _, more := range [][]any{nil, {"action", "list"}} {
		a := ask(more...).is(object(fields{"success": exactly(true), "customer_id": exactly(customer), "interpolation_results": both(some(result), descending("processed_at")), "count": integer}))
		weather := a.at("interpolation_results.0.weather_features").(map[string]any)
		for _, name := range []string{"mean_temperature_c", "mean_irradiance_wm2"} {
			if v, there := weather[name]; !there || v == nil && weather["reason"] == nil {
				t.Errorf("%s: %v", name, weather)
			}
		}
	}
	terminal(t, "/terminal/interpolation").refused(http.StatusBadRequest, "Missing required field: customer_id")
	terminal(t, "/terminal/interpolation", "customer_id", "unknown").refused(http.StatusNotFound, "No interpolation results found")
}
