package windlass

/*
#include "handles.h"
*/
import "C"

import (
	"runtime"
	"unsafe"
)

// RingConfig has the settings of a Ring.
// What is left 0 has its default. windlass.h says more of each field, at windlass_ring_config.
type RingConfig struct {
	// The seed of the hash: all who route must have the same. nil: 0.
	Seed *uint64
	// Points of a node for each unit of its weight. 0: 128.
	Vnodes uint32
}

func (config *RingConfig) fill(c *C.windlass_ring_config) error {
	C.windlass_ring_config_init(c, C.uint32_t(unsafe.Sizeof(*c)))
	if config.Seed != nil {
		c.seed = C.uint64_t(*config.Seed)
	}
	if config.Vnodes != 0 {
		c.vnodes = C.uint32_t(config.Vnodes)
	}
	return nil
}

// Ring is a consistent-hash ring with weighted virtual nodes.
//
// All methods but Close may be called by any number of goroutines at once. Use NewRing to make one.
type Ring struct {
	handle *C.windlass_ring
}

// NewRing makes a Ring, to be closed when it is needed no more. The error of a wrong setting names it.
func NewRing(config RingConfig) (*Ring, error) {
	var settings C.windlass_ring_config
	if err := config.fill(&settings); err != nil {
		return nil, err
	}
	made := &Ring{}
	e := newError()
	if status := C.windlass_ring_new(&settings, &made.handle, &e); status != 0 {
		return nil, failure(status, &e)
	}
	// A safety net: memory that Go does not see may grow large before it is thrown.
	runtime.SetFinalizer(made, (*Ring).Close)
	return made, nil
}

// Close frees it. No other call may be under way; those that come later return ErrClosed. To close it again does nothing.
func (it *Ring) Close() error {
	runtime.SetFinalizer(it, nil)
	C.windlass_ring_free(it.handle)
	it.handle = nil
	return nil
}

// Add adds a node: id is what routes return, name what its points are made from. It tells the share of all keys that have another owner now.
func (it *Ring) Add(id uint32, name string, weight uint32) (moved float64, err error) {
	e := newError()
	var share C.double
	code := C.windlass_ring_add(it.handle, C.uint32_t(id), (*C.uint8_t)(stringPointer(name)), C.size_t(len(name)), C.uint32_t(weight), &share, &e)
	runtime.KeepAlive(it)
	if code != 0 {
		return 0, failure(code, &e)
	}
	return float64(share), nil
}

// Remove removes a node.
func (it *Ring) Remove(id uint32) (moved float64, err error) {
	e := newError()
	var share C.double
	code := C.windlass_ring_remove(it.handle, C.uint32_t(id), &share, &e)
	runtime.KeepAlive(it)
	if code != 0 {
		return 0, failure(code, &e)
	}
	return float64(share), nil
}

// SetWeight gives a node another weight.
func (it *Ring) SetWeight(id, weight uint32) (moved float64, err error) {
	e := newError()
	var share C.double
	code := C.windlass_ring_set_weight(it.handle, C.uint32_t(id), C.uint32_t(weight), &share, &e)
	runtime.KeepAlive(it)
	if code != 0 {
		return 0, failure(code, &e)
	}
	return float64(share), nil
}

// Route tells the node that owns a key.
func (it *Ring) Route(key []byte) (uint32, error) {
	owner := C.windlass_ring_route(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)))
	runtime.KeepAlive(it)
	n, err := count(owner)
	return uint32(n), err
}

// RouteString is Route for a string, the same key as its bytes; it is not copied.
func (it *Ring) RouteString(key string) (uint32, error) {
	owner := C.windlass_ring_route(it.handle, (*C.uint8_t)(stringPointer(key)), C.size_t(len(key)))
	runtime.KeepAlive(it)
	n, err := count(owner)
	return uint32(n), err
}

// RouteHash is Route for a key whose hash is known.
func (it *Ring) RouteHash(key Hash) (uint32, error) {
	owner := C.windlass_ring_route_hash(it.handle, key.c())
	runtime.KeepAlive(it)
	n, err := count(owner)
	return uint32(n), err
}

// RouteUint64 is Route for a number.
func (it *Ring) RouteUint64(key uint64) (uint32, error) {
	owner := C.windlass_ring_route_u64(it.handle, C.uint64_t(key))
	runtime.KeepAlive(it)
	n, err := count(owner)
	return uint32(n), err
}

