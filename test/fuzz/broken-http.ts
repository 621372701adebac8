import type { SeededRandom } from "../support/seeded-random.ts";

/** What is left of a request when it is done: whether the other side has to answer or to hang up. */
export interface BrokenRequest {
  readonly bytes: Buffer;
  /** Whether the sender ends or hangs up; otherwise it waits for the other side. */
  readonly leaving: "end" | "hang up" | "wait";
}

const BODY = `{"jsonrpc":"2.0","id":1,"method":"ping"}`;

/** Requests that break off or break the rules of HTTP. */
export function brokenRequest(random: SeededRandom, host: string): BrokenRequest {
  const head = `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n`;
  const wrong = [
    // RFC 9112, section 6.3: these must be refused, since two readers could disagree on the end.
    `${head}Content-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n${BODY}`,
    `${head}Content-Length: 40\r\nContent-Length: 41\r\n\r\n${BODY}`,
    `${head}Content-Length: -1\r\n\r\n${BODY}`,
    `${head}Content-Length: 4e1\r\n\r\n${BODY}`,
    `${head}Content-Length: 99999999999999999999\r\n\r\n`,
    `${head}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`,
    `${head}Transfer-Encoding: chunked\r\n\r\nzz\r\n`,
    `${head}Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n`,
    `${head}Content-Length : 40\r\n\r\n${BODY}`,
    `${head} folded: line\r\n\r\n`,
    `${head}X: a\0b\r\n\r\n`,
    `${head}X: ${"y".repeat(20_000)}\r\n\r\n`,
    `${head}${"X: y\r\n".repeat(3000)}\r\n`,
    `POST /mcp HTTP/1.1\r\n\r\n`,
    `POST /mcp HTTP/9.9\r\nHost: ${host}\r\n\r\n`,
    `POST ${"/".repeat(20_000)} HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`,
    `NOTHING / HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    `GET /acp HTTP/1.1\r\nHost: ${host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n`,
    `GET /mcp HTTP/1.1\r\nHost: ${host}\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n`,
    `CONNECT evil.example:443 HTTP/1.1\r\nHost: ${host}\r\n\r\n`,
    `\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03`,
  ];
  const chance = random.below(10);
  if (chance < 5) return { bytes: Buffer.from(random.pick(wrong), "latin1"), leaving: "end" };
  if (chance < 6) return { bytes: random.bytes(1 + random.below(300)), leaving: "end" };
  // Whole requests that are cut off somewhere.
  const whole = random.pick([
    `${head}Content-Length: ${BODY.length}\r\n\r\n${BODY}`,
    `${head}Transfer-Encoding: chunked\r\n\r\n28\r\n${BODY}\r\n0\r\n\r\n`,
    `GET /sse HTTP/1.1\r\nHost: ${host}\r\nAccept: text/event-stream\r\n\r\n`,
    `GET /acp HTTP/1.1\r\nHost: ${host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
      `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`,
  ]);
  const bytes = Buffer.from(whole.slice(0, random.below(whole.length + 1)));
  return { bytes, leaving: random.pick(["end", "hang up"]) };
}
