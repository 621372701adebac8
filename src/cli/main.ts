import { runProcess } from "./shell/host.ts";
import { run } from "./program.ts";

await runProcess(run);
