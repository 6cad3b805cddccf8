// The answers of each structure for a file of events, by each way to ask: for comparison with those of other languages.
// As ffi/tests/cpp/decisions.cpp, which says more.
package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"log"
	"os"
	"strconv"
	"time"

	"windlass"
)

type event struct {
	tick   windlass.Ticks
	cost   uint64
	number uint64
	id     []byte
}

func number(text string) uint64 {
	n, _ := strconv.ParseUint(text, 10, 64)
	return n
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func check(holds bool, what ...any) {
	if !holds {
		log.Fatal("not so: ", what)
	}
}

func read(path string, costs bool) []event {
	var events []event
	lines := bufio.NewScanner(must(os.Open(path)))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		tick, rest, _ := bytes.Cut(lines.Bytes(), []byte("\t"))
		e := event{tick: windlass.Ticks(number(string(tick))), cost: 1}
		if costs {
			var cost []byte
			cost, rest, _ = bytes.Cut(rest, []byte("\t"))
			e.cost = number(string(cost))
		}
		e.id = append(e.id, rest...)
		e.number = number(string(rest))
		events = append(events, e)
	}
	check(lines.Err() == nil && len(events) > 0, path)
	return events
}

const size = 200

// Some events in all forms.
type batch struct {
	ticks   []windlass.Ticks
	costs   []uint64
	numbers []uint64
	hashes  []windlass.Hash
	packed  windlass.Packed
}

func (b *batch) fill(events []event, seed uint64) {
	b.ticks, b.costs, b.numbers, b.hashes = b.ticks[:0], b.costs[:0], b.numbers[:0], b.hashes[:0]
	b.packed.Reset()
	for _, e := range events {
		b.ticks = append(b.ticks, e.tick)
		b.costs = append(b.costs, e.cost)
		b.numbers = append(b.numbers, e.number)
		b.hashes = append(b.hashes, windlass.HashBytes(e.id, seed))
		check(b.packed.Add(e.id))
	}
}

func each(events []event, seed uint64, with func([]event, *batch)) {
	var b batch
	for len(events) > 0 {
		n := size
		if len(events) < n {
			n = len(events)
		}
		b.fill(events[:n], seed)
		with(events[:n], &b)
		events = events[n:]
	}
}

var out = bufio.NewWriter(os.Stdout)

// observer is what a Dedup and a Bloom have in common.
type observer struct {
	one     func([]byte, windlass.Ticks) (windlass.Verdict, error)
	hash    func(windlass.Hash, windlass.Ticks) (windlass.Verdict, error)
	u64     func(uint64, windlass.Ticks) (windlass.Verdict, error)
	packed  func(*windlass.Packed, windlass.Ticks, []windlass.Ticks, []windlass.Verdict) (int, error)
	hashes  func([]windlass.Hash, windlass.Ticks, []windlass.Ticks, []windlass.Verdict) (int, error)
	numbers func([]uint64, windlass.Ticks, []windlass.Ticks, []windlass.Verdict) (int, error)
}

func (o *observer) ask(way string, events []event, b *batch) {
	verdicts := make([]windlass.Verdict, len(events))
	switch way {
	case "packed":
		must(o.packed(&b.packed, 0, b.ticks, verdicts))
	case "hashes":
		must(o.hashes(b.hashes, 0, b.ticks, verdicts))
	case "u64s":
		must(o.numbers(b.numbers, 0, b.ticks, verdicts))
	default:
		for i, e := range events {
			switch way {
			case "single":
				verdicts[i] = must(o.one(e.id, e.tick))
			case "hash":
				verdicts[i] = must(o.hash(b.hashes[i], e.tick))
			default:
				verdicts[i] = must(o.u64(e.number, e.tick))
			}
		}
	}
	for _, v := range verdicts {
		fmt.Fprint(out, v)
	}
}

func dedup(a []string) {
	d := must(windlass.NewDedup(windlass.DedupConfig{
		Window: windlass.Ticks(number(a[1])), Lateness: windlass.Ticks(number(a[2])), Capacity: number(a[3]), Unit: windlass.UnitEvents,
	}))
	defer d.Close()
	o := observer{d.Observe, d.ObserveHash, d.ObserveUint64, d.ObservePacked, d.ObserveHashes, d.ObserveUint64s}
	each(read(a[4], false), must(d.Seed()), func(events []event, b *batch) { o.ask(a[0], events, b) })
}

// asVerdict makes one of what tells whether an id was seen.
func asVerdict(seen bool, err error) (windlass.Verdict, error) {
	if seen {
		return windlass.Duplicate, err
	}
	return windlass.Fresh, err
}

