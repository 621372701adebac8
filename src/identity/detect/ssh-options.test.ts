import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../../../test/samples/sample-repository.ts";
import { sshConfigArguments, sshOptions } from "./ssh-options.ts";

describe("sshOptions()", () => {
  it("says what ssh would do by the configuration in the home folder that is named", async () => {
    using sample = new SampleRepository();
    sample.write(
      ".ssh/config",
      "Host work\n  HostName GitHub.com\n  Port 443\n  User git\n  IdentitiesOnly yes\n" +
        "  IdentityFile ~/.ssh/one\n  IdentityFile /keys/two\n",
    );
    const { env } = sample;
    assert.deepEqual(await sshOptions("work", { env }), {
      hostname: "github.com",
      user: "git",
      port: 443,
      identityFiles: [join(sample.home, ".ssh/one"), "/keys/two"],
      identitiesOnly: true,
    });
    const other = sample.write("other", "Host work\n  HostName example.com\n");
    assert.equal((await sshOptions("work", { env, file: other })).hostname, "example.com");
  });

  it("takes no host for an option", async () => {
    using sample = new SampleRepository();
    for (const host of ["", "-oProxyCommand=touch pwned"]) {
      await assert.rejects(sshOptions(host, { env: sample.env }), { code: "usage" });
    }
  });

  it("says what ssh says of a configuration that it does not read", async () => {
    using sample = new SampleRepository();
    sample.write(".ssh/config", "Nonsense yes\n");
    await assert.rejects(sshOptions("work", { env: sample.env }), {
      code: "unavailable",
      message: /Cannot ask ssh about 'work': .*Bad configuration option/s,
    });
  });
});

describe("sshConfigArguments()", () => {
  it("tells ssh of another home folder, and of one without a configuration", () => {
    using sample = new SampleRepository();
    assert.deepEqual(sshConfigArguments(sample.env), ["-F", "none"]);
    const file = sample.write(".ssh/config", "");
    assert.deepEqual(sshConfigArguments(sample.env), ["-F", file]);
  });
});
