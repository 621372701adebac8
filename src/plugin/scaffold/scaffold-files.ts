import { dirname } from "node:path";

import { shellWord } from "../../base/text/shell-word.ts";
import { MANIFEST_FILE } from "../declared-manifest.ts";
import { manifestOf } from "../sdk/parts.ts";

export interface ScaffoldFacts {
  /** The plugin's id, also the name of its package. */
  readonly name: string;
  /** Absolute. */
  readonly folder: string;
  /** The program that runs Trunkline, and can run the plugin. */
  readonly node: string;
  /** What npm is told to install trunkline from. */
  readonly trunkline: string;
}

/** The files of a new plugin, by their name. */
export function scaffoldFiles(facts: ScaffoldFacts): ReadonlyMap<string, string> {
  return new Map([
    ["package.json", packageJson(facts)],
    ["tsconfig.json", TSCONFIG],
    ["plugin.ts", plugin(facts)],
    [MANIFEST_FILE, manifest(facts)],
    ["plugin.test.ts", TEST],
    ["README.md", readme(facts)],
  ]);
}

function packageJson({ name, trunkline }: ScaffoldFacts): string {
  const described = {
    name,
    version: "1.0.0",
    private: true,
    type: "module",
    scripts: {
      // An older Node would find no test in TypeScript, and call that a success.
      pretest: "node --import trunkline/plugin/node --eval 0",
      test: "node --test",
      manifest: `node plugin.ts --manifest > ${MANIFEST_FILE}`,
      types: "tsc",
    },
    dependencies: { trunkline },
    devDependencies: { "@types/node": "^26.0.0", typescript: "^7.0.0" },
    engines: { node: ">=26.1" },
  };
  return `${JSON.stringify(described, null, 2)}\n`;
}

const TSCONFIG = `{
  "compilerOptions": {
    "target": "esnext",
    "module": "nodenext",
    "lib": ["esnext"],
    "types": ["node"],
    "strict": true,
    "noEmit": true,
    "erasableSyntaxOnly": true,
    "verbatimModuleSyntax": true,
    "allowImportingTsExtensions": true
  },
  "include": ["*.ts"]
}
`;

function plugin({ name }: ScaffoldFacts): string {
  return `import { definePlugin } from "trunkline/plugin";

export default definePlugin({
  id: ${JSON.stringify(name)},
  version: "1.0.0",
  // What it wants of the machine, such as hosts: ["api.example.org"]. \`npm run manifest\` notes it.
  permissions: {},
  tools: {
    greet: {
      description: "Greets somebody",
      input: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
      call: ({ name }) => \`Hello, \${name}\`,
    },
  },
});
`;
}

/** As the plugin prints it. */
function manifest({ name }: ScaffoldFacts): string {
  const tools = { greet: { description: "", call: () => "" } };
  return `${JSON.stringify(manifestOf({ id: name, version: "1.0.0", permissions: {}, tools }))}\n`;
}

const TEST = `import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { testPlugin } from "trunkline/plugin/test";
import plugin from "./plugin.ts";

const harness = await testPlugin(plugin);
after(() => harness.close());

test("greet greets by name", async () => {
  const result = await harness.call("greet", { name: "Ada" });
  assert.equal(result.text, "Hello, Ada");
});

test("greet says which argument is missing", async () => {
  await assert.rejects(harness.call("greet"), /'name' is missing/);
});

test("${MANIFEST_FILE} is what the plugin says of itself", async () => {
  const file = await readFile(new URL("${MANIFEST_FILE}", import.meta.url), "utf8");
  assert.deepEqual(JSON.parse(file), plugin.manifest, "Run \`npm run manifest\`.");
});
`;

function readme({ name, folder, node }: ScaffoldFacts): string {
  return `# ${name}

A plugin for Trunkline. It is run by Node 26.1 or later, as it is. Where \`node --version\` says less,
the first line takes the Node that runs Trunkline.

\`\`\`sh
export PATH=${shellWord(dirname(node))}:"$PATH"
npm install
npm test
npm run manifest   # notes what it offers and wants in ${MANIFEST_FILE}, for those who add it
\`\`\`

Start it again with each change, and call its tool from another terminal:

\`\`\`sh
trunkline plugin dev .
trunkline plugin call greet --args '{"name":"Ada"}'
\`\`\`

To have its tools in every assistant, add it to the configuration of Trunkline:

\`\`\`sh
trunkline plugin add .
\`\`\`

or to a \`plugins.yaml\`, for \`trunkline orchestrator --config plugins.yaml\`:

\`\`\`yaml
plugins:
  - id: ${name}
    enabled: true
    binary: ${JSON.stringify(node)}
    args: [${JSON.stringify(`${folder}/plugin.ts`)}]
\`\`\`
`;
}
