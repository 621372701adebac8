//go:debug default=go1.24

// Command quic-peer plays the other side of the plugin bus on quic-go: an echo server and its load,
// a plugin, an orchestrator, a client, and peers that misbehave. README.md lists what it takes and
// prints.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
)

type command func(ctx context.Context, flags *flag.FlagSet, args []string) error

var commands = map[string]command{
	"bad":          runBad,
	"bad-server":   runBadServer,
	"certs":        runCerts,
	"client":       runClient,
	"echo-server":  runEchoServer,
	"load":         runLoad,
	"orchestrator": runOrchestrator,
	"plugin":       runPlugin,
}

// A usageError is the caller's mistake: exit 2.
type usageError struct{ message string }

func (e usageError) Error() string { return e.message }

func main() {
	if len(os.Args) < 2 || commands[os.Args[1]] == nil {
		fmt.Fprintf(os.Stderr, "Usage: quic-peer %s [flags]\n", strings.Join(namesOf(commands), "|"))
		os.Exit(2)
	}
	name := os.Args[1]
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	flags := flag.NewFlagSet("quic-peer "+name, flag.ContinueOnError)
	err := commands[name](ctx, flags, os.Args[2:])
	stop()
	var usage usageError
	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case errors.As(err, &usage):
		fmt.Fprintf(os.Stderr, "quic-peer %s: %v\n", name, err)
		os.Exit(2)
	default:
		fmt.Fprintf(os.Stderr, "quic-peer %s: %v\n", name, err)
		os.Exit(1)
	}
}

func namesOf[T any](table map[string]T) []string {
	return slices.Sorted(maps.Keys(table))
}

// parse reads the flags and refuses what was left out or is not known.
func parse(flags *flag.FlagSet, args []string, required ...string) error {
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError{err.Error()}
	}
	for _, name := range required {
		if flags.Lookup(name).Value.String() == "" {
			return usageError{fmt.Sprintf("--%s is required", name)}
		}
	}
	return nil
}

var output sync.Mutex

// fields is one line of what a command prints.
type fields map[string]any

// report prints one line of JSON.
func report(line fields) {
	text, err := json.Marshal(line)
	if err != nil {
		panic(err)
	}
	output.Lock()
	defer output.Unlock()
	os.Stdout.Write(append(text, '\n'))
}

// untilInputEnds is a context that also ends with stdin: then whoever started this process is gone.
func untilInputEnds(ctx context.Context, wanted bool) context.Context {
	if !wanted {
		return ctx
	}
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return ctx
}
