#!/usr/bin/env python3
"""A plugin without an SDK, over TLS: docs/BUS.md, "Without an SDK".

Debian: apt install python3-protobuf protobuf-compiler
Schema: protoc -I proto --include_imports --descriptor_set_out=plugin.binpb orchestra/plugin/v1/plugin.proto
"""
import asyncio, json, os, ssl, struct, sys

ID = "example.python"
MANIFEST = {"id": ID, "version": "1.0.0", "language": "python", "provides_tools": ["greet"]}
NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
TOOL = {"name": "greet", "description": "Greets somebody", "inputSchema": NAME}
LET_IN, DATA, ROOM, RESET, FIRST, LAST = 2, 3, 4, 5, 1, 2  # kinds and flags of frames
MOST = 16 << 20  # bytes of a message
FLAGS = dict(arg.lstrip("-").partition("=")[::2] for arg in sys.argv[1:])
if "manifest" in FLAGS:  # before anything else: there are no certificates then
    sys.exit(print(json.dumps(MANIFEST)))

from google.protobuf import descriptor_pb2, json_format, message_factory

with open(os.path.join(os.path.dirname(os.path.realpath(__file__)), "plugin.binpb"), "rb") as file:
    types = message_factory.GetMessages(descriptor_pb2.FileDescriptorSet.FromString(file.read()).file)
Request, Response = (types["orchestra.plugin.v1.Plugin" + kind] for kind in ("Request", "Response"))

def failure(code, message):
    return {"toolCall": {"success": False, "errorCode": code, "errorMessage": message}}

def call(asked):
    args = json_format.MessageToDict(asked.arguments)
    if asked.tool_name != "greet":
        return failure("tool_not_found", f"There is no tool '{asked.tool_name}'.")
    if not isinstance(args.get("name"), str):
        return failure("invalid_arguments", "'name' must be a text.")
    return {"toolCall": {"success": True, "result": {"text": f"Hello, {args['name']}."}}}

ANSWERS = {
    "register": lambda asked: {"register": {"accepted": asked.id in ("", ID)}},
    "boot": lambda _: {"boot": {"ready": True}},
    "health": lambda _: {"health": {"status": "STATUS_HEALTHY"}},
    "shutdown": lambda _: {"shutdown": {"clean": True}},
    "list_tools": lambda _: {"listTools": {"tools": [TOOL]}},
    "list_prompts": lambda _: {"listPrompts": {}},
    "tool_call": call,
    "stream_start": lambda asked: failure("tool_not_found", f"'{asked.tool_name}' does not stream."),
    "prompt_get": lambda asked: failure("prompt_not_found", f"There is no prompt '{asked.prompt_name}'."),
    "publish": lambda _: {},
}

def framed(message):
    body = message.SerializeToString()
    return struct.pack(">I", len(body)) + body

def answer(body):  # raises what is no request
    if len(body) < 4 or struct.unpack(">I", body[:4])[0] != len(body) - 4:
        raise ValueError("the frame is not whole")
    request = Request.FromString(bytes(body[4:]))
    kind = request.WhichOneof("request")
    said = ANSWERS.get(kind, lambda _: failure("unknown_request", f"No answer to '{kind}'."))
    content = said(getattr(request, kind) if kind else None)
    return framed(json_format.ParseDict({"requestId": request.request_id, **content}, Response())), kind

def send(writer, kind, flags, stream, payload):
    writer.write(struct.pack("<IBBHI", len(payload), kind, flags, 0, stream) + payload)

async def receive(reader):
    length, kind, flags, _, stream = struct.unpack("<IBBHI", await reader.readexactly(12))
    if length > 64 << 10:
        raise ConnectionError("a frame is too long")
    return kind, flags, stream, await reader.readexactly(length)

async def serve(reader, writer):
    if writer.get_extra_info("ssl_object").selected_alpn_protocol() is None:
        return writer.close()  # the library goes on without a protocol in common
    requests = {}
    send(writer, LET_IN, 0, 0, struct.pack("<I", 128))
    try:
        while True:
            kind, flags, stream, payload = await receive(reader)
            if kind == DATA and flags & FIRST:
                requests[stream] = bytearray()
            if kind == RESET:
                requests.pop(stream, None)
            if kind != DATA or stream not in requests:
                continue
            body = requests[stream]
            body += payload
            # Whoever reads gives room for as much again; 256 KiB may be on their way at first.
            send(writer, ROOM, 0, stream, struct.pack("<I", len(payload)))
            if len(body) >= 4 and struct.unpack(">I", body[:4])[0] > MOST or len(body) > MOST + 4:
                send(writer, RESET, 0, stream, struct.pack("<I", 1))
                del requests[stream]
            elif flags & LAST:
                try:  # an answer of more than 64 KiB would go in pieces, and wait for room
                    said, asked = answer(requests.pop(stream))
                    send(writer, DATA, LAST, stream, said)
                except Exception as error:
                    print(f"refused: {error}", file=sys.stderr)
                    send(writer, RESET, 0, stream, struct.pack("<I", 1))
                    continue
                await writer.drain()
                if asked == "shutdown":
                    return asyncio.get_running_loop().call_later(0.1, os._exit, 0)
    except (asyncio.IncompleteReadError, ConnectionError, ssl.SSLError):
        writer.close()

def context(protocol, name):
    at = lambda file: os.path.join(FLAGS["certs-dir"], file)
    made = ssl.SSLContext(protocol)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.load_cert_chain(at(name + ".crt"), at(name + ".key"))
    made.load_verify_locations(at("ca.crt"))
    made.verify_mode = ssl.CERT_REQUIRED
    made.set_alpn_protocols(["orchestra-plugin-frames"])
    return made

async def register():
    host, _, port = FLAGS["orchestrator-addr"].split("://")[-1].rpartition(":")
    reader, writer = await asyncio.open_connection(host, int(port), ssl=context(ssl.PROTOCOL_TLS_CLIENT, ID + "-client"))
    while (await receive(reader))[0] != LET_IN:
        pass
    named = {"id": ID, "version": MANIFEST["version"], "language": "python", "providesTools": ["greet"]}
    request = json_format.ParseDict({"requestId": "1", "register": named}, Request())
    send(writer, DATA, FIRST | LAST, 1, framed(request))
    while (await receive(reader))[0] != DATA:
        pass
    writer.close()

async def main():  # asyncio sets TCP_NODELAY
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context(ssl.PROTOCOL_TLS_SERVER, ID))
    print("READY tls://127.0.0.1:%d" % server.sockets[0].getsockname()[1], file=sys.stderr, flush=True)
    await register()
    await server.serve_forever()

asyncio.run(main())
