import { Socket } from "node:net";
import { relay } from "../../src/rpc/relay.ts";
import { streamChannel } from "../../src/wire/channel/stream.ts";

const socket = new Socket({ fd: 3, readable: true, writable: true });
await using left = streamChannel(process.stdin, process.stdout);
await using right = streamChannel(socket, socket);
process.stdin.on("end", () => socket.end());
await relay(left, right, { cancelMethods: ["notifications/cancelled"] });
