// The MCP door with one tool, as `trunkline mcp` serves it: revision, policy, schema, toolbox, and, if
// a folder is named on the command line, the audit.
import { Connection } from "../../src/protocol/mcp/serve/connection.ts";
import { McpDoor } from "../../src/protocol/mcp/serve/door.ts";
import { Peer } from "../../src/rpc/peer.ts";
import { AuditLog } from "../../src/store/audit/audit-log.ts";
import { streamChannel } from "../../src/wire/channel/stream.ts";
import { echoOffer } from "./echo-offer.ts";

const [folder] = process.argv.slice(2);
const offer = echoOffer(folder === undefined ? {} : { audit: new AuditLog(folder) });
const connection = new Connection();
const channel = streamChannel(process.stdin, process.stdout);
const options = new McpDoor({ offer }).optionsFor(connection);
const peer = new Peer(channel, connection, options);
await peer.ended;
await peer.close(1_000);
