//go:build !gateway

package riverjobs

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"app.sunloop/backend/store"
	"app.sunloop/backend/store/pgtest"
	"app.sunloop/backend/store/postgres"
)

func openBench(b *testing.B, url string) *Storage {
	b.Helper()
	h, err := Open(b.Context(), url, postgres.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := h.Close(); err != nil {
			b.Error(err)
		}
	})
	return h
}

// record puts a record of some hundred bytes and the job that follows from it.
func record(ctx context.Context, h *Storage, i int) error {
	return h.Update(ctx, func(tx store.Tx) error {
		if err := tx.Put("orders", store.Key("acme", fmt.Sprint(i)), make([]byte, 400)); err != nil {
			return err
		}
		return tx.Enqueue(store.Job{Kind: "job", Unique: fmt.Sprint(i), Payload: []byte(`{"site_id":"South"}`)})
	})
}

// BenchmarkEnqueue is a record and its job in one transaction, on a server that
// waits for its disk; the middle of all in ms.
func BenchmarkEnqueue(b *testing.B) {
	h := openBench(b, pgtest.Start(b, pgtest.Options{FSync: true}).Database(b))
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		begun := time.Now()
		if err := record(b.Context(), h, i); err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(begun))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
}

// BenchmarkWork is jobs that do nothing, by pools of eight workers.
func BenchmarkWork(b *testing.B) {
	for _, pools := range []int{1, 2, 3} {
		b.Run(fmt.Sprint(pools, " pools"), func(b *testing.B) {
			url := pgtest.Start(b, pgtest.Options{FSync: true}).Database(b)
			first := openBench(b, url)
			for i := range b.N {
				if err := record(b.Context(), first, i); err != nil {
					b.Fatal(err)
				}
			}
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			var ran atomic.Int64
			all, ended := make(chan struct{}), make(chan error, pools)
			b.ResetTimer()
			for range pools {
				h := openBench(b, url)
				go func() {
					ended <- h.Work(ctx, store.Worker{Kinds: []string{"job"}, Workers: 8, Lease: 30 * time.Second, Tick: time.Second,
						Run: func(context.Context, store.Claimed) store.JobResult {
							if ran.Add(1) == int64(b.N) {
								close(all)
							}
							return store.JobResult{}
						}})
				}()
			}
			<-all
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "jobs/s")
			cancel()
			for range pools {
				if err := <-ended; err != nil {
					b.Error(err)
				}
			}
		})
	}
}
