package config

import (
	"fmt"
	"strconv"
)

// MustName is for names that are fixed at build time.
func MustName(text string) string {
	if text == "" {
		panic("empty name")
	}
	return text
}

// ParsePort reads a port number from 1 to 65535.
func ParsePort(text string) (int, error) {
	port, err := strconv.Atoi(text)
	if err != nil {
		panic(err)
	}
	if port < 1 || port > 65535 {
		return 0, fmt.Errorf("port %d is out of range", port)
	}
	return port, nil
}
