import { runProcess } from "./process-host.ts";
import { run } from "./program.ts";

await runProcess(run);
