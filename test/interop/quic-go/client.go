package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/quic-go/quic-go"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	pb "quicpeer/pluginv1"
)

// A client plays the original's stdio client, and anybody else who asks an orchestrator or a plugin.
type client struct {
	to          dialer
	work        workload
	tool, topic string
	prompt      string
	arguments   string
	storageType string
	cancelAfter int
	how         sending
	wait        time.Duration

	conn quic.Connection
}

var actions = map[string]func(c *client, ctx context.Context) error{
	"call":         (*client).call,
	"events":       (*client).events,
	"health":       (*client).health,
	"list-prompts": (*client).listPrompts,
	"list-tools":   (*client).listTools,
	"prompt":       (*client).getPrompt,
	"requests":     (*client).requests,
	"storage":      (*client).storage,
	"stream":       (*client).stream,
}

func runClient(ctx context.Context, flags *flag.FlagSet, args []string) error {
	c := &client{}
	c.to.register(flags, "transport.stdio-client")
	c.work.register(flags)
	flags.StringVar(&c.tool, "tool", "echo", "tool to call or to stream")
	flags.StringVar(&c.prompt, "prompt", "greet", "prompt to get")
	flags.StringVar(&c.arguments, "arguments", "{}", "its arguments, in JSON")
	flags.StringVar(&c.topic, "topic", "news", "topic of the events")
	flags.StringVar(&c.storageType, "storage-type", "memory", "storage to try")
	flags.IntVar(&c.cancelAfter, "cancel-after", 0, "cancel a stream after so many chunks (never)")
	c.how.register(flags)
	flags.DurationVar(&c.wait, "wait", 5*time.Second, "for events to be delivered")
	if err := parse(flags, args, "addr", "certs-dir"); err != nil {
		return err
	}
	action := actions[flags.Arg(0)]
	if action == nil || flags.NArg() > 1 {
		given := strings.Join(flags.Args(), " ")
		return usageError{fmt.Sprintf("action %q: one of %s, after the flags", given, namesOf(actions))}
	}
	conns, err := c.to.dialAll(ctx, 1)
	if err != nil {
		return err
	}
	c.conn = conns[0]
	defer hangUp(c.conn)
	return action(c, ctx)
}

// ask makes one request and prints its answer.
func (c *client) ask(ctx context.Context, request *pb.PluginRequest) (*pb.PluginResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, c.work.timeout)
	defer cancel()
	response, err := send(ctx, c.conn, request, c.how)
	if err != nil {
		return nil, err
	}
	report(fields{"response": asJSON(response)})
	return response, nil
}

func (c *client) health(ctx context.Context) error {
	_, err := c.ask(ctx, healthRequest())
	return err
}

func (c *client) listTools(ctx context.Context) error {
	_, err := c.ask(ctx, listToolsRequest())
	return err
}

func (c *client) listPrompts(ctx context.Context) error {
	_, err := c.ask(ctx, listPromptsRequest())
	return err
}

func (c *client) getPrompt(ctx context.Context) error {
	get := &pb.PromptGetRequest{PromptName: c.prompt}
	if err := json.Unmarshal([]byte(c.arguments), &get.Arguments); err != nil {
		return usageError{fmt.Sprintf("--arguments: %v", err)}
	}
	_, err := c.ask(ctx, &pb.PluginRequest{Request: &pb.PluginRequest_PromptGet{PromptGet: get}})
	return err
}

func (c *client) toolArguments() (*structpb.Struct, error) {
	arguments := &structpb.Struct{}
	if err := protojson.Unmarshal([]byte(c.arguments), arguments); err != nil {
		return nil, usageError{fmt.Sprintf("--arguments: %v", err)}
	}
	return arguments, nil
}

