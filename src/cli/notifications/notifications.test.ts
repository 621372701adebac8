import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

describe("trunkline notification", { timeout: 30_000 }, () => {
  it("tries every receiver, shows what became of it, and fails if one did not get it", async () => {
    const notifications = [
      { name: "bell", command: ["true"] },
      { name: "broken", command: ["false"] },
      { push: true },
    ];
    await using line = await SampleCommandLine.create({ notifications });
    const data = ["--data", line.home.path];
    assert.match((await line.run("notification", "list", ...data)).err, /no notifications yet/);
    const tried = await line.run("notification", "test", ...data);
    assert.equal(tried.code, 1);
    assert.match(tried.out, /^bell: delivered, the command ended with exit code 0$/m);
    assert.match(tried.out, /^broken: pending, the command ended with 1$/m);
    assert.match(tried.out, /^push 3: failed, no browser has subscribed/m);
    const { out } = await line.run("notification", "list", ...data);
    assert.match(out, /test +bell +delivered +1 /);
    const listed = await line.run("notification", "list", "--json", ...data);
    const { deliveries } = JSON.parse(listed.out) as { deliveries: { attempts: object[] }[] };
    assert.equal(deliveries.length, 3);
    assert.equal(deliveries.flatMap(({ attempts }) => attempts).length, 2);
  });

  it("says what to do where nobody is configured, or an entry cannot work", async () => {
    await using line = await SampleCommandLine.create();
    const none = await line.run("notification", "test");
    assert.equal(none.code, 1);
    assert.match(none.err, /nobody is configured\. Add one to `notifications`/);
    await using other = await SampleCommandLine.create({ notifications: [{ on: ["failed"] }] });
    assert.match((await other.run("notification", "test")).err, /needs one of `command`/);
  });

  it("prints the same secret for receivers each time, until it is replaced", async () => {
    await using line = await SampleCommandLine.create();
    const print = async (...more: string[]): Promise<string> =>
      (await line.json<{ secret: string }>("notification", "secret", ...more)).secret;
    const secret = await print();
    assert.equal(await print(), secret);
    assert.notEqual(await print("--rotate"), secret);
  });
});
