package main

import (
	"encoding/json"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	pb "quicpeer/pluginv1"
)

func healthRequest() *pb.PluginRequest {
	return &pb.PluginRequest{Request: &pb.PluginRequest_Health{Health: &pb.HealthRequest{}}}
}

func listToolsRequest() *pb.PluginRequest {
	return &pb.PluginRequest{
		Request: &pb.PluginRequest_ListTools{ListTools: &pb.ListToolsRequest{}},
	}
}

func listPromptsRequest() *pb.PluginRequest {
	return &pb.PluginRequest{
		Request: &pb.PluginRequest_ListPrompts{ListPrompts: &pb.ListPromptsRequest{}},
	}
}

func registerRequest(manifest *pb.PluginManifest) *pb.PluginRequest {
	return &pb.PluginRequest{Request: &pb.PluginRequest_Register{Register: manifest}}
}

func publishRequest(event *pb.Publish) *pb.PluginRequest {
	return &pb.PluginRequest{Request: &pb.PluginRequest_Publish{Publish: event}}
}

func registerAnswer(result *pb.RegistrationResult) *pb.PluginResponse {
	return &pb.PluginResponse{Response: &pb.PluginResponse_Register{Register: result}}
}

// subscribeAnswer repeats what was subscribed to, as the original's.
func subscribeAnswer(id, topic string) *pb.PluginResponse {
	delivery := &pb.EventDelivery{SubscriptionId: id, Topic: topic}
	return &pb.PluginResponse{Response: &pb.PluginResponse_EventDelivery{EventDelivery: delivery}}
}

func healthAnswer(status pb.HealthResult_Status, message string) *pb.PluginResponse {
	result := &pb.HealthResult{Status: status, Message: message}
	return &pb.PluginResponse{Response: &pb.PluginResponse_Health{Health: result}}
}

func toolAnswer(response *pb.ToolResponse) *pb.PluginResponse {
	return &pb.PluginResponse{Response: &pb.PluginResponse_ToolCall{ToolCall: response}}
}

// failure is the answer to any request that failed: no other answer has room for an error.
func failure(code, message string) *pb.PluginResponse {
	return toolAnswer(&pb.ToolResponse{ErrorCode: code, ErrorMessage: message})
}

func structOf(value map[string]any) *structpb.Struct {
	result, err := structpb.NewStruct(value)
	if err != nil {
		panic(err)
	}
	return result
}

// asJSON is a message as a line can hold it, with what is false, empty or 0.
func asJSON(message proto.Message) json.RawMessage {
	text, err := protojson.MarshalOptions{EmitDefaultValues: true}.Marshal(message)
	if err != nil {
		panic(err)
	}
	return text
}
