import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleRepository } from "../../../test/samples/sample-repository.ts";
import { sshHosts } from "./setup-tools.ts";

describe("sshHosts()", () => {
  it("lists the hosts of a configuration and its includes, without patterns", () => {
    using sample = new SampleRepository();
    sample.write(".ssh/config", 'Host one *.two !three "f our" -five\nINCLUDE more/*\nhost=six\n');
    sample.write(".ssh/more/a", "Host seven\n# Host eight\nInclude ~/.ssh/deep\n");
    sample.write(".ssh/deep", "  Host nine one\n");
    assert.deepEqual(sshHosts(sample.env), ["one", "seven", "nine", "six"]);
  });

  it("ends even if a file includes itself, and after fifty hosts", () => {
    using sample = new SampleRepository();
    const hosts = Array.from({ length: 80 }, (_, at) => `Host h${at}`);
    sample.write(".ssh/config", ["Include config", ...hosts].join("\n"));
    assert.equal(sshHosts(sample.env).length, 50);
  });

  it("finds none if there is no configuration", () => {
    using sample = new SampleRepository();
    assert.deepEqual(sshHosts(sample.env), []);
  });
});
