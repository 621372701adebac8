import assert from "node:assert/strict";
import { readFileSync, statSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";
import { FleetConnection } from "../../fleet/connection/connect.ts";
import { subjectsOf } from "../../fleet/subjects.ts";

interface Made {
  readonly settings: string;
  readonly file: string;
}

describe("trunkline worker credentials", () => {
  it("makes users that go into one account of nats-server together", { skip: noNats }, async () => {
    await using line = await SampleCommandLine.create();
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-credentials-"));
    const make = (name: string, role: string): Promise<Made> => {
      const out = join(folder.path, `${name}.nkey`);
      const flags = ["--role", role, "--pool", "ci", "--out", out];
      return line.json<Made>("worker", "credentials", name, ...flags);
    };
    const gateway = await make("edge-1", "gateway");
    const worker = await make("builder-1", "worker");
    assert.equal(statSync(worker.file).mode & 0o777, 0o600);
    assert.doesNotMatch(worker.settings, new RegExp(readFileSync(worker.file, "utf8").trim()));
    const users = `${gateway.settings}${worker.settings}`;
    await using server = await NatsServer.start(
      `accounts { TL_ci { jetstream: enabled, users: [\n${users}] } }`,
    );
    for (const [name, { file }] of [
      ["edge-1", gateway],
      ["builder-1", worker],
    ] as const) {
      const subjects = subjectsOf("ci");
      const options = { url: server.url, credentials: file, subjects, name };
      await using connection = await FleetConnection.open(options);
      assert.ok(connection.isConnected);
    }
  });

  it("refuses in words what cannot be the name of a node", async () => {
    await using line = await SampleCommandLine.create();
    for (const name of ["bad name", "a.b", ">", " "]) {
      const { code, err } = await line.run("worker", "credentials", name);
      assert.notEqual(code, 0);
      assert.match(err, /Cannot make credentials for '.*': a name has 1 to 64 letters/);
    }
  });
});
