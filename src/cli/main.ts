import { runProcess } from "./shell/process-host.ts";
import { run } from "./program.ts";

// Not awaited: what a command imports later imports from this module, once it is complete.
void runProcess(run);
