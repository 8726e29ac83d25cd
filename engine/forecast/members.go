package forecast

import (
	"context"
	"fmt"
	"math"

	"golang.org/x/sync/errgroup"

	"app.sunloop/engine/learn/frame"
	"app.sunloop/engine/learn/neural"
	"app.sunloop/engine/learn/quantile"
	"app.sunloop/engine/learn/tree"
)

// The members of a blend, in the order of all tables and weights.
const (
	memberAnalog = iota // days like the last, see analog.go
	memberPower         // boosted trees of power
	memberIndex         // boosted trees of the clear-sky index
	memberForest        // a forest of the clear-sky index
	memberNeural        // a network with a clear-sky head
	memberCount
)

var memberNames = []string{"analog", "trees_power", "trees_index", "forest_index", "neural"}

// effort is how much is spent on a fit: all for the model, less for each
// origin of its backtest.
type effort struct {
	rows     int // samples a fit sees at most
	rounds   int
	rate     float64
	forest   forestConfig
	hidden   []int
	batch    int
	epochs   int
	perEpoch int
	networks int
}

// forestConfig is the shape of a forest. Its leaves hold few samples: all trees
// together make a distribution of them.
type forestConfig struct {
	trees, leaves int
	part          int // a leaf holds at least one in so many of the samples
}

// learners are the fitted members of a spec.
type learners struct {
	spec       spec
	quantiles  []float64
	binner     *frame.Binner
	power      []*tree.Ensemble // one a quantile
	index      []*tree.Ensemble
	forest     *tree.Forest
	networks   []*neural.Network // averaged
	weights    []float64         // one a member
	calibrator *quantile.Calibrator
	seen       int // intervals of forecasts that came true

	fleet      *learners // of the same features, out of the siblings' histories; nil is none
	fleetShare float32   // what they weigh against the site's own
}

// fitReport is what the members' fits measured, losses in shares of the peak.
type fitReport struct {
	neural neural.Report
	trees  tree.Report
	rows   int
}

const (
	treeBag   = 0.7 // of whole days
	treeBins  = 63  // as good as 255 within 0.5 % and cheaper
	forestBag = 0.5
	// Every seventh block of days validates the network: blocks of five days,
	// of fewer where there are few.
	validationBlockDays, validationEvery, validationTurn = 5, 7, 3
)

