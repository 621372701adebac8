import { background } from "../base/background.ts";
import { runProcess } from "./shell/process-host.ts";
import { run } from "./program.ts";

// Not awaited: modules that a command imports later import from the file that this is bundled into.
background(runProcess(run), "Running the command");
