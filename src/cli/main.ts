import { processHost } from "./process-host.ts";
import { run } from "./program.ts";

// Not process.exit(): what is still being written must arrive.
process.exitCode = await run(process.argv.slice(2), processHost);
