import assert from "node:assert/strict";
import { it } from "node:test";

import { SampleRepository } from "../../test/samples/sample-review-repository.ts";
import { until } from "../../test/support/until.ts";
import { Offer } from "../tool/offer/offer.ts";
import { addCommentIn } from "./add-comment.ts";
import { ReviewsOffer } from "./reviews-offer.ts";

it("announces a comment that was added, and its database closed, before it watched", async () => {
  using sample = new SampleRepository();
  sample.write("a.txt", "one\n");
  sample.commit();
  const offer = new Offer({});
  const review = { batch: 10, first: "newest", lease: 900, dropFiles: false } as const;
  const log = {
    warn: (event: string, fields: object) => assert.fail(JSON.stringify([event, fields])),
  };
  const app = { config: { data: sample.data, review }, log, report: () => {} };
  await using _reviews = new ReviewsOffer(app as never, offer, { folder: sample.root });
  const told: string[] = [];
  const stop = offer.notices.on(({ message }) => told.push(message ?? ""));
  const alive = setInterval(() => {}, 1000);
  const comment = { file: "a.txt", line: 1, comment: "Why?", by: "ada", source: "test" };
  await addCommentIn(sample.data, sample.root, comment);
  await until(() => told.length > 0);
  clearInterval(alive);
  stop();
});
