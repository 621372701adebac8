package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	pb "quicpeer/pluginv1"
)

var streamTools = map[string]tool{
	"count": {
		description: "Streams so many chunks",
		input:       "chunks number, bytes number, ms number", stream: countStream,
	},
	"endless": {
		description: "Streams until it is cancelled",
		input:       "bytes number", stream: endlessStream,
	},
	"broken": {
		description: "Streams so many chunks, then fails",
		input:       "chunks number", stream: brokenStream,
	},
}

func countStream(ctx context.Context, c toolCall, send sendChunk) (*pb.StreamEnd, error) {
	for number := range c.number("chunks", 3) {
		data := fmt.Appendf(nil, "chunk %d", number)
		if size := c.number("bytes", 0); size > 0 {
			data = bytes.Repeat([]byte{byte(number)}, size)
		}
		if err := send(data); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(c.number("ms", 0)) * time.Millisecond):
		}
	}
	return &pb.StreamEnd{Success: true}, nil
}

func endlessStream(_ context.Context, c toolCall, send sendChunk) (*pb.StreamEnd, error) {
	data := bytes.Repeat([]byte("x"), c.number("bytes", 1024))
	for {
		if err := send(data); err != nil {
			return nil, err
		}
	}
}

func brokenStream(ctx context.Context, c toolCall, send sendChunk) (*pb.StreamEnd, error) {
	if _, err := countStream(ctx, c, send); err != nil {
		return nil, err
	}
	return nil, errors.New("broke off, as told to")
}
