// Generates files from other files: checks and types, the messages of the bus, the schema of the
// configuration, tables in the documents. With --check it writes nothing, and fails if a file is out of date.
import { join } from "node:path";
import { parseArgs } from "node:util";

import { fillDocuments } from "./schema/doc-blocks.ts";
import { findOutdated, type Outputs, writeOutputs } from "./schema/outputs.ts";
import { compileProtos } from "./schema/proto-modules.ts";
import { compileModules } from "./schema/schema-modules.ts";

const ROOT = join(import.meta.dirname, "..");

/** The modules first: the code that generates the rest imports them. */
async function* generate(): AsyncGenerator<Outputs> {
  yield await compileModules(ROOT);
  yield await compileProtos(ROOT);
  const { configModule } = await import("./schema/config-module.ts");
  yield configModule();
  const { configJsonSchema } = await import("../src/config/schema/schema.ts");
  yield new Map([
    ["src/config/schema/config.schema.json", `${JSON.stringify(configJsonSchema(), null, 2)}\n`],
  ]);
  const { BLOCKS } = await import("./schema/doc-tables.ts");
  yield await fillDocuments(ROOT, BLOCKS);
  const [{ renderReference }, { PROGRAM }] = await Promise.all([
    import("./schema/command-reference.ts"),
    import("../src/cli/commands.ts"),
  ]);
  yield new Map([["docs/CLI.md", renderReference(PROGRAM)]]);
}

const { values } = parseArgs({ options: { check: { type: "boolean" } } });
const outdated: string[] = [];
for await (const outputs of generate()) {
  const files = findOutdated(ROOT, outputs);
  if (!values.check) writeOutputs(ROOT, outputs, files);
  outdated.push(...files);
}
for (const file of outdated) console.log(values.check ? `out of date: ${file}` : `wrote ${file}`);
if (values.check && outdated.length > 0) {
  console.error("Run `npm run generate`.");
  process.exitCode = 1;
}