// call makes all of the calls and prints their figures, which codes failures had, and one answer.
func (c *client) call(ctx context.Context) error {
	arguments, err := c.toolArguments()
	if err != nil {
		return err
	}
	conns, err := c.to.dialAll(ctx, c.work.connections-1)
	if err != nil {
		return err
	}
	defer hangUpAll(conns)
	conns = append(conns, c.conn)
	var mu sync.Mutex
	var last *pb.PluginResponse
	failures := map[string]int{}
	result := c.work.run(ctx, func(ctx context.Context, number int) error {
		request := &pb.ToolRequest{ToolName: c.tool, Arguments: arguments, CallerPlugin: "transport.stdio"}
		response, err := send(ctx, conns[number%len(conns)], &pb.PluginRequest{
			RequestId: fmt.Sprintf("stdio-tc-%d", number),
			Request:   &pb.PluginRequest_ToolCall{ToolCall: request},
		}, c.how)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		last = response
		if answer := response.GetToolCall(); answer == nil {
			failures["no tool response"]++
		} else if !answer.Success {
			failures[answer.ErrorCode]++
		}
		return nil
	})
	result["failures"] = failures
	if last != nil {
		result["last"] = asJSON(last)
	}
	report(result)
	return failedCalls(result)
}

func (c *client) stream(ctx context.Context) error {
	arguments, err := c.toolArguments()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, c.work.timeout)
	defer cancel()
	start := &pb.StreamStart{
		StreamId: "stream-1", ToolName: c.tool, Arguments: arguments, CallerPlugin: "transport.stdio",
	}
	request := &pb.PluginRequest{
		RequestId: "stdio-ss-1", Request: &pb.PluginRequest_StreamStart{StreamStart: start},
	}
	chunks, size := 0, 0
	inOrder := true
	return callStream(ctx, c.conn, request, func(response *pb.PluginResponse) bool {
		if chunk := response.GetStreamChunk(); chunk != nil {
			inOrder = inOrder && chunk.Sequence == int64(chunks)
			chunks++
			size += len(chunk.Data)
			return c.cancelAfter == 0 || chunks < c.cancelAfter
		}
		report(fields{"chunks": chunks, "bytes": size, "inOrder": inOrder, "response": asJSON(response)})
		return true
	})
}

// storage writes, reads, writes with a stale version, lists and deletes.
func (c *client) storage(ctx context.Context) error {
	const path = "peer/note.md"
	write := func(content string, version int64) *pb.PluginRequest {
		return &pb.PluginRequest{Request: &pb.PluginRequest_StorageWrite{StorageWrite: &pb.StorageWriteRequest{
			Path: path, Content: []byte(content), Metadata: structOf(map[string]any{"title": content}),
			ExpectedVersion: version, StorageType: c.storageType,
		}}}
	}
	read := &pb.StorageReadRequest{Path: path, StorageType: c.storageType}
	list := &pb.StorageListRequest{Prefix: "peer/", Pattern: "*.md", StorageType: c.storageType}
	remove := &pb.StorageDeleteRequest{Path: path, StorageType: c.storageType}
	for _, request := range []*pb.PluginRequest{
		write("first", 0),
		{Request: &pb.PluginRequest_StorageRead{StorageRead: read}},
		write("second", 1),
		write("stale", 1),
		{Request: &pb.PluginRequest_StorageList{StorageList: list}},
		{Request: &pb.PluginRequest_StorageDelete{StorageDelete: remove}},
		{Request: &pb.PluginRequest_StorageRead{StorageRead: read}},
	} {
		if _, err := c.ask(ctx, request); err != nil {
			return err
		}
	}
	return nil
}

// requests sends what stdin says, a request in each line, one after the other.
func (c *client) requests(ctx context.Context) error {
	lines := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if strings.TrimSpace(line) != "" {
			request := &pb.PluginRequest{}
			if problem := protojson.Unmarshal([]byte(line), request); problem != nil {
				return usageError{fmt.Sprintf("no PluginRequest: %v", problem)}
			}
			if problem := c.send(ctx, request); problem != nil {
				failed := describe(problem)
				failed["requestId"] = request.RequestId
				report(failed)
			}
		}
		if err != nil {
			return nil
		}
	}
}

func (c *client) send(ctx context.Context, request *pb.PluginRequest) error {
	if subscribe := request.GetSubscribe(); subscribe != nil {
		_, err := c.subscribe(ctx, subscribe)
		return err
	}
	_, err := c.ask(ctx, request)
	return err
}
