import type { Database } from "../database.ts";
import { AnswerLinks } from "./answer-links.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import { openNotifyDatabase } from "./notify-database.ts";
import { PushDevices } from "./push-devices.ts";

/** Everything that is stored about notifications. */
export class NotifyStore implements Disposable {
  readonly queue: DeliveryQueue;
  readonly links: AnswerLinks;
  readonly devices: PushDevices;
  readonly #database: Database;

  private constructor(database: Database, data: string) {
    this.#database = database;
    this.queue = new DeliveryQueue(database, data);
    this.links = new AnswerLinks(database);
    this.devices = new PushDevices(database);
  }

  static async open(data: string): Promise<NotifyStore> {
    return new NotifyStore(await openNotifyDatabase(data), data);
  }

  [Symbol.dispose](): void {
    this.queue[Symbol.dispose]();
    this.#database[Symbol.dispose]();
  }
}
