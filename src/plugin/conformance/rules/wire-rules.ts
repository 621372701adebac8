import { encodeRequest } from "../../../protocol/bus/codec.ts";
import { encodeFrame, MAX_FRAME } from "../../../wire/framing/length-prefixed.ts";
import { demand, type Probe, type Rules, said, skip, type InvalidClient } from "../probe.ts";

const HEALTH = { case: "listTools", value: {} } as const;
/** Exchanges of one connection; QUIC stacks allow 100 at once unless they free those that ended. */
const MANY = 300;
const AT_ONCE = 32;
/** Bytes of a request: more than any stream or connection may have in flight. */
const LARGE = 4 << 20;

/** Rules of connections, streams and frames. */
export const WIRE_RULES: Rules = {
  "tls.alpn": {
    section: "Orchestra: TLS",
    says: "A client that speaks another protocol than 'orchestra-plugin' is refused",
    check: (probe) => refuses(probe, "another protocol"),
  },
  "tls.authority": {
    section: "Orchestra: TLS",
    says: "A client whose certificate is of another authority is refused",
    check: (probe) => refuses(probe, "another authority"),
  },
  "tls.certificate": {
    section: "Orchestra: TLS",
    role: "plugin",
    says: "A client without a certificate is refused",
    check: (probe) => refuses(probe, "no certificate"),
  },
  "stream.room": {
    section: "Orchestra: streams",
    says: `A request of ${LARGE >> 20} MiB is read: whoever reads gives room for more`,
    check: async (probe) => {
      const response = await probe.askWith(HEALTH, Buffer.alloc(LARGE));
      demand(response.response.case === "listTools", `it was answered with ${said(response)}`);
    },
  },
  "frame.layout": {
    section: "Orchestra: framing",
    says: "An answer is one frame: a 32-bit big-endian length, then so many bytes",
    check: (probe) => probe.ask(HEALTH),
  },
  "frame.malformed": {
    section: "Orchestra: framing",
    says: "A frame that is no message is refused, and the connection goes on",
    check: async (probe) => {
      // Field 1 with a length that leads beyond the end.
      await refused(probe, encodeFrame(Buffer.from([0x0a, 0x7f, 0x41])), "a malformed message");
    },
  },
  "frame.truncated": {
    section: "Orchestra: framing",
    says: "A frame whose bytes do not all come is refused, and the connection goes on",
    check: async (probe) => {
      const whole = encodeRequest({ requestId: probe.nextId(), request: HEALTH });
      await refused(probe, whole.subarray(0, -3), "a truncated frame");
    },
  },
  "frame.limit": {
    section: "Orchestra: framing",
    says: "A frame of more than 16 MiB is refused by its length, and the connection goes on",
    check: async (probe) => {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(MAX_FRAME + 1);
      const stream = await probe.open();
      // Its end is not sent: whoever waits for the bytes waits for ever.
      await stream.write(length);
      try {
        await stream.readAll(MAX_FRAME);
      } catch {
        // It broke the stream off, as it may.
      }
      stream.reset();
      await probe.stillAnswers("a frame that is too long");
    },
  },
  "stream.unfinished": {
    section: "Orchestra: streams",
    says: "A request that does not come to its end keeps no other from being answered",
    check: async (probe) => {
      const stream = await probe.open();
      await stream.write(Buffer.from([0, 0]));
      await probe.stillAnswers("half a request");
      stream.reset();
    },
  },
  "stream.aborted": {
    section: "Orchestra: streams",
    says: "A request that is broken off costs nobody else anything",
    check: async (probe) => {
      for (let count = 0; count < 10; count++) {
        const stream = await probe.open();
        await stream.write(Buffer.from([0, 0, 0, 9, 1]));
        stream.reset();
      }
      await probe.stillAnswers("requests that were broken off");
    },
  },
  "stream.many": {
    section: "Orchestra: streams",
    says: `A connection carries ${MANY} exchanges, one after the other`,
    check: async (probe) => {
      for (let count = 1; count <= MANY; count++) {
        try {
          await probe.ask(HEALTH);
        } catch (error) {
          throw new Error(`exchange ${count} failed: ${(error as Error).message}`, {
            cause: error,
          });
        }
      }
    },
  },
  "stream.concurrent": {
    section: "Orchestra: streams",
    says: `${AT_ONCE} requests at once are answered, each with its own request_id`,
    check: (probe) => Promise.all(Array.from({ length: AT_ONCE }, () => probe.ask(HEALTH))),
  },
};

async function refuses(probe: Probe, stranger: InvalidClient): Promise<void> {
  const { dialAs } = probe.subject;
  if (dialAs === undefined) skip("there is no network between us");
  let isLetIn = false;
  try {
    await using connection = await dialAs(stranger);
    // TLS 1.3: a client may learn only from its first exchange that it was refused.
    const stream = connection.openStream();
    await stream.end(encodeRequest({ requestId: probe.nextId(), request: HEALTH }));
    isLetIn = (await stream.readAll(MAX_FRAME)).length > 0;
  } catch {
    // It was refused.
  }
  demand(!isLetIn, `a client with ${stranger} was let in and got an answer`);
}

async function refused(probe: Probe, bytes: Uint8Array, what: string): Promise<void> {
  const reaction = await probe.send(bytes);
  if (reaction.kind === "answered") {
    const { response } = reaction.response;
    const isFailure = response.case === "toolCall" && !response.value.success;
    demand(isFailure, `${what} was answered as if it were a request`);
  }
  await probe.stillAnswers(what);
}
