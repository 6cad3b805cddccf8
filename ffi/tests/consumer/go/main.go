// The same as orders.c, in Go.
package main

import (
	"fmt"
	"log"

	"windlass"
)

func main() {
	orders, err := windlass.NewDedup(windlass.DedupConfig{Window: 1000, Capacity: 1000})
	if err != nil {
		log.Fatal(err)
	}
	defer orders.Close()
	fresh := 0
	for i := 0; i < 2; i++ {
		if verdict, err := orders.ObserveString("order", 1); err == nil && verdict == windlass.Fresh {
			fresh++
		}
	}
	fmt.Printf("%d of 2 are fresh, by windlass %s\n", fresh, windlass.Version())
}
