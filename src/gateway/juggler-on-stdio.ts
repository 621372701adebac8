import { jugglerServer } from "../protocol/juggler/serve.ts";
import type { House } from "./house.ts";
import { LateJuggler } from "./late-juggler.ts";
import { serveStdio } from "./serve-stdio.ts";

/** What a JetBrains IDE starts that is told to speak RemoteJuggler's dialect. */
export async function serveJugglerOnStdio(house: House): Promise<void> {
  await using juggler = new LateJuggler(house);
  await serveStdio(house, undefined, jugglerServer({ offer: () => juggler.offer() }));
}
