// Writes docs/CLI.md.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { PROGRAM } from "./commands.ts";
import { renderReference } from "./reference.ts";

const file = join(import.meta.dirname, "../../docs/CLI.md");
await writeFile(file, renderReference(PROGRAM));
