import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";

import { bodyOf, decodeResponse, encodeRequest } from "../../src/protocol/bus/codec.ts";
import { BusHome, type OrchestratorProgram } from "../support/bus-home.ts";
import { busCredentials, HealthyClient } from "../support/bus-healthy.ts";
import { type OpensslCommand, opensslWithQuic } from "./openssl-command.ts";

const CLIENT = "transport.stdio-client";

describe("openssl s_client -quic", { timeout: 180_000 }, () => {
  let openssl: OpensslCommand | { readonly missing: string };
  let home: BusHome;
  let orchestrator: OrchestratorProgram;
  before(async () => {
    openssl = await opensslWithQuic();
    home = new BusHome();
    orchestrator = await home.orchestrator([home.testPlugin()]);
    await orchestrator.logged("plugin.up");
    await busCredentials(home.certs, CLIENT);
  });
  after(() => home[Symbol.asyncDispose]());

  /** Sends bytes on one stream; gives what came back, and what the program complained of. */
  async function talk(
    command: OpensslCommand,
    request: Buffer,
    isAnswered: (answer: Buffer) => boolean,
    flags: readonly string[],
  ): Promise<{ readonly answer: Buffer; readonly complaints: string }> {
    const file = (name: string): string => join(home.certs, name);
    const [program, ...args] = command;
    const child = spawn(program, [
      ...args,
      ...["s_client", "-quic", "-connect", orchestrator.addr, "-quiet", "-nocommands"],
      ...["-CAfile", file("ca.crt"), "-verify_return_error", ...flags],
    ]);
    let answer = Buffer.alloc(0);
    let complaints = "";
    child.stdout.on("data", (chunk: Buffer) => {
      answer = Buffer.concat([answer, chunk]);
      if (isAnswered(answer)) child.kill();
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => (complaints += text));
    child.stdin.on("error", () => {});
    child.stdin.write(request);
    await once(child, "close");
    return { answer, complaints };
  }

  const own = (): string[] => {
    const file = (name: string): string => join(home.certs, name);
    return ["-cert", file(`${CLIENT}.crt`), "-key", file(`${CLIENT}.key`)];
  };

  function commandOf(t: TestContext): OpensslCommand | undefined {
    if (!("missing" in openssl)) return openssl;
    t.skip(openssl.missing);
    return undefined;
  }

  it("is answered by an orchestrator", async (t) => {
    const command = commandOf(t);
    if (command === undefined) return;
    const value = { toolName: "echo", arguments: { text: "of openssl" } };
    const request = encodeRequest({ requestId: "1", request: { case: "toolCall", value } });
    const isWhole = (bytes: Buffer): boolean =>
      bytes.length >= 4 && bytes.length >= 4 + bytes.readUInt32BE();
    const flags = ["-alpn", "orchestra-plugin", ...own()];
    const { answer, complaints } = await talk(command, request, isWhole, flags);
    assert.ok(isWhole(answer), complaints);
    const { requestId, response } = decodeResponse(bodyOf(answer));
    assert.equal(requestId, "1");
    assert.ok(response.case === "toolCall");
    assert.deepEqual(response.value.result, { text: "of openssl" });
  });

  for (const [what, flags, said, logged] of [
    [
      "another protocol",
      () => ["-alpn", "h3", ...own()],
      /no application protocol/i,
      /no protocol in common/,
    ],
    [
      "no certificate",
      () => ["-alpn", "orchestra-plugin"],
      /protocol is shutdown/,
      /a certificate is required/,
    ],
  ] as const) {
    it(`is refused with ${what}, and others are not affected`, async (t) => {
      const command = commandOf(t);
      if (command === undefined) return;
      await using healthy = new HealthyClient(orchestrator.addr, home.certs);
      const { answer, complaints } = await healthy.during(() =>
        talk(command, Buffer.from("x"), () => false, flags()),
      );
      assert.equal(answer.length, 0);
      assert.match(complaints, said);
      assert.match(orchestrator.program.stderr, logged);
    });
  }
});
