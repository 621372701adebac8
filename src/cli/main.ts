import { runProcess } from "./shell/host.ts";
import { background } from "../base/background.ts";
import { run } from "./program.ts";

// Not awaited: modules that a command imports later import from the file that this is bundled into.
background(runProcess(run), "Running the command");
