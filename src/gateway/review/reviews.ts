import { addComment, type NewComment } from "../../review/add-comment.ts";
import type { ReviewCommands } from "../../review/review-commands.ts";
import { openRepository } from "../../review/repository.ts";
import { Reviews } from "../../store/review/reviews.ts";
import type { House } from "../house.ts";

/** Opens the reviews as they are seen from a folder. */
export async function openReviews(house: House, folder: string): Promise<ReviewCommands> {
  const { ReviewCommands } = await import("../../review/review-commands.ts");
  return ReviewCommands.open(house.config.data, folder);
}

/** Leaves a comment in the repository of a folder. Gives the id of its thread. */
export async function addToReviews(
  house: House,
  folder: string,
  comment: NewComment,
): Promise<string> {
  const repository = openRepository(folder);
  using reviews = await Reviews.open(house.config.data);
  return (await addComment(reviews, repository, folder, comment)).id;
}
