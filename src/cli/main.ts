import { runProcess } from "./shell/process-host.ts";
import { run } from "./program.ts";

await runProcess(run);
