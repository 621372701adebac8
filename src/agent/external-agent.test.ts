import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AcpApp } from "../../test/support/acp-app.ts";
import { DrivenAgent } from "../../test/agent/driven-agent.ts";
import { covers } from "../../test/support/requirement.ts";
import { limitsFor } from "../base/limit/limits.ts";
import { Log } from "../base/log.ts";
import { ExternalAgent } from "./external-agent.ts";

describe("an external agent", { timeout: 60_000 }, () => {
  it("is stopped if it does not answer initialize in time, and is not asked twice", async () => {
    covers("acp.timeout.initialize");
    assert.deepEqual(limitsFor("initialize").timeout, 30_000);
    const heard: string[] = [];
    await using agent = new ExternalAgent({
      name: "mute",
      // It has to hear it in time, on a busy machine, too.
      command: "/bin/sh",
      args: ["-c", "exec 3>&1; exec cat >&2"],
      limits: { initialize: { timeout: 1_000 } },
      log: new Log("info", (line) => heard.push(line)),
    });
    await using app = await AcpApp.open({ agent });
    const client = app.connect();
    await client.initialize();
    await assert.rejects(client.ask("session/new", { cwd: "/tmp" }), { code: -32001 });
    const hellos = heard.join("").match(/protocolVersion/g) ?? [];
    assert.equal(hellos.length, 1);
  });

  it("leaves no open permission request if it dies while it asks", async () => {
    await using driven = await DrivenAgent.open();
    const end = driven.client.prompt(driven.sessionId, "permission");
    const { id } = await driven.client.request("session/request_permission");
    const failed = assert.rejects(end, { message: /Agent 'other' ended/ });
    await driven.agent[Symbol.asyncDispose]();
    await failed;
    const { params } = await driven.client.request("$/cancel_request");
    assert.equal(params.requestId, id);
  });
});
