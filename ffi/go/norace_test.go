//go:build !race

package windlass

const withRace = false
