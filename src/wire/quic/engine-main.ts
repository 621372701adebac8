import { Engine } from "./engine/engine.ts";

// The process that runs native code; see engine-process.ts.
new Engine().run();
process.exit(0);
