import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { readText, userLayer } from "./files.ts";
import { parseFile } from "./parse-file.ts";

const PATH = "/etc/trunkline/config.jsonc";

function layerOf(text: string) {
  return userLayer(PATH, parseFile(PATH, text), { HOME: "/home/ada" });
}

describe("userLayer()", () => {
  it("resolves every path from the file's folder, or from the home folder", () => {
    const { values } = layerOf(`{
      "data": "state",
      "bus": { "certsDir": "~/certs", "plugins": { "p": { "command": "./p" } } },
      "serve": { "tls": { "certFile": "cert.pem", "keyFile": "/abs/key.pem" } },
      "mcpServers": { "m": { "command": "npx", "cwd": "." } },
      "agents": { "a": { "command": "../a" } },
      "policy": { "tools": { "rules": [{ "tool": "*", "project": "sub" }] } }
    }`);
    assert.deepEqual(values, {
      data: "/etc/trunkline/state",
      bus: {
        certsDir: "/home/ada/certs",
        plugins: { p: { command: "/etc/trunkline/p" } },
      },
      serve: { tls: { certFile: "/etc/trunkline/cert.pem", keyFile: "/abs/key.pem" } },
      // A command that is a name is looked for in PATH.
      mcpServers: { m: { command: "npx", cwd: "/etc/trunkline" } },
      agents: { a: { command: "/etc/a" } },
      policy: { tools: { rules: [{ tool: "*", project: "/etc/trunkline/sub" }] } },
    });
  });

  it("resolves the folders of profiles", () => {
    const rules = [{ tool: "*", project: "b", decision: "deny" }];
    const projects = ["a", "~/a", "/a"];
    const text = { profiles: { p: { for: { projects }, policy: { rules } } } };
    assert.deepEqual(layerOf(JSON.stringify(text)).values, {
      profiles: {
        p: {
          for: { projects: ["/etc/trunkline/a", "/home/ada/a", "/a"] },
          policy: { rules: [{ tool: "*", project: "/etc/trunkline/b", decision: "deny" }] },
        },
      },
    });
  });

  it("finds OpenAPI documents beside the file, whatever folder a program was started in", () => {
    const resolved = {
      "pets.yaml": "/etc/trunkline/pets.yaml",
      "./pets.yaml": "/etc/trunkline/pets.yaml",
      "~/pets.yaml": "/home/ada/pets.yaml",
      "/pets.yaml": "/pets.yaml",
      "HTTPS://a.example/pets.yaml": "HTTPS://a.example/pets.yaml",
      "${APIS}/pets.yaml": "${APIS}/pets.yaml",
    };
    for (const [openapi, found] of Object.entries(resolved)) {
      const { values } = layerOf(JSON.stringify({ mcpServers: { pets: { openapi } } }));
      assert.deepEqual(values, { mcpServers: { pets: { openapi: found } } });
    }
  });

  it("keeps wrong values, so that the check can name them", () => {
    const text = `{ "data": 5, "bus": [], "agents": { "a": 1 }, "policy": { "tools": null } }`;
    assert.deepEqual(layerOf(text).values, JSON.parse(text));
  });

  it("gives the position of a wrong value, and of an unknown key", () => {
    const layer = layerOf(`{\n  "log": { "levle": 1 }\n}`);
    const value = layer.complain(["log", "levle"], "must be a string");
    assert.equal(value.message, `${PATH}:2:21: 'log.levle' must be a string`);
    const key = layer.complain(["log", "levle"], "is not a known key");
    assert.equal(key.message, `${PATH}:2:12: 'log.levle' is not a known key`);
  });

  it("refuses a file that is not an object", () => {
    assert.throws(() => layerOf("[1]"), {
      code: "config",
      message: `${PATH}:1:1: the configuration must be an object`,
    });
  });
});

describe("readText()", () => {
  it("returns undefined for a missing file, and says why a file cannot be read", async () => {
    await using home = await SampleHome.create();
    assert.equal(readText(home.userFile), undefined);
    await home.write(home.userFile, "x".repeat(1024 * 1024 + 1));
    const start = `Cannot read configuration file '${home.userFile}': `;
    assert.throws(
      () => readText(home.userFile),
      (error: Error) => error.message.startsWith(start),
    );
    assert.throws(() => readText(home.project), { code: "config" });
  });
});
