import type { AppContext } from "../../config/app-context.ts";
import { LspDoor } from "../../protocol/lsp/door.ts";
import { EditorReviews } from "../../review/editor-reviews.ts";
import { Peer } from "../../rpc/peer.ts";
import { Reviews } from "../../store/review/reviews.ts";
import { stdioChannel } from "../../wire/channel/stdio.ts";
import { contentLength } from "../../wire/framing/content-length.ts";
import { untilOver } from "./until-over.ts";

/** `trunkline lsp`, which editors start. `person` signs what is written there. */
export async function serveLspOnStdio(app: AppContext, person: string): Promise<void> {
  const { config, log } = app;
  using reviews = new EditorReviews(await Reviews.open(config.data), person);
  await using door = new LspDoor(reviews, (error) => log.warn("lsp.failed", { error }));
  const channel = stdioChannel(config.limits, contentLength);
  const peer = new Peer(channel, undefined, app.withLimits(door.options));
  door.speakTo(peer);
  const ended = Promise.race([peer.ended, door.exited.promise]);
  await untilOver({ ended, close: (grace) => peer.close(grace) });
}
