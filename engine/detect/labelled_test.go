package detect_test

import (
	"math"
	"testing"
	"time"

	"app.sunloop/engine/detect"
)

// Clipping on an open labelled file of 500 samples, 39 of them clipped:
// published rules reach an F1 of 0.80 to 0.95 on it.
func TestClippingOnLabelledFile(t *testing.T) {
	_, v := table(t, "data/pvanalytics-quality/ac_power_inv_7539.csv.gz", "2006-01-02 15:04:05-07:00", time.UTC, "value_normalized", "label")
	power, label := v[0], v[1]
	top := 0.0
	for _, p := range power {
		if !math.IsNaN(p) {
			top = max(top, p)
		}
	}
	var right, said, true_ float64
	for i, clipped := range detect.Clipped(power, 0.985*top) {
		if clipped {
			said++
		}
		if label[i] == 1 {
			true_++
			if clipped {
				right++
			}
		}
	}
	f1 := 2 * right / (said + true_)
	t.Logf("precision %.3f, recall %.3f, F1 %.3f", right/said, right/true_, f1)
	if f1 < 0.95 {
		t.Errorf("F1 %.3f, want 0.95", f1)
	}
}
