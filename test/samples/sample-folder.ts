import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A data folder of its own for a test. */
export class SampleFolder implements AsyncDisposable {
  readonly path: string;
  readonly #root: string;

  private constructor(root: string) {
    this.#root = root;
    this.path = join(root, "data");
  }

  /** The data folder itself is not there yet. */
  static async create(): Promise<SampleFolder> {
    return new SampleFolder(await mkdtemp(join(tmpdir(), "trunkline-store-")));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#root, { recursive: true, force: true });
  }
}
