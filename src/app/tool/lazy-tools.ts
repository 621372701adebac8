import { Lazy } from "../../base/lazy.ts";
import type { AppContext } from "../../config/app-context.ts";
import type { OpenedTools } from "./open-tools.ts";
import type { TaskRecords } from "../../store/task-records.ts";
import type { Offer } from "../../tool/offer/offer.ts";

/** All tools, opened with the first request for one. */
export class LazyTools extends Lazy<OpenedTools> {
  constructor(app: AppContext) {
    super(async () => {
      const { openTools } = await import("./open-tools.ts");
      return openTools(app, { isLasting: true });
    });
  }

  readonly offer = async (): Promise<Offer> => (await this.get()).offer;
}

/** The tasks of a data folder, opened with the first that is begun or asked for. */
export function lazyTasks({ config }: AppContext): Lazy<TaskRecords> {
  return new Lazy(async () => {
    const { TaskRecords } = await import("../../store/task-records.ts");
    return TaskRecords.open(config.data);
  });
}
