import assert from "node:assert/strict";
import { homedir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { readFlags, splitFlags, wantsPlugin } from "./flags.ts";

describe("readFlags()", () => {
  it("has defaults", () => {
    assert.deepEqual(readFlags([]), {
      orchestrator: "",
      listen: "localhost:0",
      certsDir: join(homedir(), ".orchestra/certs"),
      isManifest: false,
    });
  });

  it("reads both spellings, and leaves unknown flags to the plugin", () => {
    const expected = {
      orchestrator: "localhost:50100",
      listen: "127.0.0.1:7000",
      certsDir: "/certs",
      isManifest: true,
    };
    const joined = [
      ...["--workspace=/w", "--orchestrator-addr=localhost:50100", "--listen-addr=127.0.0.1:7000"],
      ...["--certs-dir=/certs", "--manifest"],
    ];
    assert.deepEqual(readFlags(joined), expected);
    const apart = [
      ...["file.txt", "--orchestrator-addr", "localhost:50100", "-listen-addr", "127.0.0.1:7000"],
      ...["--certs-dir", "/certs", "--manifest=true"],
    ];
    assert.deepEqual(readFlags(apart), expected);
  });

  it("serves TLS alone if the orchestrator dials that, unless an address says otherwise", () => {
    const env = { TRUNKLINE_BUS_TRANSPORT: "tls" };
    assert.equal(readFlags([], env).listen, "tls://localhost:0");
    assert.equal(readFlags(["--listen-addr=[::1]:7"], env).listen, "tls://[::1]:7");
    assert.equal(readFlags(["--listen-addr=quic://localhost:0"], env).listen, "quic://localhost:0");
    assert.equal(readFlags([], {}).listen, "localhost:0");
  });

  it("refuses a flag without its value", () => {
    for (const args of [["--listen-addr"], ["--certs-dir", "--manifest"]]) {
      assert.throws(() => readFlags(args), { code: "usage", message: /needs a value/ });
    }
  });
});

describe("splitFlags()", () => {
  it("takes an orchestrator's flags off the end, and no others", () => {
    const flags = ["--orchestrator-addr=x:1", "--listen-addr=y:0", "--certs-dir=/c"];
    const own = ["npx", "--manifest", "server"];
    assert.deepEqual(splitFlags([...own, ...flags]), { own, flags });
    assert.deepEqual(splitFlags(own), { own, flags: [] });
    assert.deepEqual(splitFlags([]), { own: [], flags: [] });
  });
});

describe("wantsPlugin()", () => {
  it("recognises a program that was started as a plugin", () => {
    assert.ok(wantsPlugin(["--orchestrator-addr=x:1"]));
    assert.ok(wantsPlugin(["x", "--listen-addr", "x:1"]));
    assert.ok(wantsPlugin(["--manifest"]));
  });

  it("recognises no other program as one", () => {
    for (const args of [[], ["--certs-dir=/x"], ["--manifesto"], ["manifest"], ["--help"]]) {
      assert.ok(!wantsPlugin(args), args.join(" "));
    }
  });
});
