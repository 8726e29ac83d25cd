package httpapi

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"app.sunloop/backend/api"
)

func (s *server) forecastSnapshot(in *input) (*call, error) {
	site, err := in.required("site_id")
	if err != nil {
		return nil, err
	}
	hours := api.DefaultSnapshotHours
	if text := in.parameter("horizon"); text != "" {
		n, err := strconv.Atoi(strings.TrimSuffix(text, "h"))
		if err != nil || n < 1 || n > api.MaxHorizonHours {
			return nil, api.InvalidParameter("horizon", fmt.Sprintf("hours from 1h to %dh", api.MaxHorizonHours))
		}
		hours = n
	}
	return &call{target: target{siteID: site}, run: func(ctx context.Context, g granted) (any, error) {
		return s.Forecasts.ForecastSnapshot(ctx, g.scope, site, hours)
	}}, nil
}
