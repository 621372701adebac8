package main

import (
	"fmt"
	"path"
	"sort"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	pb "quicpeer/pluginv1"
)

// A storage keeps what is written in memory, with a version for each write.
type storage struct {
	mu      sync.Mutex
	entries map[string]entry
}

type entry struct {
	content  []byte
	metadata *structpb.Struct
	version  int64
	modified time.Time
}

// answer gives nil for what is no request to a storage.
func (s *storage) answer(request *pb.PluginRequest) *pb.PluginResponse {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r := request.Request.(type) {
	case *pb.PluginRequest_StorageRead:
		return &pb.PluginResponse{Response: &pb.PluginResponse_StorageRead{StorageRead: s.read(r.StorageRead)}}
	case *pb.PluginRequest_StorageWrite:
		return &pb.PluginResponse{Response: &pb.PluginResponse_StorageWrite{StorageWrite: s.write(r.StorageWrite)}}
	case *pb.PluginRequest_StorageDelete:
		_, existed := s.entries[r.StorageDelete.Path]
		delete(s.entries, r.StorageDelete.Path)
		result := &pb.StorageDeleteResponse{Success: existed}
		return &pb.PluginResponse{Response: &pb.PluginResponse_StorageDelete{StorageDelete: result}}
	case *pb.PluginRequest_StorageList:
		return &pb.PluginResponse{Response: &pb.PluginResponse_StorageList{StorageList: s.list(r.StorageList)}}
	}
	return nil
}

// read answers with version 0 what is not there: the answer has no room for an error.
func (s *storage) read(request *pb.StorageReadRequest) *pb.StorageReadResponse {
	found := s.entries[request.Path]
	return &pb.StorageReadResponse{Content: found.content, Metadata: found.metadata, Version: found.version}
}

func (s *storage) write(request *pb.StorageWriteRequest) *pb.StorageWriteResponse {
	version := s.entries[request.Path].version
	if request.ExpectedVersion != version {
		problem := fmt.Sprintf("version conflict: expected %d, have %d", request.ExpectedVersion, version)
		return &pb.StorageWriteResponse{Error: problem}
	}
	version++
	s.entries[request.Path] = entry{request.Content, request.Metadata, version, time.Now()}
	return &pb.StorageWriteResponse{Success: true, NewVersion: version}
}

func (s *storage) list(request *pb.StorageListRequest) *pb.StorageListResponse {
	response := &pb.StorageListResponse{}
	for name, found := range s.entries {
		matches := request.Pattern == ""
		if !matches {
			matches, _ = path.Match(request.Pattern, path.Base(name))
		}
		if matches && strings.HasPrefix(name, request.Prefix) {
			response.Entries = append(response.Entries, &pb.StorageEntry{
				Path: name, Size: int64(len(found.content)), Version: found.version,
				ModifiedAt: timestamppb.New(found.modified),
			})
		}
	}
	sort.Slice(response.Entries, func(i, j int) bool {
		return response.Entries[i].Path < response.Entries[j].Path
	})
	return response
}