func bloom(a []string) {
	verb, way, seed := a[0], a[1], number(a[4])
	d := must(windlass.NewBloom(windlass.BloomConfig{
		Window: windlass.Ticks(number(a[2])), ExpectedIDs: number(a[3]), Seed: &seed, Unit: windlass.UnitEvents,
	}))
	defer d.Close()
	o := observer{d.Observe, d.ObserveHash, d.ObserveUint64, d.ObservePacked, d.ObserveHashes, d.ObserveUint64s}
	switch verb {
	case "insert":
		o = observer{
			func(key []byte, now windlass.Ticks) (windlass.Verdict, error) { return asVerdict(d.Insert(key, now)) },
			func(key windlass.Hash, now windlass.Ticks) (windlass.Verdict, error) {
				return asVerdict(d.InsertHash(key, now))
			},
			func(key uint64, now windlass.Ticks) (windlass.Verdict, error) {
				return asVerdict(d.InsertUint64(key, now))
			},
			d.InsertPacked, d.InsertHashes, d.InsertUint64s,
		}
	case "contains":
		o = observer{
			func(key []byte, now windlass.Ticks) (windlass.Verdict, error) { return asVerdict(d.Contains(key, now)) },
			func(key windlass.Hash, now windlass.Ticks) (windlass.Verdict, error) {
				return asVerdict(d.ContainsHash(key, now))
			},
			func(key uint64, now windlass.Ticks) (windlass.Verdict, error) {
				return asVerdict(d.ContainsUint64(key, now))
			},
			d.ContainsPacked, d.ContainsHashes, d.ContainsUint64s,
		}
	}
	each(read(a[5], false), seed, func(events []event, b *batch) {
		for _, e := range events {
			if verb != "contains" || e.number%2 != 0 {
				continue
			}
			if way == "u64" || way == "u64s" {
				must(d.InsertUint64(e.number, e.tick))
			} else {
				must(d.Insert(e.id, e.tick))
			}
		}
		o.ask(way, events, b)
	})
}

func limiter(a []string) {
	way, seed := a[0], number(a[4])
	config := windlass.LimiterConfig{Quota: a[2], Algorithm: windlass.Algorithm(number(a[1])), Seed: &seed, Clients: 20000}
	show := func(of windlass.Admission) {
		fmt.Fprintln(out, of.Kind, of.Remaining, of.ResetAfter.Nanoseconds(), of.RetryAfter.Nanoseconds(), of.Delay.Nanoseconds())
	}
	if way == "global" {
		global := must(windlass.NewGlobalLimiter(config))
		defer global.Close()
		for _, e := range read(a[5], true) {
			show(must(global.Check(e.cost, e.tick)))
		}
		return
	}
	config.Lateness = windlass.Ticks(number(a[3]))
	l := must(windlass.NewLimiter(config))
	defer l.Close()
	var answers windlass.Admissions
	each(read(a[5], true), seed, func(events []event, b *batch) {
		switch way {
		case "packed":
			must(l.CheckPacked(&b.packed, b.costs, 0, b.ticks, &answers))
		case "hashes":
			must(l.CheckHashes(b.hashes, b.costs, 0, b.ticks, &answers))
		case "u64s":
			must(l.CheckUint64s(b.numbers, b.costs, 0, b.ticks, &answers))
		default:
			for i, e := range events {
				switch way {
				case "single":
					show(must(l.Check(e.id, e.cost, e.tick)))
				case "hash":
					show(must(l.CheckHash(b.hashes[i], e.cost, e.tick)))
				default:
					show(must(l.CheckUint64(e.number, e.cost, e.tick)))
				}
			}
			return
		}
		for i := range events {
			show(answers.At(i))
		}
	})
}

