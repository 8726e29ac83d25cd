package api

import (
	"net/http"
	"strings"
	"time"
)

// The rules of the forecast without an account.
const (
	FreemiumHours        = 24 // points of the forecast, always
	FreemiumCodeDigits   = 6
	FreemiumCodeLifetime = 10 * time.Minute
	FreemiumCodeTries    = 5 // of one code
	FreemiumCodesPerHour = 3 // to one mailbox, and into one network

	FreemiumCodesPerHourInAll = 200 // of the service
)

// StatusSuccess is the status of bodies that have no success of their own.
const StatusSuccess = "success"

// FreemiumCodeSent is the message of the verify step, whatever the address.
const FreemiumCodeSent = "Verification code sent"

// FreemiumVerifyRequest asks for a one-time code by e-mail.
type FreemiumVerifyRequest struct {
	Email string `json:"email" limit:"320"`
}

// FreemiumVerifyResponse is the same for every address.
type FreemiumVerifyResponse struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

// FreemiumRequest are the fields of the form in addition to its file.
type FreemiumRequest struct {
	Email            string `json:"email" limit:"320"`
	VerificationCode string `json:"verification_code" limit:"word"`
	SiteName         string `json:"site_name" limit:"name"`
	Location         string `json:"location" limit:"name"` // a town or "lat,lon"
	CapacityKW       float64
	TOUAccepted      bool
	MarketingOptIn   bool
	Filename         string `json:"-" limit:"255"`
}

// FreemiumResponse answers the forecast step.
type FreemiumResponse struct {
	Status   string           `json:"status"`
	Forecast FreemiumForecast `json:"forecast"`
}

// FreemiumForecast is the next 24 whole hours of a plant.
type FreemiumForecast struct {
	SiteName      string          `json:"site_name"`
	Location      string          `json:"location"`
	Manufacturer  string          `json:"manufacturer"` // identified by the file, else "unknown"
	ForecastHours int             `json:"forecast_hours"`
	GeneratedAt   Time            `json:"generated_at"`
	ModelType     string          `json:"model_type"`
	Forecasts     []FreemiumPoint `json:"forecasts"`
	Summary       FreemiumSummary `json:"summary"`
	WeatherSource string          `json:"weather_source,omitempty"` // extension
	Notes         []string        `json:"notes,omitempty"`          // extension: what was inferred, as sentences
}

// FreemiumPoint is one hour. KWhForecast is the expected energy. Confidence is
// 1 less half the width of the band that holds 80 % of outcomes, as a share of
// what a clear sky would give in that hour, or of the band's top where that is
// more; 1 at night.
type FreemiumPoint struct {
	Timestamp   Time    `json:"timestamp"` // start of the hour
	HourAhead   int     `json:"hour_ahead"`
	KWhForecast float64 `json:"kWh_forecast"`
	Confidence  float64 `json:"confidence"`
}

// FreemiumSummary is of the 24 hours.
type FreemiumSummary struct {
	TotalKWh24h      float64 `json:"total_kwh_24h"`
	PeakHour         Time    `json:"peak_hour"`
	PeakKWh          float64 `json:"peak_kwh"`
	AverageHourlyKWh float64 `json:"average_hourly_kwh"`
}

// The refusals of the forecast without an account. Its words for a file differ
// from those of uploads by one letter.
var (
	ErrInvalidEmail     = newError(http.StatusBadRequest, "Invalid email address format")
	ErrFreemiumCSV      = newError(http.StatusBadRequest, "Invalid CSV Format")
	ErrTermsNotAccepted = newError(http.StatusBadRequest, "You must accept the Terms of Use (tou_accepted=true) to use this service.")
	ErrInvalidCode      = newError(http.StatusBadRequest, "Invalid or expired verification code")
)

// MissingFields is the refusal of a form without required fields.
func MissingFields(names ...string) *Error {
	return newError(http.StatusBadRequest, "Missing required fields: "+strings.Join(names, ", ")).With("fields", names)
}

var freemiumVerify = Route{
	Name: "freemium-verify", Path: PathFreemiumVerify, Host: HostFreemium, Credential: CredentialNone,
	Summary: "Request a verification code", Description: "A code of six digits is sent by e-mail. It is valid for 10 minutes and 5 attempts from the network that requested it; attempts from other networks are counted separately. At most 3 codes an hour are sent to a mailbox and to a network, and 200 in total. The response is the same for every address.",
	Example: FreemiumVerifyRequest{Email: "ada@example.org"},
	Reply:   FreemiumVerifyResponse{Status: StatusSuccess, Message: FreemiumCodeSent},
	Errors:  []*Error{MissingField("email"), ErrInvalidEmail},
}

// VerifyFreemium sends a one-time code by e-mail.
var VerifyFreemium = define[FreemiumVerifyRequest, FreemiumVerifyResponse](&freemiumVerify, Operation{Fields: Fields{required("email")}})

// errFreemiumTooLarge refuses a file without an account, for which there are no uploads
// in parts.
var errFreemiumTooLarge = ErrFileTooLarge.With("reason", "leave out older rows: the forecast without an account takes one file of at most 10 MB")

var freemiumForecast = Route{
	Name: "freemium-forecast", Path: PathFreemiumForecast, Host: HostFreemium, Credential: CredentialNone, FormOnly: true, Failure: ErrForecastFailed, TooLarge: errFreemiumTooLarge,
	Summary: "Forecast the next 24 hours without an account", Description: "One file of a plant's production gives one forecast.",
	Form: []FormField{
		{"file", "file", "A CSV file with a column of times and one of power or energy.", true},
		{"email", "string", "The address that the code was sent to.", true},
		{"verification_code", "string", "The code of the verify step.", true},
		{"site_name", "string", "The name of the plant.", true},
		{"location", "string", "A town or `lat,lon`.", true},
		{"capacity_kw", "number", "The capacity in kW.", true},
		{"tou_accepted", "boolean", "The terms of use are accepted; must be true.", true},
		{"marketing_opt_in", "boolean", "News may be sent; false when left out.", false},
	},
	Errors: []*Error{ErrCSVRequired, ErrInvalidEmail, ErrFreemiumCSV, ErrTermsNotAccepted, ErrInvalidCode, ErrForecastFailed},
}

// ForecastFreemium forecasts the next 24 hours from one file.
var ForecastFreemium = define[FreemiumRequest, FreemiumResponse](&freemiumForecast, Operation{})
