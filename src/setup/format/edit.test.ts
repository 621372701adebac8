import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { editAll, type Format, type KeyPath, valueAt, withoutValue } from "./format.ts";
import { json } from "../targets.ts";
import { toml } from "./toml.ts";
import { yaml, yamlList } from "./yaml.ts";

const STDIO = { command: "/opt/my node/node", args: ["/x/trunkline.js", "mcp"] };
const HTTP = { url: "http://127.0.0.1:4180/mcp", headers: { Authorization: 'Bearer "x"' } };

interface Case {
  readonly format: Format;
  readonly path: KeyPath;
  /** Files as people and programs write them. */
  readonly files: Readonly<Record<string, string>>;
  /** Files that are left alone. */
  readonly broken: readonly string[];
}

const CASES: Readonly<Record<string, Case>> = {
  JSON: {
    format: json,
    path: ["mcpServers", "trunkline"],
    files: {
      "nothing in it": "",
      "an empty object": "{}\n",
      "comments, and a trailing comma":
        '{\n  // mine\n  "mcpServers": {\n    "a": { "command": "a" }, // first\n  },\n}\n',
      "tabs and no last line break":
        '{\n\t"theme": "One",\n\t"mcpServers": {\n\t\t"a": {"url": "x"}\n\t}\n}',
      "CR LF": '{\r\n  "mcpServers": {\r\n    "a": {}\r\n  }\r\n}\r\n',
      "one line": '{"mcpServers":{"a":{"command":"a"}},"b":[1,2]}',
    },
    broken: [
      '{ "mcpServers": ',
      "[]",
      "x",
      '{"mcpServers": ["a"]}',
      '{"mcpServers":{},"mcpServers":{}}',
    ],
  },
  TOML: {
    format: toml,
    path: ["mcp_servers", "trunkline"],
    files: {
      "nothing in it": "",
      "comments, and tables": `model = "gpt-5" # mine\n\n[mcp_servers.a]\ncommand = "a"\nargs = [\n  "-y", # yes\n]\n# the end\n`,
      "no last line break": `[projects."/home/a b"]\ntrust_level = 'trusted'`,
      "CR LF": '[mcp_servers.a]\r\nurl = "x"\r\n\r\n[tui]\r\ntheme = "dark"\r\n',
      "every kind of value": `a = """\n[mcp_servers.trunkline]\n"""\nb = 'C:\\x'\nc = 1979-05-27 07:32:00Z\nd = 9223372036854775807\ne = { f.g = [1.5, inf], "h i" = true }\n[[list]]\nx = 1\n[[list]]\nx = "\\u00e4\\n"\n`,
      "the servers in one table": '[mcp_servers]\na = { command = "a" }\n',
    },
    broken: [
      'model = "x',
      "[a",
      "a = [1",
      "a",
      "a = 1\na = 2",
      'mcp_servers = { a = { url = "x" } }',
      "a = '''\n",
    ],
  },
  YAML: {
    format: yaml,
    path: ["extensions", "trunkline"],
    files: {
      "nothing in it": "",
      "only a comment": "# mine\n",
      "comments, and an order of its own":
        "# top\nextensions:\n    a:\n        enabled: true # yes\n        args: [x, 'y']\n\n    # about b\n    b: {type: stdio}   # flow\n\n# the end\nGOOSE_MODEL: gpt\n",
      "the entries last, with no last line break":
        "GOOSE_MODEL: x\nextensions:\n  a:\n    args:\n    - x\n    - y",
      "CR LF": "extensions:\r\n  a:\r\n    text: |\r\n      one\r\n      two\r\nlast: 1\r\n",
      "a flow map": "extensions: {a: {type: stdio}}\nlast: 1\n",
      "no entries yet": "GOOSE_MODEL: x\n",
      "an empty map": "extensions: {}\nlast: 1\n",
    },
    broken: ["- a\n", "a: [", "extensions: x\n", "a: 1\n---\nb: 2\n"],
  },
  "a YAML list": {
    format: yamlList,
    path: ["mcpServers", "trunkline"],
    files: {
      "items that are indented":
        "name: x\nmcpServers:\n  - name: a\n    command: a # why\n  # end\nmodels: []\n",
      "items that are not": "mcpServers:\n- name: a\n  args:\n  - x\nmodels: []\n",
      "nothing in it": "",
      "no list yet": "name: x\n",
      "an empty list": "mcpServers: []\n",
      "a flow list": "mcpServers: [{name: a}]\n",
    },
    broken: [],
  },
};

