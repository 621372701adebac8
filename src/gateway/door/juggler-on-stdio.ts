import { jugglerServer } from "../../protocol/juggler/serve.ts";
import type { House } from "../house.ts";
import { LazyTools } from "../tool/lazy-tools.ts";
import { serveStdio } from "./serve-stdio.ts";

/** What a JetBrains IDE starts that is told to speak RemoteJuggler's dialect. */
export async function serveJugglerOnStdio(house: House): Promise<void> {
  await using tools = new LazyTools(house);
  await serveStdio(house, undefined, jugglerServer({ offer: tools.offer, folder: process.cwd() }));
}
