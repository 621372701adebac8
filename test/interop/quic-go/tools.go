package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/structpb"

	pb "quicpeer/pluginv1"
)

// A toolCall is one call of a tool, of either kind.
type toolCall struct {
	plugin    *plugin
	from      *caller
	request   *pb.ToolRequest
	requestID string
	arguments *structpb.Struct
}

func (c toolCall) number(name string, fallback int) int {
	if value, ok := c.arguments.GetFields()[name]; ok {
		return int(value.GetNumberValue())
	}
	return fallback
}

func (c toolCall) text(name, fallback string) string {
	if value, ok := c.arguments.GetFields()[name]; ok {
		return value.GetStringValue()
	}
	return fallback
}

type tool struct {
	description string
	// The properties of its input, each with its type.
	input string
	run   func(ctx context.Context, c toolCall) (*pb.ToolResponse, error)
	// Or, of one that streams:
	stream func(ctx context.Context, c toolCall, send sendChunk) (*pb.StreamEnd, error)
}

// errAnswered is given by a tool that has written its own answer.
var errAnswered = errors.New("answered already")

var tools map[string]tool

func init() {
	tools = map[string]tool{
		"echo": {
			description: "Answers with its arguments",
			input:       "text string", run: echoTool,
		},
		"fail": {
			description: "Fails",
			input:       "code string, message string", run: failTool,
		},
		"slow": {
			description: "Answers after so many milliseconds",
			input:       "ms number", run: slowTool,
		},
		"big": {
			description: "Answers with so many bytes",
			input:       "bytes number", run: bigTool,
		},
		"die": {
			description: "Ends the process, without an answer",
			input:       "code number", run: dieTool,
		},
		"hang": {
			description: "Never answers",
			run:         hangTool,
		},
		"flood": {
			description: "Floods: frames, stderr or publish",
			input:       "kind string, bytes number, count number", run: floodTool,
		},
		"garble": {
			description: "Answers what is no answer",
			input:       "kind string", run: garbleTool,
		},
		"inspect": {
			description: "Tells what it knows of the call and of its configuration",
			run:         inspectTool,
		},
		"received": {
			description: "Tells which events it has received",
			run:         receivedTool,
		},
		"forward": {
			description: "Sends a request to the orchestrator, and gives its answer",
			input:       "request object", run: forwardTool,
		},
	}
}

func definitions(table map[string]tool) []*pb.ToolDefinition {
	var list []*pb.ToolDefinition
	for _, name := range namesOf(table) {
		properties := map[string]any{}
		for property := range strings.SplitSeq(table[name].input, ", ") {
			if key, kind, ok := strings.Cut(property, " "); ok {
				properties[key] = map[string]any{"type": kind}
			}
		}
		schema := structOf(map[string]any{"type": "object", "properties": properties})
		list = append(list, &pb.ToolDefinition{Name: name, Description: table[name].description, InputSchema: schema})
	}
	return list
}

func (p *plugin) callTool(
	ctx context.Context, from *caller, request *pb.PluginRequest,
) (*pb.PluginResponse, error) {
	r := request.GetToolCall()
	found, ok := tools[r.ToolName]
	if !ok {
		return failure("tool_not_found", fmt.Sprintf("tool %q not found", r.ToolName)), nil
	}
	response, err := found.run(ctx, toolCall{p, from, r, request.RequestId, r.Arguments})
	switch {
	case errors.Is(err, errAnswered):
		return nil, nil
	case err != nil && ctx.Err() != nil:
		return nil, err
	case err != nil:
		return failure("handler_error", err.Error()), nil
	}
	return toolAnswer(response), nil
}

func (p *plugin) stream(
	ctx context.Context, from *caller, start *pb.StreamStart, send sendChunk,
) (*pb.StreamEnd, error) {
	found, ok := streamTools[start.ToolName]
	if !ok {
		problem := fmt.Sprintf("streaming tool %q not found", start.ToolName)
		return &pb.StreamEnd{ErrorCode: "tool_not_found", ErrorMessage: problem}, nil
	}
	return found.stream(ctx, toolCall{plugin: p, from: from, arguments: start.Arguments}, send)
}

func success(result map[string]any) (*pb.ToolResponse, error) {
	return &pb.ToolResponse{Success: true, Result: structOf(result)}, nil
}

func echoTool(_ context.Context, c toolCall) (*pb.ToolResponse, error) {
	return &pb.ToolResponse{Success: true, Result: c.arguments}, nil
}

func failTool(_ context.Context, c toolCall) (*pb.ToolResponse, error) {
	code, message := c.text("code", "validation_error"), c.text("message", "told to fail")
	return &pb.ToolResponse{ErrorCode: code, ErrorMessage: message}, nil
}

func slowTool(ctx context.Context, c toolCall) (*pb.ToolResponse, error) {
	ms := c.number("ms", 1000)
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(time.Duration(ms) * time.Millisecond):
		return success(map[string]any{"text": fmt.Sprintf("waited %d ms", ms)})
	}
}

func bigTool(_ context.Context, c toolCall) (*pb.ToolResponse, error) {
	return success(map[string]any{"text": strings.Repeat("x", c.number("bytes", 1<<20))})
}

func dieTool(_ context.Context, c toolCall) (*pb.ToolResponse, error) {
	os.Exit(c.number("code", 3))
	return nil, nil
}

func hangTool(ctx context.Context, _ toolCall) (*pb.ToolResponse, error) {
	_, err := hang(ctx)
	return nil, err
}

func inspectTool(_ context.Context, c toolCall) (*pb.ToolResponse, error) {
	c.plugin.mu.Lock()
	defer c.plugin.mu.Unlock()
	config := map[string]any{}
	for key, value := range c.plugin.config {
		config[key] = value
	}
	return success(map[string]any{
		"id": c.plugin.id, "pid": os.Getpid(), "config": config, "peer": peerName(c.from.conn),
		"caller_plugin": c.request.CallerPlugin, "session_id": c.request.SessionId,
		"provider": c.request.Provider, "trace_parent": c.request.TraceParent,
	})
}

func receivedTool(_ context.Context, c toolCall) (*pb.ToolResponse, error) {
	c.plugin.mu.Lock()
	defer c.plugin.mu.Unlock()
	return success(map[string]any{"events": c.plugin.received})
}

func forwardTool(ctx context.Context, c toolCall) (*pb.ToolResponse, error) {
	c.plugin.mu.Lock()
	conn := c.plugin.orchestrator
	c.plugin.mu.Unlock()
	if conn == nil {
		return nil, errors.New("no connection to an orchestrator")
	}
	text, err := protojson.Marshal(c.arguments.GetFields()["request"])
	if err != nil {
		return nil, err
	}
	request := &pb.PluginRequest{}
	if err := protojson.Unmarshal(text, request); err != nil {
		return nil, fmt.Errorf("no PluginRequest: %w", err)
	}
	response, err := call(ctx, conn, request)
	if err != nil {
		return nil, err
	}
	result := &structpb.Struct{}
	if err := protojson.Unmarshal(asJSON(response), result); err != nil {
		return nil, err
	}
	return &pb.ToolResponse{Success: true, Result: result}, nil
}