for (const [kind, { format, path, files, broken }] of Object.entries(CASES)) {
  const isList = kind === "a YAML list";
  const named = (entry: object): Record<string, unknown> =>
    isList ? { name: "trunkline", ...entry } : { ...entry };

  describe(`edited() in ${kind}`, () => {
    for (const [what, text] of Object.entries(files)) {
      it(`adds to a file with ${what}, changes it, and removes it again`, () => {
        const added = editAll(format, text, [{ path, entry: named(STDIO) }]);
        const read = (all: string): unknown => format.read(all);
        assert.deepEqual(valueAt(read(added), path), named(STDIO));
        assert.equal(Array.isArray(valueAt(read(added), path.slice(0, 1))), isList);
        assert.ok(
          isInside(text.replace(/: (?:\{\}|\[\])/, ""), added),
          `something is lost in\n${added}`,
        );
        assert.equal(/\r/.test(added), /\r/.test(text));
        assert.doesNotMatch(added, /\r\n(?:.*[^\r])?\n/, "line ends are not mixed");
        assert.equal(
          editAll(format, added, [{ path, entry: named(STDIO) }]),
          added,
          "once is enough",
        );
        const changed = editAll(format, added, [{ path, entry: named(HTTP) }]);
        assert.deepEqual(valueAt(read(changed), path), named(HTTP));
        for (const each of [added, changed]) {
          const removed = editAll(format, each, [{ path, entry: undefined }]);
          assert.deepEqual(
            withoutValue(read(removed), path),
            withoutValue(format.read(text), path),
          );
          assert.equal(valueAt(read(removed), path), undefined);
        }
      });
    }

    for (const text of broken) {
      it(`refuses ${JSON.stringify(text)}`, () => {
        assert.throws(() => editAll(format, text, [{ path, entry: named(STDIO) }]), Error);
      });
    }
  });
}

describe("editAll()", () => {
  it("keeps what a person has added to our entry", () => {
    const text =
      '{ "mcpServers": { "trunkline": { "command": "old", "disabled": true, "env": {} } } }';
    const after = editAll(json, text, [{ path: ["mcpServers", "trunkline"], entry: HTTP }]);
    assert.deepEqual(json.read(after), {
      mcpServers: { trunkline: { disabled: true, env: {}, ...HTTP } },
    });
    const own =
      '[mcp_servers.trunkline] # ours\ncommand = "old"\n# slow\nstartup_timeout_sec = 20\n\n[mcp_servers.trunkline.env]\nA = "b"\n';
    const next = editAll(toml, own, [{ path: ["mcp_servers", "trunkline"], entry: STDIO }]);
    assert.match(
      next,
      /# ours\n[^]*# slow\nstartup_timeout_sec = 20\n\n\[mcp_servers\.trunkline\.env\]\nA = "b"\n$/,
    );
    assert.equal(
      editAll(toml, next, [{ path: ["mcp_servers", "trunkline"], entry: undefined }]).trim(),
      "",
    );
  });

  it("removes from TOML what it added, to the byte", () => {
    const { files, path } = CASES.TOML ?? assert.fail();
    for (const text of Object.values(files).filter((each) => each.endsWith("\n"))) {
      const added = editAll(toml, text, [{ path, entry: STDIO }]);
      assert.equal(editAll(toml, added, [{ path, entry: undefined }]), text);
    }
  });
});

/** Whether all characters of a text are in another, in this order. */
function isInside(text: string, whole: string): boolean {
  let at = 0;
  for (const character of whole) if (character === text[at]) at++;
  return at === text.length;
}