// RouteN fills owners with the first different nodes at and after a key, its owner first, and tells how many there are.
func (it *Ring) RouteN(key []byte, owners []uint32) (int, error) {
	n := C.windlass_ring_route_n(it.handle, (*C.uint8_t)(pointer(key)), C.size_t(len(key)), C.size_t(len(owners)), (*C.uint32_t)(pointer(owners)))
	runtime.KeepAlive(it)
	return counted(n)
}

// RouteNHash is RouteN for a key whose hash is known.
func (it *Ring) RouteNHash(key Hash, owners []uint32) (int, error) {
	n := C.windlass_ring_route_n_hash(it.handle, key.c(), C.size_t(len(owners)), (*C.uint32_t)(pointer(owners)))
	runtime.KeepAlive(it)
	return counted(n)
}

// RoutePacked tells the owners of many keys; owners has room for as many.
func (it *Ring) RoutePacked(keys *Packed, owners []uint32) error {
	n := keys.Len()
	if len(owners) != n {
		return ErrRange
	}
	code := C.windlass_ring_route_packed(it.handle, (*C.uint8_t)(pointer(keys.bytes)), C.size_t(len(keys.bytes)), (*C.uint32_t)(pointer(keys.offsets)), C.size_t(n), (*C.uint32_t)(pointer(owners)))
	runtime.KeepAlive(it)
	return status(code)
}

// RouteFixed is RoutePacked for other keys.
func (it *Ring) RouteFixed(keys Fixed, owners []uint32) error {
	n := keys.Count
	if !keys.valid() {
		return ErrRange
	}
	if len(owners) != n {
		return ErrRange
	}
	code := C.windlass_ring_route_fixed(it.handle, (*C.uint8_t)(pointer(keys.Bytes)), C.size_t(keys.Len), C.size_t(keys.Stride), C.size_t(n), (*C.uint32_t)(pointer(owners)))
	runtime.KeepAlive(it)
	return status(code)
}

// RouteHashes is RoutePacked for other keys.
func (it *Ring) RouteHashes(keys []Hash, owners []uint32) error {
	n := len(keys)
	if len(owners) != n {
		return ErrRange
	}
	code := C.windlass_ring_route_hashes(it.handle, (*C.windlass_hash)(pointer(keys)), C.size_t(n), (*C.uint32_t)(pointer(owners)))
	runtime.KeepAlive(it)
	return status(code)
}

// RouteUint64s is RoutePacked for other keys.
func (it *Ring) RouteUint64s(keys []uint64, owners []uint32) error {
	n := len(keys)
	if len(owners) != n {
		return ErrRange
	}
	code := C.windlass_ring_route_u64s(it.handle, (*C.uint64_t)(pointer(keys)), C.size_t(n), (*C.uint32_t)(pointer(owners)))
	runtime.KeepAlive(it)
	return status(code)
}

// Node is a node of a ring, and the share of all keys that it owns.
type Node struct {
	ID, Weight uint32
	Share      float64
}

// One is laid out as the other.
var _ = [1]struct{}{}[unsafe.Sizeof(Node{})-unsafe.Sizeof(C.windlass_ring_node{})]

// Nodes fills nodes by their ids, as far as it has room, and tells how many there are.
func (it *Ring) Nodes(nodes []Node) (int, error) {
	n := C.windlass_ring_nodes(it.handle, (*C.windlass_ring_node)(pointer(nodes)), C.size_t(len(nodes)))
	runtime.KeepAlive(it)
	return counted(n)
}

// Stats tells plain figures.
func (it *Ring) Stats() (RingStats, error) {
	var c C.windlass_ring_stats
	code := C.windlass_ring_get_stats(it.handle, &c, C.uint32_t(unsafe.Sizeof(c)))
	runtime.KeepAlive(it)
	var to RingStats
	if code == 0 {
		to.read(&c)
	}
	return to, status(code)
}

// RingStats is what a Ring tells of itself.
// See windlass_ring_stats in windlass.h.
type RingStats struct {
	// Points of a node for each unit of its weight.
	Vnodes uint32
	// The seed of the hash.
	Seed uint64
	// How many changes were made.
	Version uint64
	// How many nodes there are.
	Nodes uint64
	// Bytes of points and index.
	MemoryBytes uint64
}

func (to *RingStats) read(c *C.windlass_ring_stats) {
	to.Vnodes = uint32(c.vnodes)
	to.Seed = uint64(c.seed)
	to.Version = uint64(c.version)
	to.Nodes = uint64(c.nodes)
	to.MemoryBytes = uint64(c.memory_bytes)
}
