import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { checkConfig } from "./settings-checks.ts";

async function statesIn(home: SampleHome) {
  const input = { cwd: home.project, env: { HOME: home.path }, flags: {} };
  const { findings, loaded } = await checkConfig(input);
  return { findings, says: findings.map(({ state, says }) => `${state} ${says}`), loaded };
}

describe("checkConfig()", () => {
  it("passes without a configuration file", async () => {
    await using home = await SampleHome.create();
    const { says } = await statesIn(home);
    assert.deepEqual(says, [`ok ${home.userFile} does not exist; the defaults apply`]);
  });

  it("warns about an untrusted project file, once", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, "{}");
    await home.write(home.projectFile, '{ "serve": { "port": 1 } }');
    const { says, findings } = await statesIn(home);
    assert.deepEqual(says, [
      `ok ${home.userFile}`,
      `warn ${home.projectFile} is not trusted, so most of it is ignored`,
    ]);
    assert.match(findings[1]?.next ?? "", /trunkline config trust/);
  });

  it("fails with the position of the mistake, and loads nothing", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, '{ "serve": { "port": "many" } }');
    const { findings, loaded } = await statesIn(home);
    assert.equal(loaded, undefined);
    assert.equal(findings[0]?.state, "fail");
    assert.match(findings[0]?.says ?? "", /serve\.port/);
    assert.match(findings[0]?.next ?? "", /trunkline config check/);
  });

  it("names every mistake, in the order of the file", async () => {
    await using home = await SampleHome.create();
    const lines = ['{ "nonsense": 1,', '"serve": { "port": "many", "host": 5 },', '"agents": 1 }'];
    await home.write(home.userFile, lines.join("\n"));
    const { findings } = await statesIn(home);
    assert.deepEqual(
      findings.map(({ says }) => /:(\d+:\d+: .*)/.exec(says)?.[1]),
      [
        "1:3: 'nonsense' is not a known key",
        "2:20: 'serve.port' must be an integer",
        "2:36: 'serve.host' must be a string",
        "3:11: 'agents' must be an object",
      ],
    );
  });
});
