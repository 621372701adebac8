import { existsSync, mkdirSync } from "node:fs";

import { Log } from "../../../src/base/log.ts";
import { SampleHome } from "../../samples/sample-home.ts";
import { AppContext } from "../../../src/config/app-context.ts";

/** Files that are kept in memory: what a disk takes for a sync is not what is looked at. */
const MEMORY = "/dev/shm";

export interface FaultApp {
  readonly home: SampleHome;
  readonly app: AppContext;
}

/** A program with a home of its own, whose log nobody reads. */
export async function faultApp(config: object = {}): Promise<FaultApp> {
  if (existsSync(MEMORY)) process.env.TMPDIR = MEMORY;
  const home = await SampleHome.create();
  // Some parts of the program look here.
  process.env.HOME = home.path;
  delete process.env.XDG_CONFIG_HOME;
  delete process.env.XDG_STATE_HOME;
  await home.write(home.userFile, JSON.stringify(config));
  mkdirSync(home.data, { recursive: true });
  const loaded = await home.load({ flags: { port: 0 } });
  const app = new AppContext(loaded.config);
  Object.assign(app, { log: new Log("error", () => {}) });
  return { home, app };
}
