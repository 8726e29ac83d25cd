package replay

import (
	"bufio"
	"fmt"
	"io"
	"time"
)

// Export writes what plain learners learn from as CSV, for learners of other
// makers on the very rows that are scored here: the time, the number of the
// month (of the whole test, where nothing is refitted) that the row is tested
// in, 0 before the first, whether it is scored, the power as a share of the capacity, and the features of the plain
// quantile trees. Rows with the sun down are left out: power is zero there.
func Export(w io.Writer, s *Replay) error {
	parts, err := s.parts(0)
	if err != nil {
		return err
	}
	power := means(s.Power, s.Protocol.Resolution)
	k, err := learnKnown(s.Site, s.Power, power, parts[0].issues[0].at, 1)
	if err != nil {
		return err
	}
	features := s.features(k)
	last := parts[len(parts)-1].issues
	frame := features.frame(k, 0, index(power, last[len(last)-1].at.Add(s.Protocol.Horizon)))
	out := bufio.NewWriter(w)
	fmt.Fprint(out, "time,refit,scored,power")
	for _, n := range frame.Names {
		fmt.Fprint(out, ",", n)
	}
	refit := 0
	for r := range frame.Len() {
		at := time.Unix(frame.Time[r], 0).UTC()
		for refit < len(parts) && !at.Before(parts[refit].issues[0].at) {
			refit++
		}
		i, _ := power.Index(at)
		scored := 0
		if refit > 0 && (k.bright[i] || s.Protocol.AllHours) {
			scored = 1
		}
		fmt.Fprintf(out, "\n%s,%d,%d,%g", at.Format(time.RFC3339), refit, scored, frame.Target[r])
		for _, v := range frame.Row(r) {
			fmt.Fprintf(out, ",%g", v)
		}
	}
	fmt.Fprintln(out)
	return out.Flush()
}
