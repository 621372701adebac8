package main

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A workload is many calls, some at once, by its flags.
type workload struct {
	calls, concurrency, connections int
	timeout                         time.Duration
}

func (w *workload) register(flags *flag.FlagSet) {
	flags.IntVar(&w.calls, "calls", 1, "how many calls")
	flags.IntVar(&w.concurrency, "concurrency", 1, "how many at once")
	flags.IntVar(&w.connections, "connections", 1, "over how many connections")
	flags.DurationVar(&w.timeout, "timeout", 30*time.Second, "for each call")
}

// run makes the calls and gives their figures. A call that is never answered is an error too.
func (w *workload) run(ctx context.Context, call func(ctx context.Context, number int) error) fields {
	var next, errors atomic.Int64
	var firstError atomic.Pointer[string]
	took := make([]time.Duration, w.calls)
	start := time.Now()
	var workers sync.WaitGroup
	for range w.concurrency {
		workers.Add(1)
		go func() {
			defer workers.Done()
			for {
				number := int(next.Add(1)) - 1
				if number >= w.calls || ctx.Err() != nil {
					return
				}
				began := time.Now()
				callCtx, cancel := context.WithTimeout(ctx, w.timeout)
				err := call(callCtx, number)
				cancel()
				took[number] = time.Since(began)
				if err != nil {
					errors.Add(1)
					text := fmt.Sprintf("call %d: %v", number, err)
					firstError.CompareAndSwap(nil, &text)
				}
			}
		}()
	}
	workers.Wait()
	line := fields{
		"calls": min(int(next.Load()), w.calls), "errors": errors.Load(),
		"ms": time.Since(start).Milliseconds(),
	}
	if text := firstError.Load(); text != nil {
		line["firstError"] = *text
	}
	if w.calls > 0 {
		slices.Sort(took)
		line["p50us"] = took[w.calls/2].Microseconds()
		line["p99us"] = took[w.calls*99/100].Microseconds()
	}
	return line
}

func failedCalls(line fields) error {
	if line["errors"] == int64(0) {
		return nil
	}
	return fmt.Errorf("%d of %d calls failed, first %v", line["errors"], line["calls"], line["firstError"])
}