func topk(a []string) {
	way, pane, seed := a[0], windlass.Ticks(number(a[2])), number(a[4])
	t := must(windlass.NewTopK(windlass.TopKConfig{
		Window: windlass.Ticks(number(a[1])), Pane: pane, K: number(a[3]), Seed: &seed, Capacity: 20000, Unit: windlass.UnitEvents,
	}))
	defer t.Close()
	events := read(a[5], false)
	var list windlass.TopList
	var b batch
	end := (events[0].tick/pane + 1) * pane
	show := func() {
		check(t.TopComplete(end, &list) == nil && list.Info().Certified, end)
		fmt.Fprint(out, end)
		for i := range list.Rows() {
			row := &list.Rows()[i]
			key := list.Key(row)
			fmt.Fprintf(out, "\t%d\t", row.Count)
			if row.Kind == windlass.KeyBytes {
				out.Write(key)
				continue
			}
			// As it lies in memory: here little endian, the low half first.
			check(row.Kind == windlass.KeyHash && len(key) == 16, row)
			for i := 15; i >= 0; i-- {
				fmt.Fprintf(out, "%02x", key[i])
			}
		}
		fmt.Fprintln(out)
		end += pane
	}
	for len(events) > 0 {
		for events[0].tick >= end {
			show()
		}
		n := 0
		for n < len(events) && n < size && events[n].tick < end {
			n++
		}
		b.fill(events[:n], seed)
		var tally windlass.Tally
		switch way {
		case "packed":
			check(t.AddPacked(&b.packed, nil, 0, b.ticks, &tally) == nil && tally.Counted == uint64(n), tally)
		case "hashes":
			check(t.AddHashes(b.hashes, nil, 0, b.ticks, &tally) == nil && tally.Counted == uint64(n), tally)
		default:
			for i, e := range events[:n] {
				if way == "hash" {
					check(must(t.AddHash(b.hashes[i], 1, e.tick)) == windlass.Counted)
				} else {
					check(must(t.Add(e.id, 1, e.tick)) == windlass.Counted)
				}
			}
		}
		events = events[n:]
	}
	show()
}

func fifo(a []string) {
	way, every, seed := a[0], windlass.Ticks(number(a[1])), number(a[2])
	f := must(windlass.NewFifo(windlass.FifoConfig{Capacity: 4096, Seed: &seed}))
	defer f.Close()
	events := read(a[3], false)
	seen := map[uint64]bool{}
	due := events[0].tick + every
	var entry windlass.Entry
	var key windlass.Packed
	for _, e := range events {
		for ; due <= e.tick; due += every {
			must(f.Pop(&entry))
		}
		hash := windlass.HashBytes(e.id, seed)
		if !seen[e.number] {
			pushed := []windlass.Pushed{-1}
			var err error
			switch way {
			case "packed":
				key.Reset()
				key.Add(e.id)
				err = f.PushPacked(&key, &key, e.tick, pushed, nil)
			case "hash":
				pushed[0], _, err = f.PushHash(hash, e.id, e.tick)
			case "single":
				pushed[0], _, err = f.Push(e.id, e.id, e.tick)
			default:
				pushed[0], _, err = f.PushUint64(e.number, e.id, e.tick)
			}
			check(err == nil && pushed[0] == windlass.PushedNew, err, pushed)
			seen[e.number] = true
		}
		ranks := []int64{-1}
		var rank uint64
		var found bool
		var err error
		switch way {
		case "packed":
			key.Reset()
			key.Add(e.id)
			err = f.RankPacked(&key, ranks)
		case "hash":
			rank, found, err = f.RankHash(hash)
		case "single":
			rank, found, err = f.Rank(e.id)
		default:
			rank, found, err = f.RankUint64(e.number)
		}
		check(err == nil, err)
		if found {
			ranks[0] = int64(rank)
		}
		fmt.Fprintln(out, ranks[0])
	}
}

// again prints a snapshot, and that of what is restored of it a second later.
func again[T any](
	it T, now windlass.Ticks, wall time.Time, write func(T, io.Writer, windlass.Ticks, time.Time) error,
	restore func(io.Reader, time.Time) (T, windlass.Restored, error),
) {
	var text bytes.Buffer
	err := write(it, &text, now, wall)
	check(err == nil, err)
	fmt.Fprintf(out, "%x\n", text.Bytes())
	later := wall.Add(time.Second)
	it, restored, err := restore(&text, later)
	check(err == nil && text.Len() == 0, err)
	err = write(it, &text, restored.Resumed, later)
	check(err == nil, err)
	fmt.Fprintf(out, "%x\n", text.Bytes())
}