// fit trains all members on a, as jobs of one (member, quantile) each on a
// bounded number of workers. seed is turned into one for each job by name.
func fit(ctx context.Context, a *samples, s spec, quantiles []float64, e effort, o Options, id string) (*learners, fitReport, error) {
	table := a.Thin(e.rows)
	rep := fitReport{rows: table.Len()}
	binner, err := frame.FitBinner(table, treeBins)
	if err != nil {
		return nil, rep, err
	}
	binned, err := binner.Apply(table)
	if err != nil {
		return nil, rep, err
	}
	l := &learners{spec: s, quantiles: quantiles, binner: binner, power: make([]*tree.Ensemble, len(quantiles)), index: make([]*tree.Ensemble, len(quantiles)), networks: make([]*neural.Network, e.networks)}
	indexed := *binned
	indexed.Target, indexed.Weight = indexTarget(table)

	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(max(o.Workers, 1))
	reports := make([]neural.Report, e.networks)
	// The longest jobs first: the workers end together.
	for k := range e.networks {
		g.Go(func() error {
			var err error
			l.networks[k], reports[k], err = fitNetwork(ctx, table, quantiles, e, seedOf(o.Seed, id, "neural", k), o.plain)
			return err
		})
	}
	var treeReports = make([]tree.Report, 2*len(quantiles))
	for k, q := range quantiles {
		for form, target := range []*frame.Binned{binned, &indexed} {
			out, name := l.power, "trees_power"
			if form == 1 {
				out, name = l.index, "trees_index"
			}
			g.Go(func() error {
				c := tree.Default(table.Len())
				c.Quantile, c.Rounds, c.Rate, c.Seed = q, e.rounds, e.rate, seedOf(o.Seed, id, name, k)
				c.BagFraction = treeBag
				ens, r, err := tree.Fit(ctx, target, nil, c)
				if err != nil {
					return fmt.Errorf("fit %s: %w", name, err)
				}
				out[k], treeReports[2*k+form] = ens, r
				return nil
			})
		}
	}
	g.Go(func() error {
		c := tree.Default(table.Len())
		c.Rounds, c.Leaves, c.BagFraction, c.MinLeaf, c.FeatureFraction = e.forest.trees, e.forest.leaves, forestBag, max(5, table.Len()/e.forest.part), 0.4
		c.Seed = seedOf(o.Seed, id, "forest_index", 0)
		var err error
		l.forest, err = tree.FitForest(ctx, &indexed, c)
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, rep, err
	}
	for k := range treeReports {
		rep.trees.Rounds = max(rep.trees.Rounds, treeReports[k].Rounds)
		if k%2 == 0 {
			rep.trees.TrainLoss += treeReports[k].TrainLoss / float64(len(quantiles))
		}
	}
	if len(reports) > 0 {
		rep.neural = reports[0]
	}
	return l, rep, nil
}

// indexTarget returns the target over its scale, weighted by the scale.
func indexTarget(f *frame.Frame) ([]float32, []uint8) {
	target, weight := make([]float32, f.Len()), make([]uint8, f.Len())
	for i, y := range f.Target {
		target[i] = y / f.Scale[i]
		weight[i] = uint8(min(max(math.Round(float64(f.Scale[i])*14), 1), 15))
	}
	return target, weight
}

func fitNetwork(ctx context.Context, table *frame.Frame, quantiles []float64, e effort, seed uint64, plain bool) (*neural.Network, neural.Report, error) {
	var train, validation []int32
	block := 1
	if n := table.Len(); n > 0 {
		days := int(table.Group[n-1] - table.Group[0])
		block = min(max(days/(5*validationEvery), 1), validationBlockDays)
	}
	for i := range table.Len() {
		if int(table.Group[i])/block%validationEvery == validationTurn {
			validation = append(validation, int32(i))
		} else {
			train = append(train, int32(i))
		}
	}
	if len(validation) == 0 || len(train) == 0 {
		return nil, neural.Report{}, unfit("too few days to hold some back")
	}
	c := neural.Default(quantiles)
	c.Hidden, c.Batch, c.Epochs, c.Samples, c.Seed, c.Plain = e.hidden, e.batch, e.epochs, e.perEpoch, seed, plain
	c.Patience = max(5, e.epochs/5)
	n, rep, err := neural.Fit(ctx, table.Pick(train), table.Pick(validation), c)
	if err != nil {
		return nil, rep, fmt.Errorf("fit neural: %w", err)
	}
	return n, rep, nil
}

// predict writes every member's forecasts of the rows: memberCount slices, each
// row-major in shares of the peak, ascending and not negative.
func (l *learners) predict(rows, scale, analog []float32) [][]float32 {
	n, q := len(scale), len(l.quantiles)
	out := make([][]float32, memberCount)
	for m := range out {
		out[m] = make([]float32, n*q)
	}
	copy(out[memberAnalog], analog)
	if len(l.power) == 0 {
		return out // a young model has no other member
	}
	column := make([]float32, n)
	for _, of := range []struct {
		member    int
		ensembles []*tree.Ensemble
	}{{memberPower, l.power}, {memberIndex, l.index}} {
		for k, e := range of.ensembles {
			e.Predict(rows, column)
			for i, v := range column {
				if of.member != memberPower {
					v *= scale[i]
				}
				out[of.member][i*q+k] = v
			}
		}
	}
	forest := out[memberForest]
	l.forest.Quantiles(rows, l.quantiles, forest)
	for i := range forest {
		forest[i] *= scale[i/q]
	}
	if len(l.networks) > 0 {
		share := 1 / float32(len(l.networks))
		one := make([]float32, n*q)
		for _, net := range l.networks {
			net.Predict(rows, scale, one)
			for i, v := range one {
				out[memberNeural][i] += v * share
			}
		}
	}
	for m := range out {
		for i := range n {
			r := out[m][i*q : i*q+q]
			for k := range r {
				r[k] = max(r[k], 0)
			}
			quantile.Rearrange(r)
		}
	}
	return out
}

// forecast returns the blend of all members including the pooled ones.
func (l *learners) forecast(rows, scale, analog []float32) []float32 {
	said := blend(l.weights, l.predict(rows, scale, analog))
	if l.fleet != nil {
		for i, v := range l.fleet.forecast(rows, scale, analog) {
			said[i] += l.fleetShare * (v - said[i])
		}
	}
	return said
}

// blend is the weighted mean of the members' quantiles.
func blend(weights []float64, members [][]float32) []float32 {
	out := make([]float32, len(members[0]))
	for m, said := range members {
		w := float32(weights[m])
		if w == 0 {
			continue
		}
		for i, v := range said {
			out[i] += w * v
		}
	}
	return out
}