func snapshot(a []string) {
	kind, seed, now := a[0], number(a[1]), windlass.Ticks(number(a[2]))
	wall := time.Unix(0, int64(number(a[3])))
	events := read(a[4], false)
	const minute = 60 * windlass.Ticks(time.Second)
	const window, pane, lateness = 4 * windlass.Ticks(time.Second), windlass.Ticks(time.Second) / 2, 3 * windlass.Ticks(time.Second) / 10
	hashes := make([]windlass.Hash, len(events))
	ofHashes := seed
	if kind == "fifo" {
		ofHashes++
	}
	for i := range events {
		events[i].tick *= 1000000
		hashes[i] = windlass.HashBytes(events[i].id, ofHashes)
	}
	switch kind {
	case "dedup", "dedup_bytes":
		config := windlass.DedupConfig{Window: window, Lateness: lateness, Capacity: 5000, Seed: &seed}
		if kind == "dedup_bytes" {
			config.Identity = windlass.IdentityBytes
		}
		d := must(windlass.NewDedup(config))
		for i, e := range events {
			switch {
			case i%7 == 6:
				claim := must(d.Claim(e.id, e.tick, windlass.Ticks(time.Second)))
				check(claim.Verdict != windlass.Fresh || i%2 != 0 || must(d.Commit(claim.Ticket)))
			case i%3 == 0:
				must(d.Observe(e.id, e.tick))
			case i%3 == 1:
				must(d.ObserveHash(hashes[i], e.tick))
			default:
				must(d.ObserveUint64(e.number, e.tick))
			}
		}
		again(d, now, wall, (*windlass.Dedup).Snapshot, func(r io.Reader, wall time.Time) (*windlass.Dedup, windlass.Restored, error) {
			return windlass.RestoreDedup(config, r, wall)
		})
	case "bloom":
		config := windlass.BloomConfig{Window: window, ExpectedIDs: 700, Seed: &seed}
		b := must(windlass.NewBloom(config))
		for i, e := range events {
			switch i % 3 {
			case 0:
				must(b.Insert(e.id, e.tick))
			case 1:
				must(b.InsertHash(hashes[i], e.tick))
			default:
				must(b.InsertUint64(e.number, e.tick))
			}
		}
		again(b, now, wall, (*windlass.Bloom).Snapshot, func(r io.Reader, wall time.Time) (*windlass.Bloom, windlass.Restored, error) {
			return windlass.RestoreBloom(config, r, wall)
		})
	case "counter":
		config := windlass.CounterConfig{Window: window, Pane: pane, Lateness: lateness, Capacity: 5000, Seed: &seed}
		c := must(windlass.NewCounter(config))
		count(events, hashes, c.Add, c.AddHash, c.AddUint64)
		again(c, now, wall, (*windlass.Counter).Snapshot, func(r io.Reader, wall time.Time) (*windlass.Counter, windlass.Restored, error) {
			return windlass.RestoreCounter(config, r, wall)
		})
	case "topk":
		config := windlass.TopKConfig{Window: window, Pane: pane, Lateness: lateness, K: 20, Capacity: 5000, Seed: &seed}
		t := must(windlass.NewTopK(config))
		count(events, hashes, t.Add, t.AddHash, t.AddUint64)
		again(t, now, wall, (*windlass.TopK).Save, func(r io.Reader, wall time.Time) (*windlass.TopK, windlass.Restored, error) {
			return windlass.RestoreTopK(config, r, wall)
		})
	case "bounded":
		config := windlass.BoundedTopKConfig{Window: window, Pane: pane, Lateness: lateness, K: 20, Memory: 65536, Seed: &seed}
		t := must(windlass.NewBoundedTopK(config))
		count(events, hashes, t.Add, t.AddHash, t.AddUint64)
		again(t, now, wall, (*windlass.BoundedTopK).Save, func(r io.Reader, wall time.Time) (*windlass.BoundedTopK, windlass.Restored, error) {
			return windlass.RestoreBoundedTopK(config, r, wall)
		})
	case "fifo":
		config := windlass.FifoConfig{Capacity: 5000, Seed: &seed}
		f := must(windlass.NewFifo(config))
		var entry windlass.Entry
		for i, e := range events {
			var err error
			switch i % 3 {
			case 0:
				_, _, err = f.Push(e.id, e.id[:i%9], e.tick)
			case 1:
				_, _, err = f.PushHash(hashes[i], e.id[:i%9], e.tick)
			default:
				_, _, err = f.PushUint64(e.number, e.id[:i%9], e.tick)
			}
			check(err == nil && (i%5 != 4 || must(f.Pop(&entry))), err)
		}
		again(f, now, wall, (*windlass.Fifo).Snapshot, func(r io.Reader, wall time.Time) (*windlass.Fifo, windlass.Restored, error) {
			return windlass.RestoreFifo(config, r, wall)
		})
	case "limiter", "limiter_log":
		config := windlass.LimiterConfig{Permits: 5, Per: minute, Clients: 5000, Lateness: lateness, Seed: &seed}
		if kind == "limiter" {
			config.Burst = 8
		} else {
			config.Algorithm = windlass.SlidingLog
		}
		l := must(windlass.NewLimiter(config))
		for i, e := range events {
			cost := uint64(1 + i%3)
			switch i % 3 {
			case 0:
				must(l.Check(e.id, cost, e.tick))
			case 1:
				must(l.CheckHash(hashes[i], cost, e.tick))
			default:
				must(l.CheckUint64(e.number, cost, e.tick))
			}
		}
		less := windlass.Quota{Permits: 4, Per: minute}
		err := l.SetQuotaFor(events[0].id, less, windlass.InheritAsIs, now)
		check(err == nil, err)
		err = l.SetQuota(less, windlass.InheritAsIs, now)
		check(err == nil, err)
		again(l, now, wall, (*windlass.Limiter).Snapshot, func(r io.Reader, wall time.Time) (*windlass.Limiter, windlass.Restored, error) {
			return windlass.RestoreLimiter(config, r, wall)
		})
	case "global_limiter":
		config := windlass.LimiterConfig{Permits: 2000, Per: minute, Algorithm: windlass.SlidingCounter}
		l := must(windlass.NewGlobalLimiter(config))
		for i, e := range events {
			must(l.Check(uint64(1+i%3), e.tick))
		}
		err := l.SetQuota(windlass.Quota{Permits: 1000, Per: minute}, windlass.InheritAsIs, now)
		check(err == nil, err)
		again(l, now, wall, (*windlass.GlobalLimiter).Snapshot, func(r io.Reader, wall time.Time) (*windlass.GlobalLimiter, windlass.Restored, error) {
			return windlass.RestoreGlobalLimiter(config, r, wall)
		})
	case "limitset":
		config := windlass.LimitSetConfig{Lateness: lateness, Seed: &seed, Limits: []windlass.LimitRule{
			{Name: "user", Permits: 5, Per: minute, Burst: 8, Clients: 5000},
			{Name: "tenant", Permits: 400, Per: minute, Clients: 100, Algorithm: windlass.SlidingCounter},
			{Name: "all", Permits: 5000, Per: minute, Algorithm: windlass.FixedWindow},
		}}
		set := must(windlass.NewLimitSet(config))
		for i, e := range events {
			keys := []windlass.Hash{hashes[i], windlass.HashUint64(e.number%16, seed)}
			must(set.Check(keys, uint64(1+i%3), e.tick))
		}
		err := set.SetQuota("user", windlass.Quota{Permits: 4, Per: minute}, now)
		check(err == nil, err)
		again(set, now, wall, (*windlass.LimitSet).Snapshot, func(r io.Reader, wall time.Time) (*windlass.LimitSet, windlass.Restored, error) {
			return windlass.RestoreLimitSet(config, r, wall)
		})
	default:
		check(kind == "ring", kind)
		config := windlass.RingConfig{Vnodes: 40, Seed: &seed}
		ring := must(windlass.NewRing(config))
		for id := uint32(0); id < 6; id++ {
			must(ring.Add(id, string(events[id].id), 1+id%3))
		}
		must(ring.Remove(2))
		write := func(ring *windlass.Ring, w io.Writer, _ windlass.Ticks, wall time.Time) error {
			return ring.Snapshot(w, wall)
		}
		again(ring, now, wall, write, func(r io.Reader, wall time.Time) (*windlass.Ring, windlass.Restored, error) {
			return windlass.RestoreRing(config, r, wall)
		})
	}
}

func count(
	events []event, hashes []windlass.Hash, one func([]byte, uint64, windlass.Ticks) (windlass.Added, error),
	hash func(windlass.Hash, uint64, windlass.Ticks) (windlass.Added, error), u64 func(uint64, uint64, windlass.Ticks) (windlass.Added, error),
) {
	for i, e := range events {
		times := uint64(1 + i%5)
		var added windlass.Added
		switch i % 3 {
		case 0:
			added = must(one(e.id, times, e.tick))
		case 1:
			added = must(hash(hashes[i], times, e.tick))
		default:
			added = must(u64(e.number, times, e.tick))
		}
		check(added == windlass.Counted, added)
	}
}

func main() {
	log.SetFlags(0)
	kinds := map[string]func([]string){"dedup": dedup, "bloom": bloom, "limiter": limiter, "topk": topk, "fifo": fifo, "snapshot": snapshot}
	check(len(os.Args) > 3 && kinds[os.Args[1]] != nil, os.Args)
	kinds[os.Args[1]](os.Args[2:])
	check(out.Flush() == nil)
}
